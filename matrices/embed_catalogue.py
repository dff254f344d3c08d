"""Turns the catalogue of the SuiteSparse collection into a C++ table, which is compiled into the library: so it is there
wherever the library is, without a path to be found at run time. What the table could not hold is an error of the build.

    embed_catalogue.py suitesparse.csv OUT.cpp
"""
import csv
import pathlib
import re
import sys

COLUMNS = ["group", "name", "kind", "num_rows", "num_cols", "nonzeros", "num_explicit_zeros", "pattern_symmetry",
           "numeric_symmetry", "rb_type", "structure", "cholesky_candidate", "positive_definite"]
FIELDS = {"real": "real", "integer": "integer", "binary": "pattern", "complex": "complex"}
SYMMETRIES = {"symmetric": "symmetric", "skew-symmetric": "skew_symmetric", "Hermitian": "hermitian",
              "unsymmetric": "general", "rectangular": "general"}
YES = {"yes": "true", "no": "false"}
# Groups and names become parts of a URL and of a path.
SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")


def fail(line: int, why: str) -> None:
    raise SystemExit(f"suitesparse.csv:{line}: {why}")


def entry(row: dict[str, str], line: int) -> str:
    for part in ("group", "name"):
        if not SAFE.fullmatch(row[part]):
            fail(line, f"{part} = {row[part]!r} is no name for a file")
    if not re.fullmatch(r"[A-Za-z0-9/. -]+", row["kind"]):
        fail(line, f"kind = {row['kind']!r}")
    sizes = [row[column] for column in ("num_rows", "num_cols", "nonzeros", "num_explicit_zeros")]
    shares = [row[column] for column in ("pattern_symmetry", "numeric_symmetry")]
    if not all(re.fullmatch(r"\d{1,18}", size) for size in sizes):
        fail(line, f"sizes = {sizes}")
    if not all(re.fullmatch(r"[01]\.\d{3}", share) and float(share) <= 1 for share in shares):
        fail(line, f"symmetries = {shares}")
    if (row["structure"] == "rectangular") != (row["num_rows"] != row["num_cols"]):
        fail(line, f"structure = {row['structure']!r} of {row['num_rows']} x {row['num_cols']}")
    try:
        kinds = [f"file_field::{FIELDS[row['rb_type']]}", f"file_symmetry::{SYMMETRIES[row['structure']]}",
                 YES[row["cholesky_candidate"]], YES[row["positive_definite"]]]
    except KeyError as unknown:
        fail(line, f"no such word: {unknown}")
    words = [f'"{row[part]}"' for part in ("group", "name", "kind")]
    return "    {" + ", ".join([str(line - 1), *words, *sizes, *shares, *kinds]) + "},\n"


def main() -> None:
    source, target = map(pathlib.Path, sys.argv[1:])
    with source.open(newline="", encoding="ascii") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != COLUMNS:
            fail(1, f"columns = {reader.fieldnames}")
        rows = list(reader)
    names = {f"{row['group']}/{row['name']}".lower() for row in rows}
    if len(names) != len(rows) or not rows:
        raise SystemExit("suitesparse.csv: Group/name, whatever the case, must name one matrix")
    target.write_text(
        '#include "matrices/catalogue_table.hpp"\n\n'
        "namespace bcsc::suitesparse {\n"
        "namespace {\n\n"
        f"constexpr entry table[{len(rows)}] = {{\n"
        + "".join(entry(row, line) for line, row in enumerate(rows, 2))
        + "};\n\n"
        "}  // namespace\n\n"
        "std::span<const entry> embedded_table() noexcept { return table; }\n\n"
        "}  // namespace bcsc::suitesparse\n", encoding="ascii")


if __name__ == "__main__":
    main()
