"""Turns files of costs into a C++ source, which is compiled into the library: so they are there wherever the library is,
without a path to be found at run time.

    embed_costs.py OUT.cpp costs/NAME.gz...
"""
import pathlib
import sys

MAX_BYTES = 64 << 10  # kept_costs.hpp's max_kept_bytes


def main() -> None:
    target, *sources = map(pathlib.Path, sys.argv[1:])
    entries = []
    for source in sources:
        content = source.read_bytes()
        if len(content) > MAX_BYTES:
            raise SystemExit(f"{source}: {len(content)} bytes, more than {MAX_BYTES}")
        literal = "".join(f"\\{byte:03o}" for byte in content)
        entries.append(f'    {{"{source.name.removesuffix(".gz")}", {{"{literal}", {len(content)}}}}},\n')
    target.write_text(
        '#include "lib/choice/built_in_costs.hpp"\n\n'
        "namespace bcsc::choice {\n"
        "namespace {\n\n"
        "constexpr built_in_file files[] = {\n" + "".join(entries) + "};\n\n"
        "}  // namespace\n\n"
        "std::span<const built_in_file> built_in_files() { return files; }\n\n"
        "}  // namespace bcsc::choice\n", encoding="ascii")


if __name__ == "__main__":
    main()
