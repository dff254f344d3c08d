"""The C header against what it stands for: its enumerations have the names and numbers of the C++ ones, its structs grow
without harm, and the example calls every function.

    capi_test.py ROOT
"""
import pathlib
import re
import sys

ENUM = r"^ *enum (?:class )?{name}\b[^{{;]*\{{(.*?)\}};"
STRUCT = re.compile(r"^typedef struct (\w+) \{$(.*?)^\} \1;$", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"^[\w *]+?\b(bcsc_\w+)\(", re.MULTILINE)
# C's enumeration: the header of the C++ one, and the prefix of its enumerators' names in C.
TWINS = {
    "bcsc_error": ("error.hpp", "errc", "BCSC_ERROR_"),
    "bcsc_value_type": ("types.hpp", "value_type", "BCSC_"),
    "bcsc_index_type": ("types.hpp", "index_type", "BCSC_"),
    "bcsc_layout": ("types.hpp", "layout", "BCSC_"),
    "bcsc_op": ("types.hpp", "op", "BCSC_OP_"),
    "bcsc_memory_space": ("types.hpp", "memory_space", "BCSC_"),
    "bcsc_backend": ("types.hpp", "backend", "BCSC_"),
    "bcsc_trust": ("types.hpp", "trust", "BCSC_"),
    "bcsc_matrix_format": ("any_matrix.hpp", "matrix_format", "BCSC_FORMAT_"),
    "bcsc_compute_class": ("plan.hpp", "compute_class", "BCSC_COMPUTE_"),
    "bcsc_row_blocks": ("plan.hpp", "row_blocks", "BCSC_ROW_BLOCKS_"),
    "bcsc_col_major_b": ("plan.hpp", "col_major_b", "BCSC_COL_MAJOR_B_"),
    "bcsc_cg_method": ("cg.hpp", "cg_method", "BCSC_CG_METHOD_"),
    "bcsc_cg_inner": ("cg.hpp", "cg_inner", "BCSC_CG_INNER_"),
    "bcsc_cg_beta": ("cg.hpp", "cg_beta", "BCSC_CG_BETA_"),
    "bcsc_cg_correction": ("cg.hpp", "kind", "BCSC_CG_CORRECTION_"),
    "bcsc_cg_stop": ("cg.hpp", "cg_stop", "BCSC_CG_"),
    "bcsc_spectrum_end": ("lobpcg.hpp", "spectrum_end", "BCSC_SPECTRUM_"),
    "bcsc_residual_scale": ("lobpcg.hpp", "residual_scale", "BCSC_RESIDUAL_"),
    "bcsc_lobpcg_stop": ("lobpcg.hpp", "lobpcg_stop", "BCSC_LOBPCG_"),
}
SUCCESS = {"BCSC_ERROR_OK": "BCSC_OK"}  # success is not an error
BYTES = {"int": 4, "double": 8, "int64_t": 8, "size_t": 8, "bcsc_operator": 8}


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def enumerators(text: str, name: str) -> dict[str, int]:
    found = re.search(ENUM.format(name=name), text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"there is no enumeration {name}")
    numbers: dict[str, int] = {}
    for entry in filter(None, (part.strip() for part in found[1].split(","))):
        name, _, number = (part.strip() for part in entry.partition("="))
        numbers[name] = int(number) if number else max(numbers.values(), default=-1) + 1
    return numbers


def differing_enumerations(c_header: str, include: pathlib.Path) -> list[str]:
    faults = [f"{name}: is compared with nothing" for name in re.findall(r"^enum (\w+)", c_header, re.MULTILINE)
              if name not in TWINS]
    for name, (header, twin, prefix) in TWINS.items():
        theirs = enumerators(without_comments((include / header).read_text()), twin)
        wanted = {SUCCESS.get(prefix + key.upper(), prefix + key.upper()): number for key, number in theirs.items()}
        ours = enumerators(c_header, name)
        faults += [f"{name}: {key} is {ours.get(key)}, {twin} says {wanted.get(key)}"
                   for key in sorted(ours.keys() | wanted.keys()) if ours.get(key) != wanted.get(key)]
    return faults


def size_of(type_name: str) -> int:
    return 8 if "*" in type_name else BYTES[type_name]


def harmful_structs(c_header: str) -> list[str]:
    """A field added later where an older struct has padding would read what its owner never set."""
    faults, structs = [], STRUCT.findall(c_header)
    for name, body in structs:
        body = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"* \1", body)  # a pointer to a function
        offset, fields = 0, []
        for declaration in filter(None, (line.strip() for line in body.split(";"))):
            type_name, names = re.fullmatch(r"(.*?[\s*])(\w+(?:, \w+)*)", declaration, re.DOTALL).groups()
            for field in names.split(", "):
                fields.append((type_name.strip(), field))
                bytes_each = size_of(type_name.strip())
                if offset % bytes_each:
                    faults.append(f"{name}: there is padding before {field}")
                offset += bytes_each
        if fields[0] != ("size_t", "size"):
            faults.append(f"{name}: does not begin with its size")
        if offset % 8:
            faults.append(f"{name}: ends with padding")
    return faults + ([] if len(structs) >= 8 else [f"only {len(structs)} structs were found"])


def uncalled_functions(c_header: str, example: str) -> list[str]:
    functions = FUNCTION.findall(c_header)
    faults = [f"{name}: the example does not call it" for name in functions
              if not re.search(rf"\b{name}\(", re.sub(r'"[^"\n]*"', '""', example))]
    return faults + ([] if len(functions) >= 30 else [f"only {len(functions)} functions were found"])


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    include = root / "include" / "bcsc"
    c_header = without_comments((include / "capi.h").read_text())
    example = without_comments((root / "examples" / "c_api.c").read_text())
    faults = (differing_enumerations(c_header, include) + harmful_structs(c_header) +
              uncalled_functions(c_header, example))
    print("\n".join(faults) or f"{len(TWINS)} enumerations, {len(STRUCT.findall(c_header))} structs, "
                               f"{len(FUNCTION.findall(c_header))} functions: as they should be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
