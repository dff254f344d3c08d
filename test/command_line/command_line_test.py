"""The command line as users see it: files as operands, advice, messages about mistakes, progress in a terminal.

    command_line_test.py BCSC [--without-bench] [--without-zip] [--sanitized] [--mkl-stand-in LIBRARY] [--only NAME]
"""
import argparse
import ctypes
import fcntl
import io
import itertools
import json
import math
import os
import pathlib
import pty
import re
import resource
import select
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import traceback
import zipfile
from concurrent.futures import ThreadPoolExecutor

CASES = []  # (name, function, arguments)
PROGRAM = []
GIVEN = []  # what the test was started with
HERE = threading.local()  # its folder: that of the case that the thread runs


def case(name, *arguments):
    """Makes a case of the function with these arguments; repeated, several."""
    def add(function):
        CASES.append((f"{function.__name__}: {name}", function, arguments))
        return function
    return add


def run(*arguments, **more):
    return subprocess.run([*PROGRAM, *map(str, arguments)], cwd=HERE.folder, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=300, **more)


def run_json(*arguments, code=0):
    done = run(*arguments, "--json")
    assert done.returncode == code, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def steady(message):
    """Without what changes between runs: how much memory there is."""
    return re.sub(r"[\d.]+ [KMGTPE]?i?B are available", "... are available", message)


def refused(*arguments, code=1):
    """The message, which must be the same in words and as JSON, and the error's code."""
    words, structured = run(*arguments), run(*arguments, "--json")
    assert words.returncode == structured.returncode == code, (words.returncode, words.stdout, words.stderr)
    assert words.stdout == "" or code != 2, words.stdout
    told = json.loads(structured.stdout)["error"]
    assert steady(told["message"]) in steady(words.stderr), (told, words.stderr)
    return told["message"], told["code"]


# --- Files made and read without the library --------------------------------------------------------------------------

LETTERS = {"<f8": "d", "<f4": "f", "<f2": "e"}


def npy_bytes(rows, dtype="<f8", fortran=False):
    lines = zip(*rows) if fortran else rows
    header = f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': ({len(rows)}, {len(rows[0])}), }}\n"
    values = list(itertools.chain.from_iterable(lines))
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(values)}{LETTERS[dtype]}", *values))


