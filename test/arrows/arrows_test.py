"""The arrows between the rooms (docs/architecture.md), enforced by a scan of every #include.

    arrows_test.py ROOT         scans the tree
    arrows_test.py --self-test  plants one breach of each kind and expects it to be found
"""
import pathlib
import re
import sys
import tempfile

# room: (folder, rooms it may include besides itself). A folder inside another one's is the more specific room.
PUBLIC = {"include"}
GROUND = PUBLIC | {"core"}
OPERANDS = GROUND | {"matrices"}  # programs draw their operands from the generators' seeded numbers
COMPUTE = GROUND | {"converters", "forms", "kernels"}
ROOMS = {
    "include": ("include", set()),
    "core": ("core", PUBLIC),
    "converters": ("converters", GROUND),
    "forms": ("kernels/forms", GROUND | {"converters"}),
    "kernels": ("kernels", GROUND | {"forms"}),
    "matrices": ("matrices", GROUND | {"converters"}),
    "choice": ("lib/choice", COMPUTE),
    "plan": ("lib/plan", COMPUTE | {"choice"}),
    "tune": ("lib/tune", COMPUTE | {"choice", "plan"}),
    "solvers": ("lib/solvers", COMPUTE | {"plan"}),
    "capi": ("lib/capi", COMPUTE | {"plan", "tune", "solvers"}),
    "harness": ("bench/harness", OPERANDS),
    "baselines": ("bench/baselines", OPERANDS | {"harness"}),
    "page": ("bench/page", GROUND | {"harness"}),
    "bench_solvers": ("bench/solvers", GROUND | {"harness", "baselines"}),
    # device_convert times single conversions, fit_choice fits what the plan chooses by.
    "bench": ("bench", OPERANDS | {"harness", "baselines", "converters", "forms", "choice", "plan", "tune"}),
    "tools": ("tools", OPERANDS | {"harness", "baselines", "page"}),
    "examples": ("examples", PUBLIC),
    "consumer": ("packaging", PUBLIC),
    "oracle": ("test/support", GROUND | {"forms"}),
    "test": ("test", COMPUTE | {"choice", "plan", "tune", "solvers", "capi", "harness", "baselines", "page", "bench_solvers", "tools",
                                "oracle"}),
}
# Headers the build writes, and the room each belongs to.
GENERATED = {"bcsc/version.h": "include", "bcsc/version.hpp": "include", "bcsc_config.h": "core",
             "kernels/cuda_tables.h": "kernels"}

