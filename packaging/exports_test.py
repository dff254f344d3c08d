"""What the shared library shows of itself, and what it asks for: every exported symbol is of the C API or is declared by
a public header, and the loader is sent for no library but the C and C++ runtimes and zlib.

    exports_test.py LIBRARY --root FOLDER [--whole] [--also-needs NAME...]
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77
OF_BCSC = re.compile(r"_Z(?:T[ISV])?NK?R?4bcsc(\d+)")
C_FUNCTION = re.compile(r"^[\w *]+?\b(bcsc_\w+)\(", re.MULTILINE)
NAMESPACE = re.compile(r"^namespace (?:bcsc::)?(\w+)(?: \{|::)", re.MULTILINE)
ROOMS = ("core", "converters", "kernels", "lib", "matrices")
# Programs catch errors by their type, which has to be one and the same on both sides.
TYPE_OF_ERRORS = {"_ZTIN4bcsc5errorE", "_ZTSN4bcsc5errorE", "_ZTVN4bcsc5errorE"}
# glibc was several libraries before 2.34.
RUNTIMES = re.compile(r"(libstdc\+\+|libgcc_s|libc|libm|libdl|libpthread|librt|libgomp|libomp|libz|ld-linux-.*)\.so\.\d+")


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


class Declared:
    """What public headers declare between the visibility's push and pop. Namespaces that only the rooms open are theirs,
    though a public header may name something by the same word."""

    def __init__(self, root: pathlib.Path):
        include = root / "include" / "bcsc"
        public = [part for path in sorted(include.glob("*.h*")) for part in
                  re.findall(r"visibility push\(default\)(.*?)#pragma GCC visibility pop",
                             without_comments(path.read_text()), re.DOTALL)]
        if not public:
            raise SystemExit(f"{include}: no public header exports anything")
        self.names = {name for part in public for name in re.findall(r"\w+", part)}
        inside = {name for room in ROOMS for path in (root / room).rglob("*.[ch]*") for name in
                  NAMESPACE.findall(path.read_text())}
        self.internal = inside - {name for part in public for name in NAMESPACE.findall(part)}
        self.c_functions = set(C_FUNCTION.findall(without_comments((include / "capi.h").read_text())))

    def fault(self, symbol: str) -> str:
        """Why a symbol should not be exported; empty if it should."""
        if symbol in self.c_functions:
            return ""
        found = OF_BCSC.match(symbol)
        if found is None:
            return "is neither of bcsc:: nor of the C API"
        name = symbol[found.end():found.end() + int(found[1])]
        if name in self.internal or name not in self.names:
            return f"no public header declares bcsc::{name}"
        return ""


def exported(library: str) -> list[str]:
    listed = [line.split()[-2:] for line in output_of("nm", "-D", "--defined-only", library).splitlines()]
    # The version has a symbol of its own, an absolute one.
    return [symbol.partition("@")[0] for kind, symbol in listed if kind != "A"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--whole", action="store_true", help="the C API and the type of errors are in it")
    parser.add_argument("--also-needs", nargs="*", default=[])
    arguments = parser.parse_args()
    if arguments.library.endswith(".a"):
        print("skipped: a static library exports what its objects do")
        sys.exit(SKIPPED)
    for program in ("nm", "objdump", "c++filt"):
        if shutil.which(program) is None:
            print(f"skipped: {program} is not installed")
            sys.exit(SKIPPED)

    declared, symbols = Declared(arguments.root), exported(arguments.library)
    faults = [f"{output_of('c++filt', symbol).strip()}: {why}" for symbol in symbols if (why := declared.fault(symbol))]
    faults += [f"{symbol}: is not exported"
               for symbol in sorted((declared.c_functions | TYPE_OF_ERRORS) - set(symbols)) if arguments.whole]
    needed = re.findall(r"^\s*NEEDED\s+(\S+)$", output_of("objdump", "-p", arguments.library), re.MULTILINE)
    faults += [f"{name}: is loaded with the library" for name in needed
               if not RUNTIMES.fullmatch(name) and name.partition(".so")[0] not in arguments.also_needs]

    size = pathlib.Path(arguments.library).stat().st_size
    print(f"{len(symbols)} symbols exported, {size / 1e6:.1f} MB, loads {' '.join(sorted(needed))}")
    for fault in faults[:40]:
        print("FAULT:", fault)
    if faults:
        raise SystemExit(f"{len(faults)} faults")


if __name__ == "__main__":
    main()