def write_dense(name, rows, **how):
    """A file of `rows`, in the format of its name; a .npz holds it as `x`. Returns what names it."""
    path = HERE.folder / name
    if name.endswith(".npy"):
        path.write_bytes(npy_bytes(rows, **how))
    elif name.endswith(".npz"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", npy_bytes(rows, **how))
            archive.writestr("y.npy", npy_bytes([[0.0]]))
        return name + ":x"
    else:
        by_columns = itertools.chain.from_iterable(zip(*rows))
        path.write_text(f"%%MatrixMarket matrix array real general\n{len(rows)} {len(rows[0])}\n"
                        + "".join(f"{v!r}\n" for v in by_columns))
    return name


def rows_of_npy(content):
    length = struct.unpack("<H", content[8:10])[0]
    header = eval(content[10:10 + length])  # of a file that the program under test wrote
    (m, n), letter = header["shape"], LETTERS[header["descr"]]
    values = struct.unpack(f"<{m * n}{letter}", content[10 + length:])
    if header["fortran_order"]:
        return [list(values[i::m]) for i in range(m)]
    return [list(values[i * n:(i + 1) * n]) for i in range(m)]


def read_dense(name):
    path = HERE.folder / name
    if name.endswith(".npy"):
        return rows_of_npy(path.read_bytes())
    if name.endswith(".npz"):
        with zipfile.ZipFile(path) as archive:
            [member] = archive.namelist()
            return rows_of_npy(archive.read(member))
    lines = [line for line in path.read_text().splitlines() if not line.startswith("%")]
    m, n = map(int, lines[0].split())
    values = [float(v) for v in lines[1:]]
    return [values[i::m] for i in range(m)] if m else [[]] * n


def write_sparse(name, rows):
    entries = [(i + 1, j + 1, v) for i, row in enumerate(rows) for j, v in enumerate(row) if v != 0]
    size = f"{len(rows)} {len(rows[0])} {len(entries)}"
    (HERE.folder / name).write_text(f"%%MatrixMarket matrix coordinate real general\n{size}\n"
                                    + "".join(f"{i} {j} {v!r}\n" for i, j, v in entries))
    return name


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def transposed(a):
    return [list(column) for column in zip(*a)]


def near(a, b, tolerance):
    return len(a) == len(b) and all(
        len(r) == len(s) and all(abs(x - y) <= tolerance for x, y in zip(r, s)) for r, s in zip(a, b))


# --- solve ------------------------------------------------------------------------------------------------------------

SPD = [[4.0 if i == j else -1.0 if abs(i - j) == 1 else 0.0 for j in range(5)] for i in range(5)]
X = [[1.0, -2.0], [2.0, 0.5], [3.0, 4.0], [-4.0, 1.0], [5.0, 0.0]]


def solves_for_a_file(right, left, how):
    write_sparse("spd.mtx", SPD)
    b = write_dense(right, product(SPD, X), **how)
    told = run_json("solve", "spd.mtx", "--b", b, "--solution", left, "--tolerance", "1e-12", "--device", "cpu")
    assert told["converged"] and told["rhs"] == 2 and len(told["true_residual"]) == 2, told
    assert "solution_error" not in told
    assert near(read_dense(left), X, 1e-9), read_dense(left)


for _right, _left, _how in [("b.npy", "x.npy", {}), ("b.npy", "x.mtx", {"fortran": True}), ("b.mtx", "x.npy", {}),
                            ("b.npy", "x.npy", {"dtype": "<f4"}), ("b.npy", "x.npy", {"dtype": "<f2"}),
                            ("b.npz", "x.npz", {}), ("b.npz", "x.mtx", {"fortran": True})]:
    case(f"{_right} {_left} {_how}", _right, _left, _how)(solves_for_a_file)


@case("the solution")
def begins_where_it_is_told():
    write_sparse("spd.mtx", SPD)
    b, x0 = write_dense("b.npy", product(SPD, X)), write_dense("x0.npy", X)
    told = run_json("solve", "spd.mtx", "--b", b, "--x0", x0, "--device", "cpu")
    assert told["iterations"] == 0 and told["converged"], told
    assert run_json("solve", "spd.mtx", "--b", b, "--device", "cpu")["iterations"] > 0


@case("xtrue", "xtrue", True)
@case("random", "random", False)
@case("ones", "ones", False)
def makes_right_hand_sides(b, is_known):
    told = run_json("solve", "stencil5:12,12", "--b", b, "--rhs", "3", "--solution", "x.npy", "--device", "cpu")
    assert told["converged"] and len(told["true_residual"]) == 3 and told["b"] == b, told
    assert ("solution_error" in told) == is_known
    if b == "ones":
        assert near(read_dense("x.npy"), [[row[0]] * 3 for row in read_dense("x.npy")], 1e-9)


@case("rows of B", ["--b", "four.npy"], "size_mismatch", ["four.npy", "4 x 1", "5 x 1"])
@case("columns of B", ["--b", "two.npy", "--rhs", "3"], "size_mismatch", ["two.npy", "5 x 2", "5 x 3", "--rhs 3"])
@case("start", ["--b", "two.npy", "--x0", "four.npy"], "size_mismatch", ["--x0", "four.npy", "4 x 1", "5 x 2"])
@case("no file", ["--b", "none.npy"], "io_error", ["none.npy"])
@case("no such word", ["--b", "one"], "io_error", ["one"])
@case("no folder", ["--solution", "none/x.npy"], "io_error", ["none/x.npy", "no folder none"])
@case("a folder", ["--solution", "folder.npy"], "io_error", ["folder.npy", "directory"])
@case("no format", ["--solution", "x.txt"], "invalid_argument", ["x.txt", ".npy"])
@case("broken", ["--b", "broken.npy"], "truncated", ["broken.npy"])
def refuses_to_solve(arguments, code, words):
    write_sparse("spd.mtx", SPD)
    write_dense("four.npy", [[1.0]] * 4)
    write_dense("two.npy", [[1.0, 2.0]] * 5)
    (HERE.folder / "broken.npy").write_bytes(npy_bytes([[1.0]] * 5)[:-3])
    (HERE.folder / "folder.npy").mkdir(exist_ok=True)
    message, found = refused("solve", "spd.mtx", *arguments)
    assert found == code, (found, message)
    assert all(word in message for word in words), message


# --- eigs -------------------------------------------------------------------------------------------------------------

def chain(n):
    """The matrix -1 2 -1: its eigenvalues are 2 - 2 cos(pi j / (n + 1))."""
    return [[2.0 if i == j else -1.0 if abs(i - j) == 1 else 0.0 for j in range(n)] for i in range(n)]


def of_chain(n):
    return [2 - 2 * math.cos(math.pi * j / (n + 1)) for j in range(1, n + 1)]


@case("smallest", ["-k", "4"], lambda values: values[:4])
@case("smallest, said", ["-k", "4", "--smallest"], lambda values: values[:4])
@case("largest", ["-k", "4", "--largest"], lambda values: values[::-1][:4])
@case("jacobi", ["-k", "4", "--precondition", "jacobi"], lambda values: values[:4])
@case("block-jacobi", ["-k", "4", "--precondition", "block-jacobi"], lambda values: values[:4])
@case("chebyshev", ["-k", "4", "--precondition", "chebyshev"], lambda values: values[:4])
@case("ic0", ["-k", "4", "--precondition", "ic0:0.1"], lambda values: values[:4])
@case("amg", ["-k", "4", "--precondition", "amg"], lambda values: values[:4])
@case("amg, parameters", ["-k", "4", "--precondition", "amg:2,coarse=10"], lambda values: values[:4])
@case("eigenvalue", ["-k", "4", "--residual", "eigenvalue", "--tolerance", "1e-7"], lambda values: values[:4])
@case("all", ["-k", "40"], lambda values: values)
def finds_eigenvalues(arguments, wanted):
    write_sparse("chain.mtx", chain(40))
    told = run_json("eigs", "chain.mtx", *arguments, "--vectors", "v.npy", "--device", "cpu")
    values = wanted(of_chain(40))
    assert told["converged"] and told["reason"] == "converged" and told["num_converged"] == len(values), told
    assert near([told["values"]], [values], 1e-8), told
    assert max(told["residual"]) <= told["tolerance"] and len(told["residual"]) == len(values), told
    vectors = read_dense("v.npy")
    times = product(chain(40), vectors)
    assert near(times, [[v * value for v, value in zip(row, values)] for row in vectors], 1e-6)


@case("fp64", [], 1e-8)
@case("fp32", ["--type", "fp32"], 1e-4)
def finds_eigenvalues_of_a_pencil(arguments, tolerance):
    """B = 2 I halves them."""
    write_sparse("chain.mtx", chain(30))
    write_sparse("b.mtx", [[2.0 if i == j else 0.0 for j in range(30)] for i in range(30)])
    told = run_json("eigs", "chain.mtx", "--b", "b.mtx", "-k", "3", *arguments, "--device", "cpu")
    assert near([told["values"]], [[value / 2 for value in of_chain(30)[:3]]], tolerance), told
    assert told["b"] == "b.mtx" and told["converged"], told


@case("jacobi", "jacobi")
@case("block-jacobi", "block-jacobi:1")
def finds_eigenvalues_sooner_of_rows_of_unlike_size(precondition):
    scale = [10 ** (i * 7 % 10 / 12) for i in range(40)]
    write_sparse("a.mtx", [[entry * s * t for entry, t in zip(row, scale)] for row, s in zip(chain(40), scale)])
    with_it, without = (run_json("eigs", "a.mtx", "-k", "2", "--precondition", kind, "--device", "cpu")
                        for kind in (precondition, "none"))
    assert with_it["converged"] and without["converged"], (with_it, without)
    assert near([with_it["values"]], [without["values"]], 1e-8), (with_it, without)
    assert 2 * with_it["iterations"] < without["iterations"], (with_it["iterations"], without["iterations"])


@case("generated", [])
@case("given", ["--coordinates", "nodes.npy"])
def finds_eigenvalues_with_the_rigid_motions_of_nodes(arguments):
    """A beam's two bending modes are alike; those of 3 x 2 x 2 elements, by SciPy's eigh."""
    write_dense("nodes.npy", [[x, y, z] for x in range(1, 4) for y in range(3) for z in range(3)])
    told = run_json("eigs", "elasticity:3,2,2", "-k", "2", "--precondition", "amg:coarse=30", *arguments, "--device", "cpu")
    assert told["preconditioner"]["near_nullspace"] == "rigid-body modes", told
    assert len(told["preconditioner"]["levels"]) > 1 and told["converged"], told
    assert near([told["values"]], [[0.0097000315329226674] * 2], 1e-9), told


@case("too few iterations")
def finds_eigenvalues_or_says_which_have_not_converged():
    told = run_json("eigs", "stencil5:20,20", "-k", "3", "--max-iterations", "2", "--plot", "p.svg", "--device", "cpu",
                    code=3)
    assert told["plot"] == "p.svg" and (HERE.folder / "p.svg").read_text().startswith("<svg"), told
    assert told["reason"] == "max_iterations" and not told["converged"] and told["iterations"] == 2, told
    words = run("eigs", "stencil5:20,20", "-k", "3", "--max-iterations", "2", "--device", "cpu")
    assert words.returncode == 3 and words.stdout.count("not converged") == 3, words.stdout


@case("not square", ["wide.mtx", "-k", "1"], 1, "invalid_argument", ["2 x 3", "not square"])
@case("not symmetric", ["upper.mtx", "-k", "1"], 1, "invalid_argument", ["upper.mtx", "not symmetric"])
@case("too many", ["chain.mtx", "-k", "6"], 1, "invalid_argument", ["5 eigenvalues", "-k 6"])
@case("size of B", ["chain.mtx", "-k", "1", "--b", "four.mtx"], 1, "size_mismatch", ["four.mtx", "4 x 4", "5 x 5"])
@case("B", ["chain.mtx", "-k", "1", "--b", "fiver.mtx"], 1, "invalid_argument", ["fiver.mtx", "not symmetric"])
@case("no B", ["chain.mtx", "-k", "1", "--b", "none.mtx"], 1, "io_error", ["none.mtx"])
@case("no folder", ["chain.mtx", "-k", "1", "--vectors", "none/v.npy"], 1, "io_error", ["none/v.npy"])
@case("not positive definite", ["negative.mtx", "-k", "1", "--precondition", "jacobi"], 1, "invalid_argument", [])
@case("preconditioner", ["chain.mtx", "-k", "1", "--precondition", "amg:knob=1"], 2, None, ["knob", "amg[:degree]"])
@case("coordinates", ["chain.mtx", "-k", "1", "--precondition", "amg", "--coordinates", "nodes.npy"], 1, "size_mismatch",
      ["--coordinates nodes.npy", "2 x 3", "5 rows"])
@case("coordinates for none", ["chain.mtx", "-k", "1", "--coordinates", "nodes.npy"], 1, "invalid_argument",
      ["--coordinates", "not none"])
@case("both ends", ["chain.mtx", "-k", "1", "--smallest", "--largest"], 2, None, ["--largest"])
@case("none wanted", ["chain.mtx", "-k", "0"], 2, None, ["at least 1"])
def refuses_eigenvalues(arguments, exit_code, code, words):
    write_sparse("wide.mtx", [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0]])
    write_sparse("upper.mtx", [[1.0, 2.0], [0.0, 1.0]])
    write_sparse("chain.mtx", chain(5))
    write_sparse("four.mtx", chain(4))
    write_dense("nodes.npy", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    write_sparse("fiver.mtx", [[1.0 if j >= i else 0.0 for j in range(5)] for i in range(5)])
    write_sparse("negative.mtx", [[-entry for entry in row] for row in chain(5)])
    message, found = refused("eigs", *arguments, code=exit_code)
    assert code is None or found == code, (found, message)
    assert all(word in message for word in words), message


@case("solve", ["solve", "--solution", "none/x.npy"])
@case("eigs", ["eigs", "--vectors", "none/v.npy"])
@case("right-hand sides", ["solve", "--b", "none.npy"])
@case("operand", ["spmm", "--b", "none.npy"])
@case("spmm", ["spmm", "--c", "none/c.npy"])
@case("info", ["info", "--png", "none/p.png"])
@case("plot of CG", ["solve", "--plot", "none/a.svg"])
@case("plot of LOBPCG", ["eigs", "--plot", "none/a.svg"])
@case("coordinates", ["solve", "--precondition", "amg", "--coordinates", "none.npy"])
@case("coordinates for LOBPCG", ["eigs", "--precondition", "amg", "--coordinates", "none.npy"])
@case("conversion", ["convert", "none/a.mtx"])
def looks_at_paths_before_the_matrix(arguments):
    """The matrix does not exist: if it were read first, it would be the one reported missing."""
    message, _ = refused(arguments[0], "no-such-matrix.mtx", *arguments[1:])
    assert "none" in message and "no-such-matrix" not in message, message


@case("CG", "solve", "residual.png")
@case("LOBPCG", "eigs", "residual.PDF")
@case("in a folder", "solve", "none/a.b.jpg")
def refuses_names_of_other_pictures(command, name):
    """Whatever the matrix is: neither it nor the folder is there."""
    message, _ = refused(command, "no-such-matrix.mtx", "--plot", name, code=2)
    assert "--plot" in message and ".svg" in message and name in message, message
    assert not (HERE.folder / name).exists()


@case("no ending", "residual")
@case("capitals", "residual.SVG")
@case("several", "residual.png.svg")
def plots_to_names_that_promise_nothing_else(name):
    told = run_json("solve", "stencil5:9,9", "--plot", name, "--device", "cpu")
    assert told["plot"] == name and (HERE.folder / name).read_text().startswith("<svg"), told


@case("folder", "none/a.mtx")
def looks_at_paths_before_it_generates(target):
    """The matrix is too large: if it were generated first, that would be the error."""
    message, code = refused("generate", "stencil5:100000,100000", target)
    assert code == "io_error" and target in message, (code, message)


# --- spmm -------------------------------------------------------------------------------------------------------------

A = [[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, -1.0], [4.0, 0.0, 0.0, 5.0]]
B = [[1.0, 2.0], [3.0, -4.0], [0.5, 6.0], [7.0, 8.0]]
B3 = [[1.0, 2.0, -3.0], [0.0, 4.0, 1.0], [2.0, 2.0, 2.0]]
C0 = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]