SOURCES = {".hpp", ".cpp", ".cu", ".cuh", ".h", ".in"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
CUDA_HEADER = re.compile(r"^(cuda|cu(blas|sparse|rand|solver|fft)|cub/|thrust/|cooperative_groups|driver_types|"
                         r"vector_types|device_launch|nv/|mma\.h|nvtx|nvml)")
# Where host code may use CUDA; a .cu or .cuh may anywhere but in the public headers.
CUDA_HOST_CODE = ("kernels/cuda/", "bench/baselines/", "test/")
CUDA_HOST_SOURCES = ("bench/", "core/gpu_cuda.cpp")


def room_of(path: str) -> str | None:
    inside = [(len(folder), room) for room, (folder, _) in ROOMS.items() if path.startswith(folder + "/")]
    return max(inside)[1] if inside else None


def resolve(root: pathlib.Path, includer: pathlib.Path, name: str) -> str | None:
    """The path in the repository that an include means, as the compiler finds it."""
    for base in (includer.parent, root, root / "include"):
        target = (base / name).resolve()
        if target.is_file() and target.is_relative_to(root):
            return target.relative_to(root).as_posix()
    return None


def may_know_cuda(path: str) -> bool:
    if path.startswith("include/"):
        return False
    if path.endswith((".cu", ".cuh", ".cu.in")) or path.startswith(CUDA_HOST_CODE):
        return True
    return path.endswith(".cpp") and path.startswith(CUDA_HOST_SOURCES)


def breach(root: pathlib.Path, file: pathlib.Path, quoted: bool, name: str) -> str | None:
    """Why `file` must not include `name`, or None."""
    path = file.relative_to(root).as_posix()
    room = room_of(path)
    target = resolve(root, file, name)
    aim = room_of(target) if target else GENERATED.get(name)
    if target is None and aim is None:
        if CUDA_HEADER.match(name) and not may_know_cuda(path):
            return "no CUDA header here"
        return "a quoted include that is no file of the project" if quoted and not CUDA_HEADER.match(name) else None
    if room is None:
        return "the file lies in no room"
    if aim is None:
        return "it lies in no room"
    if aim != room and aim not in ROOMS[room][1]:
        return f"{room} may include {', '.join(sorted(ROOMS[room][1])) or 'nothing but itself'}, not {aim}"
    return None


def scan(root: pathlib.Path) -> tuple[list[str], int]:
    """All breaches, and the number of includes seen."""
    root = root.resolve()
    breaches, seen = [], 0
    for folder in sorted({folder.split("/")[0] for folder, _ in ROOMS.values()}):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SOURCES or not file.is_file():
                continue
            text = file.read_text(errors="replace")
            for found in INCLUDE.finditer(text):
                if "@" in found[2]:  # a template of generated sources: its own room's file
                    continue
                seen += 1
                why = breach(root, file, found[1] == '"', found[2])
                if why:
                    line = text.count("\n", 0, found.start(2)) + 1
                    breaches.append(f"{file.relative_to(root)}:{line}: includes {found[2]}: {why}")
    return breaches, seen


CLEAN = {
    "include/bcsc/a.hpp": "#include <vector>\n",
    "core/b.hpp": '#include "bcsc/a.hpp"\n',
    "core/gpu_cuda.cpp": "#include <cuda_runtime.h>\n",
    "core/launch.cuh": "#include <cuda_runtime.h>\n",
    "converters/e.cu": '#include <cub/device/device_radix_sort.cuh>\n#include "core/launch.cuh"\n',
    "kernels/cuda/c.cuh": '#include <cuda_runtime.h>\n#include "core/b.hpp"\n#include "bcsc_config.h"\n',
    "kernels/k.hpp": '#include "core/b.hpp"\n',
    "converters/d.hpp": '#include "bcsc/a.hpp"\n',
    "matrices/m.cpp": '#include "converters/d.hpp"\n',
    "lib/plan/p.hpp": '#include "kernels/k.hpp"\n',
    "test/support/oracle.hpp": "#include <cmath>\n",
    "test/unit/t.cpp": '#include "test/support/oracle.hpp"\n#include "../../lib/plan/p.hpp"\n',
}
BREACHES = {  # file: a line that must not be in it
    "include/bcsc/x.hpp": '#include "core/b.hpp"',
    "include/bcsc/y.hpp": "#include <cuda_runtime.h>",
    "include/bcsc/z.hpp": '#include "bcsc_config.h"',
    "core/x.cpp": '#include "kernels/k.hpp"',
    "core/y.hpp": "#include <cuda_runtime_api.h>",
    "kernels/cpu/x.cpp": '#include "converters/d.hpp"',
    "kernels/cpu/y.cpp": '#include "../../converters/d.hpp"',
    "converters/x.cpp": '#  include   "kernels/k.hpp"',
    "converters/y.hpp": "#include <thrust/sort.h>",
    "matrices/x.cpp": '#include "kernels/k.hpp"',
    "matrices/y.cpp": '#include "../lib/plan/p.hpp"',
    "lib/choice/x.cpp": '#include "lib/plan/p.hpp"',
    "lib/plan/x.cpp": '#include "test/support/oracle.hpp"',
    "lib/tune/x.cpp": '#include "lib/solvers/../capi/x.hpp"',
    "lib/capi/x.hpp": '#include "tools/x.hpp"',
    "tools/x.hpp": '#include "lib/plan/p.hpp"',
    "bench/x.cpp": '#include "kernels/k.hpp"',
    "examples/x.cpp": '#include "core/b.hpp"',
    "lib/solvers/x.cpp": '#include "no/such/file.hpp"',
    "lib/attic.hpp": '#include "bcsc/a.hpp"',
}


def self_test() -> int:
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()

        def write(path: str, text: str) -> None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)

        for path, text in CLEAN.items():
            write(path, text)
        faults += [f"found in a clean tree: {line}" for line in scan(root)[0]]
        for path, line in BREACHES.items():
            write(path, "#pragma once\n" + line + "\n")
        found = scan(root)[0]
        faults += [f"not found: {line} in {path}" for path, line in BREACHES.items()
                   if not any(entry.startswith(path + ":2: ") for entry in found)]
        faults += [f"found, but not planted: {entry}" for entry in found if entry.split(":")[0] not in BREACHES]
    print("\n".join(faults) or f"{len(BREACHES)} planted breaches found")
    return 1 if faults else 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    breaches, seen = scan(pathlib.Path(sys.argv[1]))
    print("\n".join(breaches) or f"{seen} includes, all along the arrows")
    return 1 if breaches or seen == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
