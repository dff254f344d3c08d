"""The binary interface against the committed one: the exported symbols of each library, by libabigail, and the layout of
every public struct.

    abi_test.py --dumps FOLDER --include FOLDER... --cxx CXX... LIBRARY...            # compares
    abi_test.py --renew --dumps FOLDER --include FOLDER... --cxx CXX... LIBRARY...    # after an intended change

A removed symbol or a moved member breaks programs that are already compiled: before 1.0 that takes a new minor version. An
addition only needs the dump renewed.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

SKIPPED = 77
QUIET = ["--no-show-locs", "--no-corpus-path", "--no-comp-dir-path"]
STRUCT = re.compile(r"^(?:template <([^\n]*)>\n(?:requires [^\n]*\n)?)?(?:struct|class) (?:BCSC_EXPORT )?(\w+)(?: final)?(?: :[^{;\n]*)? \{", re.M)
C_STRUCT = re.compile(r"^struct (bcsc_\w+) \{", re.M)
ARGUMENTS = {"T": "float", "I": "std::int32_t"}  # of templates: one instance stands for all


def run(command: list) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"exit status {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def public_structs(include: pathlib.Path) -> list[str]:
    """As C++ writes them: bcsc::plan_options, bcsc::csr_view<float, std::int32_t>. A compiler describes only what is used,
    so each has to be named."""
    found = []
    for header in sorted((include / "bcsc").glob("*.h*")):
        text = re.sub(r"//[^\n]*", "", header.read_text())
        if header.suffix == ".h":
            found += C_STRUCT.findall(text)
        for match in STRUCT.finditer(text):
            scopes = re.findall(r"^namespace ([\w:]+) \{", text[:match.start()], re.M)
            if not scopes or scopes[-1].endswith("detail") or match[2].startswith("bcsc_"):
                continue
            parameters = re.findall(r"(\w+)(?: = [^,]+)?(?:,|$)", match[1] or "")
            if set(parameters) <= set(ARGUMENTS):
                arguments = ", ".join(ARGUMENTS[name] for name in parameters)
                found.append(f"{scopes[-1]}::{match[2]}" + (f"<{arguments}>" if arguments else ""))
    return found


def layouts(includes: list[pathlib.Path], cxx: list[str]) -> str:
    """Each struct with its bytes and the places of its members; each enumeration with its numbers."""
    structs = public_structs(includes[0])
    source = "#include <bcsc/bcsc.hpp>\n#include <bcsc/capi.h>\n#include <bcsc/matrices.hpp>\n" + "".join(
        f"{name}* abi_{i};\n" for i, name in enumerate(structs))
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "shape.cpp").write_text(source)
        run([*cxx, "-std=c++20", "-g", "-O0", "-fPIC", "-shared", *[f"-I{path}" for path in includes],
             work / "shape.cpp", "-o", work / "shape.so"])
        run(["abidw", *QUIET, work / "shape.so", "--out-file", work / "shape.abi"])
        tree = ElementTree.parse(work / "shape.abi")
    lines = set()

    def visit(node, scope: str) -> None:
        for child in node:
            name = f"{scope}::{child.get('name')}" if scope else child.get("name")
            if child.tag == "namespace-decl":
                visit(child, name)
            elif child.tag == "enum-decl" and (scope.startswith("bcsc") or name.startswith("bcsc_")):
                lines.add("\n".join([f"{name}: enumeration"] + [f"  {entry.get('value')} {entry.get('name')}"
                                                               for entry in child.findall("enumerator")]))
            elif child.tag == "class-decl" and (scope == "bcsc" or scope.startswith("bcsc::") or name.startswith("bcsc_")):
                if "detail" in scope or child.get("is-declaration-only") == "yes":
                    continue
                members = [f"  {int(member.get('layout-offset-in-bits')) // 8} {member.find('var-decl').get('name')}"
                           for member in child.findall("data-member") if member.get("static") != "yes"]
                lines.add("\n".join([f"{name}: {int(child.get('size-in-bits', '0')) // 8} bytes", *members]))

    for unit in tree.getroot().iter("abi-instr"):
        visit(unit, "")
    return "\n".join(sorted(lines)) + "\n"


def changes_of(former: str, now: str) -> list[str]:
    def by_name(text: str) -> dict:
        return {block.split("\n")[0].rsplit(": ", 1)[0]: block for block in re.split(r"\n(?=\S)", text.strip())}

    before, after = by_name(former), by_name(now)
    return ([f"{name}: is gone" for name in before if name not in after]
            + [f"{name}: is new" for name in after if name not in before]
            + [f"{name}: was\n{before[name]}\nand is\n{after[name]}" for name in before
               if name in after and before[name] != after[name]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", type=pathlib.Path)
    parser.add_argument("--dumps", type=pathlib.Path, required=True)
    parser.add_argument("--include", nargs="+", type=pathlib.Path, required=True)
    parser.add_argument("--cxx", nargs="+", required=True)
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("--other-compiler", action="store_true", help="than that of the dumps: there is nothing to compare")
    arguments = parser.parse_args()
    if arguments.other_compiler:
        print("skipped: the dumps are of an optimised shared library of g++ 12 on x86-64")
        sys.exit(SKIPPED)
    for program in ("abidw", "abidiff"):
        if shutil.which(program) is None:
            print(f"skipped: {program} is not installed (abigail-tools)")
            sys.exit(SKIPPED)

    faults = []
    listing, now = arguments.dumps / "layouts.txt", layouts(arguments.include, arguments.cxx)
    if arguments.renew:
        listing.write_text(now)
    else:
        faults += changes_of(listing.read_text(), now)
    for library in arguments.libraries:
        dump = arguments.dumps / (library.name.split(".so")[0] + ".abi")
        if arguments.renew:
            run(["abidw", *QUIET, library, "--out-file", dump])
            continue
        done = subprocess.run(["abidiff", dump, library], capture_output=True, text=True)
        if done.returncode != 0:
            faults.append(f"{library.name}:\n{done.stdout}{done.stderr}")
    for fault in faults:
        print("CHANGED:", fault)
    if faults:
        raise SystemExit(f"{len(faults)} changes; if they are meant, run this with --renew, and raise the minor version "
                         "where something is gone or has moved")
    print(f"{now.count(' bytes')} structs, {len(arguments.libraries)} libraries: "
          + ("written" if arguments.renew else "as committed"))


if __name__ == "__main__":
    main()