@case("fp32", "fp32", "row", "b.npy", "c.npy")
@case("fp64", "fp64", "col", "b.npy", "c.npy")
@case("fp16", "fp16", "row", "b.npy", "c.npy")
@case("bf16", "bf16", "col", "b.npy", "c.npy")
@case("text", "fp64", "row", "b.mtx", "c.mtx")
@case("zip", "fp32", "col", "b.npz", "c.npz")
def multiplies_files(kind, order, name, target):
    write_sparse("a.mtx", A)
    b = write_dense(name, B)
    told = run_json("spmm", "a.mtx", "--b", b, "--c", target, "--type", kind, "--layout", order, "--device", "cpu")
    assert told["passed"] and told["cols"] == 2 and told["c"] == target, told
    assert read_dense(target) == product(A, B), read_dense(target)


@case("row", "row")
@case("col", "col")
def adds_to_a_file(order):
    """Timed runs change C: what is written is the first product."""
    write_sparse("a.mtx", A)
    write_dense("b.npy", B3)
    write_dense("c.npy", C0, fortran=True)
    told = run_json("spmm", "a.mtx", "--transpose", "--b", "b.npy", "--alpha", "2", "--beta", "-1", "--c0", "c.npy", "--c",
                    "c.npy", "--layout", order, "--type", "fp64", "--device", "cpu")
    assert told["passed"], told
    expected = [[2 * x - y for x, y in zip(r, s)] for r, s in zip(product(transposed(A), B3), C0)]
    assert read_dense("c.npy") == expected, read_dense("c.npy")


