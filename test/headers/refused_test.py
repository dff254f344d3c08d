"""What must not compile does not, for the intended reason; its twin, the same program corrected, does.

    refused_test.py --cxx COMPILER --include SOURCES BUILD
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77

HOST_TYPES = ["coo_matrix<float>", "csr_matrix<float>", "csc_matrix<float>", "bsr_matrix<float>", "bcsc_matrix<float>",
              "ell_matrix<float>", "compact_bcsc_matrix<float>", "dense_matrix<float>", "any_matrix",
              "csr_matrix<pattern>", "device_csr<float>"]
ARRAYS = {"coo_matrix": "row_ind", "csr_matrix": "row_ptr", "csc_matrix": "col_ptr", "bsr_matrix": "brow_ptr",
          "bcsc_matrix": "col_ptr", "ell_matrix": "bcol_ind", "compact_bcsc_matrix": "entry_ptr",
          "dense_matrix": "values"}
DELETED = "delete"

# name: (wrong, right, a word of the compiler's reason)
CASES = {
    **{f"view of a temporary {kind}": (f"auto v = {kind}().view();", f"{kind} a; auto v = a.view();", DELETED)
       for kind in HOST_TYPES},
    **{f"{array} of a temporary {kind}":
       (f"auto v = {kind}<float>().{array}();", f"{kind}<float> a; auto v = a.{array}();", DELETED)
       for kind, array in ARRAYS.items()},
    "view of a const temporary": ("auto v = static_cast<const csr_matrix<float>&&>(made()).view();",
                                  "const auto a = made(); auto v = a.view();",
                                  DELETED),
    "view of a file that is mapped for this expression alone": (
        'auto v = mapped_matrix("a.bcsc").view();', 'mapped_matrix a("a.bcsc"); auto v = a.view();', DELETED),
    "values of a constant matrix are not written": (
        "const csr_matrix<float> a; a.values()[0] = 1;", "csr_matrix<float> a; a.values()[0] = 1;", "read-only|const"),
    "a matrix of integers": ("csr_matrix<int> a;", "csr_matrix<float> a;", "constraint"),
    "indices of 16 bits": ("csr_matrix<float, short> a;", "csr_matrix<float, std::int64_t> a;", "constraint"),
    "a product with a pattern": ("csr_matrix<pattern> a; spmm_plan plan(context::cpu(), a);",
                                 "csr_matrix<float> a; spmm_plan plan(context::cpu(), a);",
                                 "no viable|class template argument deduction|constraint"),
    "operands of another type than the plan's": (
        "void f(const spmm_plan<float>& p, dense_view<const double> b, dense_view<float> c) { p.run(1, b, 0, c); }",
        "void f(const spmm_plan<float>& p, dense_view<const float> b, dense_view<float> c) { p.run(1, b, 0, c); }",
        "no viable|cannot convert|could not convert"),
    "a result that is constant": (
        "void f(const spmm_plan<float>& p, dense_view<const float> b, dense_view<const float> c) { p.run(1, b, 0, c); }",
        "void f(const spmm_plan<float>& p, dense_view<const float> b, dense_view<float> c) { p.run(1, b, 0, c); }",
        "no viable|cannot convert|could not convert"),
    "an option that there is not": ("plan_options o{.columns = 3};", "plan_options o{.cols = 3};",
                                    "no non-static data member|does not refer to any field|not.*member"),
    "a kernel taken by who is no expert": ('plan_options o{.kernel = "tiled"};',
                                           'plan_options o{.expert = {.kernel = "tiled"}};',
                                           "no non-static data member|does not refer to any field|not.*member"),
    "conjugate gradients in half precision": (
        "auto f(const spmm_plan<half>& p, dense_view<half> x) { return solve_cg(p, {}, x, x); }",
        "auto f(const spmm_plan<float>& p, dense_view<float> x) { return solve_cg(p, {}, x, x); }",
        "no matching function"),
}


ERROR = re.compile(r"^case_(\d+):\d+(?::\d+)?: error: (.*)$", re.MULTILINE)


def program(bodies: list[str]) -> str:
    """Every body in its own namespace, under a #line that names it in the compiler's errors."""
    text = ("#include <bcsc/bcsc.hpp>\n#include <utility>\nusing namespace bcsc;\n"
            "inline csr_matrix<float> made() { return {}; }\n")
    for number, body in enumerate(bodies):
        function = body if body.startswith(("void f(", "auto f(")) else f"void f() {{ {body} }}"
        text += f'#line 1 "case_{number}"\nnamespace case_{number} {{ {function} }}\n'
    return text


def errors(cxx: str, flags: list[str], bodies: list[str]) -> tuple[dict[int, str], str]:
    """The first error of each body that has one, and all that the compiler said."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "source.cpp")
        source.write_text(program(bodies))
        done = subprocess.run([cxx, *flags, source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found: dict[int, str] = {}
    for number, message in ERROR.findall(done.stdout):
        found.setdefault(int(number), message)
    if (done.returncode != 0) != bool(found):
        raise SystemExit(f"exit status {done.returncode} for other reasons:\n{done.stdout}")
    return found, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--include", nargs=2, required=True)
    arguments = parser.parse_args()
    if shutil.which(arguments.cxx) is None:
        print(f"skipped: {arguments.cxx} is not installed")
        return SKIPPED
    is_clang = "clang" in subprocess.run([arguments.cxx, "--version"], stdout=subprocess.PIPE, text=True).stdout
    flags = ["-std=c++20", "-fsyntax-only", "-ferror-limit=0" if is_clang else "-fmax-errors=0",
             *(f"-I{path}" for path in arguments.include)]

    refused, said = errors(arguments.cxx, flags, [wrong for wrong, _, _ in CASES.values()])
    not_right, _ = errors(arguments.cxx, flags, [right for _, right, _ in CASES.values()])
    faults = 0
    for number, (name, (wrong, right, reason)) in enumerate(CASES.items()):
        problems = []
        if number not in refused:
            problems.append(f"compiles: {wrong}")
        elif not re.search(reason, refused[number]):
            problems.append(f'is not refused for "{reason}" but: {refused[number]}')
        if number in not_right:
            problems.append(f"its twin does not compile: {right}: {not_right[number]}")
        print(f"{name}: {'; '.join(problems) or 'refused, and its twin compiles'}")
        faults += bool(problems)
    if faults:
        print(said)
    print(f"{len(CASES) - faults} of {len(CASES)} are refused as they should be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
