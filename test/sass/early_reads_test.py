#!/usr/bin/env python3
"""A kernel that begins early reads A, and nothing else, before it has waited for the previous one: in the machine code of
every instance in the library. And no product of fp64 on tensor cores is predicated where staged multiplies whole slabs.

    early_reads_test.py --root ROOT --archs 90 --offsets PROGRAM LIBRARY...

LIBRARY: an archive, an object or a shared library with the kernels. PROGRAM: argument_offsets. Which kernels begin
early is read from the sources: all of those in a file that says begins::while_previous_ends, or starts them by
start_on_slabs(), which says so. Skipped where cuobjdump is neither in PATH, nor in /usr/local/cuda/bin, nor among the
Python packages (pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm).
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import early_reads  # noqa: E402

SKIPPED = 77
# Where a kernel's arguments begin in the constant bank.
ARGUMENTS = {90: 0x210, 100: 0x380, 103: 0x380, 120: 0x380}
NARROW_SCALARS = 4
WHOLE_SLABS = "staged_kernel in fp64, whole slabs"
TEMPLATE_NUMBERS = re.compile(r"((?:L[ib]\d+E){7,})E")


def find_cuobjdump() -> str | None:
    """cuobjdump, with nvdisasm, which it calls, in PATH or beside it."""
    folders = [pathlib.Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    folders.append(pathlib.Path("/usr/local/cuda/bin"))
    # Python's packages, also those that tools/check puts into the build folder, where Meson runs tests.
    packages = [sysconfig.get_path("purelib"), *pathlib.Path.cwd().glob("venv/lib/python3*/site-packages")]
    for package in packages:
        folders += sorted(pathlib.Path(package).glob("nvidia/*/bin"))
    search = os.pathsep.join(map(str, folders))
    os.environ["PATH"] = search
    return shutil.which("cuobjdump") if shutil.which("nvdisasm") else None


def early_kernels(root: pathlib.Path) -> dict[str, str]:
    """The kernels that begin early, and the file of each."""
    names = {}
    for folder in ("kernels", "lib", "converters"):
        for path in sorted((root / folder).rglob("*.cu*")):
            text = path.read_text()
            if path.name == "launch.cuh" or not re.search(r"begins::while_previous_ends|start_on_slabs\(&", text):
                continue
            found = re.findall(r"__global__\s+void\s+(?:__launch_bounds__\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*)?"
                               r"(\w+)\s*\(", text)
            if len(found) != len(re.findall(r"\b__global__\b", text)):
                raise SystemExit(f"{path}: a kernel's name is not found")
            names |= {name: str(path.relative_to(root)) for name in found}
    return names


def kernel_of(mangled: str, names) -> str | None:
    return next((name for name in names if f"{len(name)}{name}I" in mangled or f"{len(name)}{name}E" in mangled), None)


def objects_of(library: pathlib.Path, folder: pathlib.Path) -> list[pathlib.Path]:
    """The objects with device code, those of an archive in the folder."""
    with library.open("rb") as file:
        magic, objects, long_names = file.read(8), [], b""
        if magic not in (b"!<arch>\n", b"!<thin>\n"):
            return [library]
        while header := file.read(60):
            name, size = header[:16].rstrip(), int(header[48:58])
            is_table = name in (b"/", b"//", b"/SYM64/")
            if magic == b"!<thin>\n" and not is_table:  # only a path
                objects.append(library.parent / long_names[int(name[1:]):].split(b"/\n", 1)[0].decode())
                continue
            content = file.read(size + size % 2)
            if name == b"//":
                long_names = content
            elif not is_table and b".nv_fatbin" in content:
                objects.append(folder / f"{len(objects)}.o")
                objects[-1].write_bytes(content[:size])
    return objects


def pointers_of(function: early_reads.Function, kernel: str, offsets) -> dict[int, str] | None:
    """Pointers that are not A's, by their place in the constant bank; None: A is not among the arguments."""
    operand = next((name for name, _ in offsets if name in function.name), None)
    if operand is None:
        return None
    after = function.name.split(f"{len(kernel)}{kernel}I", 1)[1]
    scalar = 8 if after.startswith("d") else NARROW_SCALARS
    return {ARGUMENTS[function.arch] + at: name for name, at in offsets[operand, scalar].items()}


def loads_wanted(function: early_reads.Function, kernel: str | None) -> int:
    """How many loads of A must be in flight while a kernel waits; ptxas moves those that nothing holds past the wait."""
    if kernel == "rowwise_kernel":  # two of the first piece, one for each pair of its first step
        unroll = re.findall(r"\d+", TEMPLATE_NUMBERS.search(function.name)[1])[3]
        return 2 + int(unroll) // 2
    return {"scatter_kernel": 2, "mma_kernel": 1, "fma_kernel": 1, "sliced_kernel": 3}.get(kernel, 0)