@case("A", [], "C = 2 * A * B + 0 * C")
@case("its transpose", ["--transpose"], "C = 2 * A' * B + 0 * C")
def says_in_the_file_what_it_is(arguments, words):
    write_sparse("a.mtx", A)
    run_json("spmm", "a.mtx", "--cols", "2", "--alpha", "2", "--c", "c.mtx", "--device", "cpu", *arguments)
    assert words in (HERE.folder / "c.mtx").read_text(), (HERE.folder / "c.mtx").read_text()


@case("rows of B", ["--b", "three.npy"], "size_mismatch", ["--b three.npy", "3 x 3", "4 x 3", "A has 4 columns"])
@case("transposed", ["--transpose", "--b", "b.npy"], "size_mismatch", ["b.npy", "4 x 2", "3 x 2", "A' has 3 columns"])
@case("columns", ["--b", "b.npy", "--cols", "5"], "size_mismatch", ["b.npy", "4 x 2", "4 x 5", "--cols 5"])
@case("C", ["--b", "b.npy", "--beta", "1", "--c0", "three.npy"], "size_mismatch", ["--c0 three.npy", "3 x 3", "3 x 2"])
@case("C unread", ["--c0", "three.npy"], "invalid_argument", ["--c0", "--beta 0"])
@case("many kernels", ["--kernel", "each", "--c", "c.npy"], "invalid_argument", ["--c c.npy", "--kernel each"])
@case("batch", ["--batch", "2", "--b", "b.npy"], "invalid_argument", ["--b b.npy", "--batch 2"])
@case("range", ["--type", "fp16", "--b", "large.npy"], "value_out_of_range", ["large.npy", "(4, 1)", "fp16"])
@case("name", ["--c", "c.csv"], "invalid_argument", ["c.csv", ".npy"])
def refuses_to_multiply(arguments, code, words):
    write_sparse("a.mtx", A)
    write_dense("b.npy", B)
    write_dense("three.npy", B3)
    write_dense("large.npy", [[1.0], [2.0], [3.0], [1e6]])
    message, found = refused("spmm", "a.mtx", "--device", "cpu", *arguments)
    assert found == code, (found, message)
    assert all(word in message for word in words), message


# --- info -------------------------------------------------------------------------------------------------------------

def without_times(explained):
    return [line for line in explained.splitlines() if not line.startswith("ready after")]


def advises_what_the_plan_takes(matrix, cols, kind):
    options = [matrix, "--cols", cols, "--type", kind, "--device", "cpu"]
    [planned] = run_json("spmm", *options, "--repeat", "1")["results"]
    advised = run_json("info", *options, "--no-picture")["advice"]
    for key in ("m_block", "format_bytes", "kernel", "reason"):
        assert advised[key] == planned[key], (key, advised, planned)
    assert without_times(advised["explain"]) == without_times(planned["explain"])
    if advised["algorithm"] == "rows":  # that reads BCSC as it is
        [at_height] = [block for block in run_json("info", *options)["blocks"] if block["m_block"] == advised["m_block"]]
        assert at_height["bytes"] == advised["format_bytes"], (at_height, advised)
    shown = run("info", *options, "--no-picture").stdout
    for line in without_times(planned["explain"]):
        assert f"  {line}\n" in shown, (line, shown)


for _matrix, _cols, _kind in itertools.product(("elasticity:8,8,8", "stencil5:40,40"), (1, 32, 128),
                                               ("fp32", "fp64", "fp16", "bf16")):
    case(f"{_matrix} {_cols} {_kind}", _matrix, _cols, _kind)(advises_what_the_plan_takes)


