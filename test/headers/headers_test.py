"""The public headers, each alone and all together, compile without a warning; so do options that name any one member.

    headers_test.py --cxx COMPILER --include SOURCES BUILD HEADER...
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

SKIPPED = 77
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-fsyntax-only"]
NAMESPACE = re.compile(r"^namespace (bcsc[\w:]*) \{$", re.MULTILINE)
OPTIONS = re.compile(r"^struct (\w+_options|filter|strided_batch) \{$(.*?)^\};$", re.MULTILINE | re.DOTALL)
FUNCTION_TYPE = re.compile(r"\([^()]*\)")
MEMBERS = re.compile(r"^  (?:[\w:<>,*& ]+?) (\w+(?: = [^;]+)?(?:, \w+(?: = [^;]+)?)*);", re.MULTILINE)


def members(text: str) -> list[str]:
    """The names of a struct's members."""
    code = re.sub(r"//.*", "", text)
    while FUNCTION_TYPE.search(code):
        code = FUNCTION_TYPE.sub("", code)
    return [name for found in MEMBERS.finditer(code) for name in re.findall(r"(?:^|, )(\w+)(?=,| =|$)", found[1])]


def option_uses(headers: list[pathlib.Path]) -> str:
    """A program that initialises each member of each options struct by its name, and no other."""
    lines, structs = ["#include <bcsc/bcsc.hpp>", "#include <bcsc/matrices.hpp>"], 0
    for header in headers:
        text = header.read_text()
        for struct in OPTIONS.finditer(text):
            structs += 1
            *_, scope = NAMESPACE.finditer(text, 0, struct.start())
            names = members(struct[2])
            if not names:
                raise SystemExit(f"{header.name}: no member of {struct[1]} was found")
            of = "<double>" if text[:struct.start()].endswith("template <value T>\n") else ""
            lines += [f"inline const {scope[1]}::{struct[1]}{of} {struct[1]}_{name}{{.{name} = {{}}}};" for name in names]
    if structs < 10:
        raise SystemExit(f"only {structs} structs of options were found")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--include", nargs=2, required=True)
    parser.add_argument("headers", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    if shutil.which(arguments.cxx) is None:
        print(f"skipped: {arguments.cxx} is not installed")
        return SKIPPED

    sources = {f"{header.name} alone": f"#include <bcsc/{header.name}>\n" for header in arguments.headers}
    sources["one member of options"] = option_uses(arguments.headers)
    with tempfile.TemporaryDirectory() as folder:
        flags = [*FLAGS, *(f"-I{path}" for path in arguments.include)]

        def compiled(numbered: tuple[int, str]) -> subprocess.CompletedProcess[str]:
            number, text = numbered
            source = pathlib.Path(folder, f"source_{number}.cpp")
            source.write_text(text)
            return subprocess.run([arguments.cxx, *flags, source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True)

        failed = []
        with ThreadPoolExecutor(min(8, len(os.sched_getaffinity(0)))) as pool:
            for name, done in zip(sources, pool.map(compiled, enumerate(sources.values()))):
                print(f"{name}: {'clean' if done.returncode == 0 else 'NOT CLEAN'}\n{done.stdout}", end="", flush=True)
                if done.returncode != 0:
                    failed.append(name)
    print(f"{len(sources) - len(failed)} of {len(sources)} are clean")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