def multiplies_whole_slabs(function: early_reads.Function, kernel: str | None) -> bool:
    """staged in fp64 without a test between products (whole_slabs of staged/multiply.cuh)."""
    if kernel != "staged_kernel" or f"{kernel}Id" not in function.name:
        return False
    parts, slab, warps_m, warps_n = map(int, re.findall(r"\d+", TEMPLATE_NUMBERS.search(function.name)[1])[:4])
    return parts // warps_m * (slab // warps_n // 16) >= 8


def predicated_products(function: early_reads.Function) -> list[str]:
    """A product that its predicate leaves out takes as long as one that is made (docs/history, 123): a part without a tile
    has to be jumped over."""
    return [f"predicated: {product.text} at {product.address:#x}" for product in function.code
            if product.base == "DMMA" and product.conditional]


def judge(function: early_reads.Function, kernel: str | None, offsets) -> list[str]:
    if not function.waits():
        return ["begins early and never waits"]
    faults = [f"before the wait: {access.text} at {access.address:#x}"
              for access in early_reads.accesses_before_the_wait(function)]
    ahead, wanted = early_reads.loads_ahead_of_the_wait(function), loads_wanted(function, kernel)
    if ahead < wanted:
        faults.append(f"{ahead} loads of A before the wait, {wanted} wanted")
    if multiplies_whole_slabs(function, kernel):
        faults += predicated_products(function)
    if kernel is None:
        faults.append("waits, but is in no source that starts kernels early")
    elif function.arch in ARGUMENTS:
        pointers = pointers_of(function, kernel, offsets)
        if pointers is None:
            faults += [f"by the non-coherent path, but it has no A: {load.text} at {load.address:#x}"
                       for load in function.code if load.is_lasting_load()]
        else:
            faults += [f"by the non-coherent path from {name}: {load.text} at {load.address:#x}"
                       for load, name in early_reads.loads_through(function, pointers)]
    return faults


def look_at(task) -> tuple[collections.Counter, list[str], int]:
    """The functions of one object: how many of each kernel, what is wrong with them, how many instructions."""
    cuobjdump, path, names, offsets = task
    seen, faults, num_instructions = collections.Counter(), [], 0
    early_reads.forget()
    process = subprocess.Popen([cuobjdump, "-sass", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, bufsize=1 << 20)
    for function in early_reads.functions(process.stdout, lambda name: kernel_of(name, names) is not None):
        kernel = kernel_of(function.name, names)
        seen[WHOLE_SLABS if multiplies_whole_slabs(function, kernel) else kernel or function.name] += 1
        num_instructions += len(function.code)
        try:
            found = judge(function, kernel, offsets)
        except early_reads.Unclear as problem:
            found = [f"not understood: {problem}"]
        # The first few of each function say enough.
        faults += [f"{function.name} (sm_{function.arch}): {fault}" for fault in found[:3]]
        if len(found) > 3:
            faults.append(f"{function.name}: and {len(found) - 3} more")
    said = process.stderr.read().strip()
    if process.wait() != 0 and "does not contain device code" not in said:
        faults.append(f"{path}: cuobjdump failed: {said}")
    return seen, faults, num_instructions


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--archs", required=True, help="what the library is compiled for, such as 80,90")
    parser.add_argument("--offsets", required=True, help="the program argument_offsets")
    parser.add_argument("libraries", type=pathlib.Path, nargs="+", metavar="LIBRARY")
    arguments = parser.parse_args()

    if min(map(int, arguments.archs.split(","))) < 90:
        print("skipped: no kernel begins early where code is for architectures below sm_90")
        return SKIPPED
    cuobjdump = find_cuobjdump()
    if cuobjdump is None:
        print("skipped: no disassembler here (cuobjdump and nvdisasm)")
        return SKIPPED

    names = early_kernels(arguments.root)
    offsets = {}
    for line in subprocess.run([arguments.offsets], check=True, capture_output=True, text=True).stdout.splitlines():
        operand, scalar, *members = line.split()
        offsets[operand, int(scalar)] = {name: int(at) for name, at in (member.split("=") for member in members)}

    seen, faults, num_instructions = collections.Counter(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        paths = [path for library in arguments.libraries for path in objects_of(library, pathlib.Path(folder))]
        # Long ones first, so that none is left over at the end.
        paths.sort(key=lambda path: -path.stat().st_size)
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
            for of_one in pool.map(look_at, [(cuobjdump, path, names, offsets) for path in paths]):
                seen += of_one[0]
                faults += of_one[1]
                num_instructions += of_one[2]

    for name in sorted(seen):
        print(f"{seen[name]:5} {name}")
    faults += [f"{name} of {file}: none in the library" for name, file in names.items() if name not in seen]
    if not seen:
        faults.append("no kernel that begins early")
    if WHOLE_SLABS not in seen:
        faults.append(f"no {WHOLE_SLABS}")
    print("\n".join(faults[:60]))
    if len(faults) > 60:
        print(f"and {len(faults) - 60} more")
    print(f"{sum(seen.values())} functions, {num_instructions} instructions: " +
          (f"{len(faults)} faults" if faults else "nothing but A is read before the wait, or past the coherent caches"))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