@case("elasticity", "elasticity:8,8,8")
def shows_one_style_of_numbers(matrix):
    """Bytes in one family of units, counts grouped, and no bare number of bytes."""
    shown = run("spmm", matrix, "--device", "cpu", "--repeat", "1").stdout
    assert not re.search(r"\d [kMG]?B\b", shown) and not re.search(r"\d bytes", shown), shown
    assert re.search(r"\d [KM]iB", shown), shown
    assert not re.search(r"\d{5,} (non-zeros|non-empty)", shown), shown
    assert "max error" not in shown and "error / bound" in shown, shown


@case("microseconds", "stencil5:20,20", "8", r"[\d.]{3,5} us")
@case("thousands", "stencil5:300,300", "2048", r"\d+\.\d\d ms")
def predicts_in_the_units_of_what_is_measured(matrix, cols, time):
    reason = run_json("info", matrix, "--cols", cols, "--no-picture", "--device", "cpu")["advice"]["reason"]
    assert re.search(rf"least predicted time of \d+ configs: {time}\b", reason), reason


# --- Mistakes ---------------------------------------------------------------------------------------------------------

@case("command", ["spm", "a.mtx"], "there is no command spm: did you mean spmm?")
@case("exchanged letters", ["slove"], "there is no command slove: did you mean solve?")
@case("nothing like it", ["frobnicate"], "there is no command frobnicate")
@case("none", [], "no command is named")
@case("option", ["spmm", "stencil5:3,3", "--colz", "5"], "there is no option --colz: did you mean --cols?")
@case("option with =", ["spmm", "stencil5:3,3", "--layuot=row"], "there is no option --layuot: did you mean --layout?")
@case("option and no file", ["info", "--tpye"], "there is no option --tpye: did you mean --type?")
@case("option like none", ["info", "stencil5:3,3", "--quantum-leap"], "there is no option --quantum-leap")
@case("too many", ["info", "a", "b"], "\"b\" is one argument too many")
@case("below", ["spmm", "stencil5:3,3", "--cols", "0"], "--cols: must be at least 1, not 0")
@case("no number", ["spmm", "stencil5:3,3", "--cols", "many"], "--cols: must be a whole number, not many")
@case("no whole number", ["spmm", "stencil5:3,3", "--cols", "1.5"], "--cols: must be a whole number, not 1.5")
@case("too large", ["spmm", "stencil5:3,3", "--cols", "99999999999999999999"], "--cols: must fit 63 bits")
@case("threads", ["spmm", "stencil5:3,3", "--threads", "-2"], "--threads: must be at least 0, not -2")
@case("rhs", ["solve", "stencil5:3,3", "--rhs", "0"], "--rhs: must be at least 1, not 0")
@case("tolerance", ["solve", "stencil5:3,3", "--tolerance", "-1"], "--tolerance: must be above 0, not -1")
@case("not a number", ["solve", "stencil5:3,3", "--tolerance", "nan"], "--tolerance: must be a finite number, not nan")
@case("seconds", ["calibrate", "--seconds", "0"], "--seconds: must be above 0, not 0")
@case("budget", ["tune", "stencil5:3,3", "--budget", "-1"], "--budget: must be at least 0, not -1")
@case("no budget", ["tune", "stencil5:3,3", "--budget", "much"], "--budget: must be a number, not much")
@case("retry delay", ["fetch", "HB/a", "--retry-delay", "-1"], "--retry-delay: must be at least 0, not -1")
@case("no real number", ["spmm", "stencil5:3,3", "--alpha", "x"], "--alpha: must be a number, not x")
@case("no value", ["spmm", "stencil5:3,3", "--alpha"], "--alpha: needs a value")
@case("an option for a value", ["spmm", "stencil5:3,3", "--alpha", "--beta", "2"], "--alpha: needs a value")
@case("no number of columns", ["spmm", "stencil5:3,3", "--cols"], "--cols: needs a value")
@case("no word", ["spmm", "stencil5:3,3", "--layout"], "--layout: needs a value")
@case("a value for a flag", ["spmm", "stencil5:3,3", "--transpose=much"], "--transpose: takes no value, not much")
@case("manual page", ["man", "spm"], "there is no command spm: did you mean spmm?")
@case("no manual page", ["man", "frobnicate"], "there is no command frobnicate, only info, spmm")
@case("algorithm", ["kernels", "--algorithm", "rwos"], "--algorithm: there is no algorithm rwos: did you mean rows?")
@case("no algorithm", ["kernels", "--algorithm", "frobnicate"], "there is no algorithm frobnicate, only blocks, ")
def tells_a_misuse(arguments, words):
    message, code = refused(*arguments, code=2)
    assert code == "usage" and words in message, message
    if "did you mean" not in words:
        assert "did you mean" not in message, message


@case("family", "info", "elasticty:3,3,3", ["elasticty", "did you mean elasticity?"], ["stencil5"])
@case("grammar", "info", "elasticity:3,3", ["nz is missing", "elasticity:nx,ny,nz[,dof=]"], ["stencil5", "banded"])
@case("parameter", "info", "banded:9,2,sed=1", ["\"sed\"", "banded:rows,half_width[,seed=]"], ["elasticity"])
@case("catalogue", "info", "stencil9-40", ["stencil9-40", "did you mean stencil9-400?"], [])
@case("generate", "generate", "stencl5:3,3", ["stencl5", "did you mean stencil5?"], ["elasticity"])
def tells_a_wrong_generator(command, matrix, words, not_words):
    message, _ = refused(command, matrix, *(["out.mtx"] if command == "generate" else []))
    assert all(word in message for word in words), message
    assert not any(word in message for word in not_words), message


@case("kernel", ["spmm", "--kernel", "quantum"], "--kernel = \"quantum\"")
@case("height", ["spmm", "--m-block", "70000"], "--m-block = 70000")
@case("no copy", ["spmm", "--transpose", "--no-copy", "--kernel", "quantum"], "32-bit indices for --no-copy;")
@case("amg, ratio", ["solve", "--precondition", "amg:ratio=-1"], "--precondition amg: ratio = -1: must be above 1")
@case("amg, degree", ["eigs", "--precondition", "amg:9"], "--precondition amg: degree = 9: must be 1 .. 8")
@case("amg, coarse", ["solve", "--precondition", "amg:coarse=0"], "--precondition amg: coarse = 0: must be 1 .. 4096")
@case("amg, block", ["solve", "--precondition", "amg:block=2"], "--precondition amg: block = 2: must be a divisor")
@case("chebyshev", ["solve", "--precondition", "chebyshev:0"], "--precondition chebyshev: degree = 0: must be 1 .. 16")
@case("ic0", ["solve", "--precondition", "ic0:-3"], "--precondition ic0: shift = -3: must be 0 .. 1")
@case("block-jacobi", ["solve", "--precondition", "block-jacobi:-1"], "--precondition block-jacobi: size = -1: must be")
@case("block method", ["solve", "--method", "block-cg", "--correction", "refine:0.1"],
      "--correction refine is of simultaneous iterations; block ones take reliable")
@case("tolerance", ["solve", "--tolerance", "2"], "--tolerance = 2: must lie between 0 and 1")
@case("plot", ["solve", "--plot", "none/p.svg"], "--plot none/p.svg: cannot be written")
def names_options_and_no_members(arguments, words):
    message, _ = refused(arguments[0], "stencil5:9,9", "--device", "cpu", *arguments[1:])
    assert words in message and "::" not in message and "_" not in message and "()" not in message, message


@case("spmm", ["spmm", "stencil5:100,100", "--cols", "10000000000"])
@case("solve", ["solve", "stencil5:100,100", "--rhs", "10000000000"])
def says_how_much_memory_is_lacking(arguments):
    message, code = refused(*arguments, "--device", "cpu")
    assert code == "out_of_memory", (code, message)
    assert re.search(r"take \d[\d.]* [TPE]iB of memory, \d[\d.]* [KMGTPE]?i?B are available", message), message


@case("rows", "banded:20000000,20", "20,000,000 rows and 819,999,580 entries: 9.2 GiB")
@case("blocks", "blocks:60000000,1,1,8", "the couplings of a generated matrix of 60,000,000 rows: 7.6 GiB")
@case("rmat", "rmat:26,16", "the 1,073,741,824 edges of a generated graph: 13.0 GiB")
@case("spd", "spd:2000000000,10", "the rotations of a generated matrix of 2,000,000,000 rows: 29.8 GiB")
@case("householder", "householder:40000,10", "40,000 rows and 1,600,000,000 entries: 17.9 GiB")
@case("hypersparse", "hypersparse:2000000000,2000000000,1000000", "2,000,000,000 rows and 1,000,000 entries: 7.5 GiB")
def says_how_much_memory_a_generated_matrix_takes(matrix, words):
    """In 4 GiB of addresses, whatever the machine has."""
    done = run("info", matrix, "--device", "cpu", "--json",
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32)))
    told = json.loads(done.stdout)["error"]
    assert told["code"] == "out_of_memory", told
    assert re.search(re.escape(words) + r" were asked for, \d[\d.]* [KMG]iB are available", told["message"]), told


@case("too many rows", "stencil5:100000,1000000", "rows = 100,000,000,000 does not fit")
def groups_the_digits_of_sizes(matrix, words):
    message, _ = refused("info", matrix)
    assert words in message, message


# --- Progress ---------------------------------------------------------------------------------------------------------

FRAME = "\r\x1b[K"


def on_terminal(arguments, width, term="xterm", stream="stderr"):
    """What the program writes to this stream when that is a terminal of this width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": term}
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | {stream: slave}
    process = subprocess.Popen([*PROGRAM, *arguments], cwd=HERE.folder, stdin=subprocess.DEVNULL, env=environment,
                               **streams)
    os.close(slave)
    shown = io.BytesIO()
    while True:
        ready, _, _ = select.select([master], [], [], 300)
        assert ready, "nothing for five minutes"
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown.write(piece)
    os.close(master)
    assert process.wait() == 0, (process.returncode, shown.getvalue())
    return shown.getvalue().decode()


LONG = ["bench", "stencil5:300,300", "--cols", "32", "--device", "cpu", "--seconds", "0.1", "--thorough"]


@case("40", 40)
@case("80", 80)
@case("200", 200)
def bench_shows_progress_on_one_line(width):
    shown = on_terminal(LONG, width)
    frames = shown.split(FRAME)
    assert frames[0] == "" and frames[-1] == "", "a line is drawn over, and removed at the end"
    assert "\n" not in shown, shown
    assert all(len(frame) < width for frame in frames), max(frames, key=len)
    shares = [int(found[1]) for frame in frames if (found := re.search(r"(\d+)%", frame))]
    assert shares == sorted(shares), shares
    assert len({share for share in shares if 0 < share < 100}) >= 3, ("moves inside the one case", shares)
    assert any(re.search(r"\d+ (s|min|h) left", frame) for frame in frames), frames[-5:]


@case("40", 40)
@case("200", 200)
def solve_shows_progress_on_one_line(width):
    frames = on_terminal(["solve", "stencil5:60,60", "--device", "cpu"], width).split(FRAME)
    assert any("%" in frame for frame in frames)
    assert all(len(frame) < width for frame in frames), max(frames, key=len)


@case("terminal that cannot draw over a line", "dumb")
def shows_nothing(term):
    assert on_terminal(["solve", "stencil5:60,60", "--device", "cpu"], 80, term) == ""
    assert run("solve", "stencil5:60,60", "--device", "cpu").stderr == "", "without a terminal"


# --- Tables -----------------------------------------------------------------------------------------------------------

@case("formats in 40", ["formats"], 40)
@case("formats in 80", ["formats"], 80)
@case("kernels in 40", ["kernels", "--device", "cpu", "--type", "bf16"], 40)
@case("kernels in 200", ["kernels", "--device", "cpu", "--type", "bf16"], 200)
def tables_fit_the_terminal(arguments, width):
    lines = on_terminal(arguments, width, stream="stdout").splitlines()
    rows = [line for line in lines if line.startswith("  ")]
    assert rows and all(len(row) <= width for row in rows), max(rows, key=len)
    whole = run(*arguments).stdout
    assert sorted(" ".join(lines).split()) == sorted(whole.split()), "nothing is left out"
    assert max(map(len, whole.splitlines())) > 80, "a pipe has no width"


@case("40", 40)
@case("80", 80)
@case("200", 200)
def bench_fits_the_terminal(width):
    shown = on_terminal(["bench", "stencil5:40,40", "uniform:64,64,0.5,seed=1", "--cols", "4,8", "--device", "cpu", "--seconds", "0.001",
                         "--thorough"], width, stream="stdout")
    lines = shown.splitlines()
    assert all(len(line) <= width for line in lines), max(lines, key=len)
    for title in ("matrix", "rows", "plan", "kernel", "its best", "ratio", "single", "cold", "roof%", "convert", "payback",
                  "stencil5:40,40", "uniform:64,64,0.5,seed=1", "geometric"):
        assert title in shown, (title, shown)


@case("40", 40)
@case("80", 80)
@case("200", 200)
def info_fits_the_terminal(width):
    told = ["info", "stencil5:40,40", "--no-picture", "--device", "cpu"]
    shown = on_terminal(told, width, stream="stdout")
    lines = shown.splitlines()
    assert all(len(line) <= width for line in lines), max(lines, key=len)
    whole = run(*told).stdout
    for title in ("why: ", "A is stored as: ", "near     ", "symmetry "):
        assert title in whole and title in shown, (title, shown)
    for text in ("by costs", "side by side 0.125", "diagonal positive"):
        if text in whole:
            assert text in " ".join(shown.split()), (text, shown)


@case("info", ["info", "stencil5:40,40"])
@case("solve", ["solve", "stencil5:40,40"])
@case("eigs", ["eigs", "stencil5:20,20", "-k", "2"])
def pictures_fit_the_terminal(arguments):
    def drawn(text):
        return [line for line in text.splitlines() if re.search("[┌│└┤]", line)]
    whole = drawn(run(*arguments, "--device", "cpu").stdout)
    assert 50 < max(map(len, whole)) <= 60, "a pipe has no width"
    for width in (40, 80, 200):
        lines = drawn(on_terminal([*arguments, "--device", "cpu"], width, stream="stdout"))
        assert max(map(len, lines)) == min(width, max(map(len, whole))), (width, lines)


@case("numbers to the right, words to the left", ["generate", "--list"])
def aligns_columns_by_what_they_hold(arguments):
    rows = [line for line in run(*arguments).stdout.splitlines() if line.startswith("  ")][:20]
    begins = rows[0].index("specification")
    assert all(row[begins - 1] == " " and row[begins] != " " for row in rows), rows
    lines = run("info", "stencil5:9,9", "--no-picture").stdout.splitlines()
    heights = [line for line in lines if line.startswith("  ")][:9]
    assert len({len(row) for row in heights}) == 1, heights


# --- bench ------------------------------------------------------------------------------------------------------------

@case("no such input", ["nodir"], 1, "nodir")
@case("family", ["stencl5:3,3"], 1, "did you mean stencil5?")
@case("empty folder", ["empty"], 1, "empty")
@case("no folder for the results", ["stencil5:9,9", "--out", "none/r.json"], 1, "none")
@case("kernel", ["stencil5:9,9", "--kernel", "quantum"], 1, "quantum")
@case("bound", ["stencil5:9,9", "--cols", "8,0"], 2, "must be at least 1, not 0")
@case("option", ["stencil5:9,9", "--ful"], 2, "did you mean --full?")
@case("nothing to do", [], 2, "MATRIX is required")
@case("two jobs", ["stencil5:9,9", "--results", "r.json", "--report", "r"], 2, "excludes")
@case("results and no report", ["--results", "r.json"], 2, "--results requires --report")
@case("quick what", ["stencil5:9,9", "--quick"], 2, "--quick requires --suite")
@case("suite", ["--suite", "cnn"], 2, "cnn")
@case("one to compare", ["--compare", "a.json"], 2, "--compare")
@case("no folder for the report", ["no-such-matrix", "--report", "none/report"], 1, "no-such-matrix")
@case("report below no folder", ["stencil5:9,9", "--report", "none/report"], 1, "there is no folder")
@case("report into a file", ["stencil5:9,9", "--report", "a-file"], 1, "a-file: cannot be written to: is no folder")
@case("results that are none", ["--results", "a-file", "--report", "r"], 1, "a-file: ")
@case("results that are missing", ["--compare", "none.json", "a-file"], 1, "none.json: cannot be read")
def bench_refuses(arguments, code, words):
    (HERE.folder / "empty").mkdir(exist_ok=True)
    (HERE.folder / "a-file").write_text("no results")
    message, _ = refused("bench", *arguments, "--device", "cpu", code=code)
    assert words in message, message


@case("right", ["stencil5:9,9"], 0)
@case("unreadable", ["stencil5:9,9", "bad.mtx"], 1)
@case("wrong parameters", ["elasticity:3,3"], 1)
def bench_exits_with(arguments, code):
    (HERE.folder / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 9 1\n")
    done = run("bench", *arguments, "--device", "cpu", "--cols", "4", "--warm-only", "--seconds", "0.001")
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)


@case("two results")
def bench_compares():
    options = ["--cols", "4", "--device", "cpu", "--warm-only", "--seconds", "0.001"]
    assert run("bench", "stencil5:9,9", *options, "--out", "old.json").returncode == 0
    same = run("bench", "--compare", "old.json", "old.json")
    assert same.returncode == 0 and "ours: 0 slower, 0 faster" in same.stdout, same.stdout
    results = json.loads((HERE.folder / "old.json").read_text())
    for entry in results["cases"][0]["entries"]:
        if entry["warm"]:
            assert len(entry["warm"]["seconds"]) == entry["warm"]["samples"]
            entry["warm"] = {key: value if key in ("samples", "launches_per_sample")
                             else [10 * v for v in value] if key == "seconds" else 10 * value
                             for key, value in entry["warm"].items()}
    (HERE.folder / "new.json").write_text(json.dumps(results))
    told = run_json("bench", "--compare", "old.json", "new.json", code=3)
    assert told["worse"] and told["ours"]["slower"] == 1, told
    assert abs(told["geometric_mean_ratio"] - 10) < 1e-9, told
    assert run("bench", "--compare", "new.json", "old.json").returncode == 0
    text = run("bench", "--compare", "old.json", "new.json").stdout
    assert "slower" in text and "+900.0 %" in text, text


@case("dash", "-")
@case("pipe", "/dev/stdin")
def bench_reads_standard_input(name):
    matrix = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.5\n3 2 -2\n"
    done = subprocess.run([*PROGRAM, "bench", name, "--device", "cpu", "--cols", "4", "--warm-only", "--seconds", "0.001",
                           "--json"], cwd=HERE.folder, input=matrix, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stderr)
    found, = json.loads(done.stdout)["matrices"]
    assert (found["rows"], found["nnz"]) == (3, 2), found


@case("found", True)
@case("not found", False)
def bench_compares_with_mkl(is_found):
    """The stand-in multiplies slowly, but as MKL does: it is checked, timed and listed, and Eigen stays the rival."""
    paths = str(GIVEN[0].mkl_stand_in.parent) if is_found else str(HERE.folder)
    options = ["stencil5:9,9", "--cols", "1,4", "--device", "cpu", "--seconds", "0.001", "--warm-only"]
    environment = os.environ | {"LD_LIBRARY_PATH": f"{paths}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    done = run("bench", *options, "--out", "r.json", env=environment)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert not is_found or re.search(r"plan against MKL: +geometric mean .* of 2 cases", done.stdout), done.stdout
    results = json.loads((HERE.folder / "r.json").read_text())
    assert ("mkl" in results["machine"]["versions"]) == is_found or not is_found and has_mkl(), results["machine"]
    if is_found:
        assert results["machine"]["versions"]["mkl"] == "a stand-in, GNU threads", results["machine"]
        by_cols = {case["cols"]: {entry["name"]: entry for entry in case["entries"]} for case in results["cases"]}
        assert {name for name in by_cols[1] if "mkl" in name} == {"mkl-mm", "mkl-mv"}, by_cols[1].keys()
        assert {name for name in by_cols[4] if "mkl" in name} == {"mkl-mm"}, by_cols[4].keys()
        for cols in (1, 4):
            assert by_cols[cols]["mkl-mm"]["status"] == "ok" and by_cols[cols]["mkl-mm"]["warm"], by_cols[cols]
    assert results["main_rival"] in ("eigen", "reference"), results["main_rival"]


def has_mkl():
    """Of the machine: then it is found without the stand-in, too."""
    for name in ("libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"):
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            pass
    return False


# --- Start-up ---------------------------------------------------------------------------------------------------------

def least_seconds(command):
    """Of a processor, the least of twenty runs: what else the machine does hardly counts."""
    def seconds():
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, process.returncode
        return used.ru_utime + used.ru_stime
    return min(seconds() for _ in range(20))


@case("version")
def starts_in_ten_milliseconds():
    least = least_seconds([*PROGRAM, "--version"])
    assert least < 10e-3, f"{1e3 * least:.1f} ms"


def has_lapack():
    done = subprocess.run([*PROGRAM, "eigs", "stencil5:2,2", "-k", "1", "--device", "cpu"], capture_output=True, text=True)
    return done.returncode == 0 or "LAPACK cannot be loaded" not in done.stderr


def is_left_out(name, arguments, given):
    return ((given.without_bench and "bench" in name) or (given.without_zip and ".npz" in str(arguments))
            or (given.without_lapack and ("finds_eigenvalues" in name or name.endswith("terminal: eigs")))
            or (given.sanitized and is_about_the_process(name))
            or (given.mkl_stand_in is None and "with_mkl" in name) or ("milliseconds" in name and is_slow_to_start()))


def is_about_the_process(name):
    """Sanitizers take longer to start, and map more addresses than the case allows."""
    return "milliseconds" in name or "memory_a_generated" in name


def is_slow_to_start():
    """Whether a program that does nothing takes milliseconds, as in an emulator."""
    return least_seconds(["true"]) > 4e-3


def failure_of(function, arguments):
    """What went wrong in a case, run in its own folder; empty if nothing did."""
    with tempfile.TemporaryDirectory() as folder:
        HERE.folder = pathlib.Path(folder)
        try:
            function(*arguments)
            return ""
        except Exception:
            return traceback.format_exc()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--without-bench", action="store_true")
    parser.add_argument("--without-zip", action="store_true")
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("--mkl-stand-in", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=min(8, len(os.sched_getaffinity(0))))
    given = parser.parse_args()
    PROGRAM.append(str(pathlib.Path(given.program).resolve()))
    GIVEN.append(given)
    given.mkl_stand_in = given.mkl_stand_in and given.mkl_stand_in.resolve()
    # No case is about a GPU, and starting one takes longer than most cases.
    os.environ.update(CUDA_VISIBLE_DEVICES="", OMP_WAIT_POLICY="passive")
    given.without_lapack = not has_lapack()
    chosen = [one for one in CASES if given.only in one[0]]
    skipped = [one for one in chosen if is_left_out(one[0], one[2], given)]
    for name, _, _ in skipped:
        print(f"skipped  {name}")
    failed = passed = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        running = [(name, pool.submit(failure_of, function, arguments)) for name, function, arguments in chosen
                   if not is_left_out(name, arguments, given)]
        for name, done in running:
            failed += done.result() != ""
            passed += done.result() == ""
            if done.result():
                print(f"FAILED   {name}\n{done.result()}", flush=True)
    print(f"{passed} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
