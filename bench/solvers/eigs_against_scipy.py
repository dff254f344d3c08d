#!/usr/bin/env python3
"""Eigenvalues by `bcsc eigs` against those that are known, SciPy's eigsh (shift and invert), and its LOBPCG.

    python3 -m venv v && v/bin/pip install scipy
    v/bin/python bench/solvers/eigs_against_scipy.py --program BUILD/tools/bcsc/bcsc --json eigs.json
    v/bin/python bench/solvers/eigs_against_scipy.py --program BUILD/tools/bcsc/bcsc --device cuda --cupy --only time
    v/bin/python bench/solvers/eigs_against_scipy.py --program BUILD/tools/bcsc/bcsc --only time \\
        --slepc "mpiexec -n 2 /usr/bin/python3"      # with Debian's python3-slepc4py and python3-scipy

Three tables. `poisson`: the 17 smallest of Poisson's equation on 64 x 64 x 64 points, whose eigenvalues
sum 2 - 2 cos(pi i / 65) have multiplicities 1, 3, 3, 3, 1, 6; relative error at most 1e-9. `real`: the 8 smallest of the
symmetric positive definite matrices in $BCSC_MATRICES with a condition of at most 1e7 (or those of --matrices),
relative to eigsh's at most 1e-8; a matrix that has not converged is one that is not in order. `time`: the 8 smallest with
Jacobi's preconditioner, each solver from a random start until every residual is at most 1e-8 (|A| + lambda), |A| as bcsc
estimates it; the two take turns, and each one's best of --repeats counts, without plan, file or set-up of Jacobi. A rival
may have the block to itself or bcsc's guards as well, whichever is faster; guards need not converge in bcsc's, while a
rival waits for them. `true` is the largest residual of its 8 pairs, computed here. Exit status 1 if a row of the first
two is not in order, or --at-least is not reached in the geometric mean of the third. `poisson` needs the standard library
only, the others SciPy, and CuPy for --cupy. --slepc says how to start a Python that has slepc4py, by MPI on as many
processes as bcsc has threads (slepc_lobpcg.py).
"""

import argparse
import csv
import itertools
import json
import math
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time
import warnings

REAL = pathlib.Path(os.environ.get("BCSC_MATRICES", "no BCSC_MATRICES"))
SIDE, PAIRS = 64, 8
WORST_KNOWN, WORST_EIGSH, LARGEST_CONDITION = 1e-9, 1e-8, 1e7
RESIDUAL = 1e-8
TIMED = ["stencil7:64,64,64", "elasticity:12,12,12", "stencil5:300,300"]


def eigs(given, source, *arguments):
    """What `bcsc eigs` says, converged or not."""
    done = subprocess.run([given.program, "eigs", str(source), "--device", given.device, "--json", *map(str, arguments)],
                          capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{source}: {done.stderr or done.stdout}")
    return json.loads(done.stdout)


def relative_error(found, wanted):
    return max(abs(one / other - 1) for one, other in zip(found, wanted, strict=True))


def print_table(title, rows):
    print(f"\n{title}")
    if not rows:
        return
    texts = [list(rows[0])] + [[f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()]
                               for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts)]
    for line in texts:
        print("  ".join(text.ljust(width) if at == 0 else text.rjust(width)
                        for at, (text, width) in enumerate(zip(line, widths))), flush=True)


# --- What is known ----------------------------------------------------------------------------------------------------

def poisson(given):
    of_chain = [2 - 2 * math.cos(math.pi * i / (SIDE + 1)) for i in range(1, 9)]
    known = sorted(map(sum, itertools.product(of_chain, repeat=3)))[:17]
    rows = []
    for precondition in given.precondition:
        told = eigs(given, f"stencil7:{SIDE},{SIDE},{SIDE}", "-k", 17, "--precondition", precondition, "--max-iterations",
                    3000)
        error = relative_error(told["values"], known)
        rows.append({"matrix": f"poisson {SIDE}^3", "precondition": precondition, "reason": told["reason"],
                     "iterations": told["iterations"], "seconds": told["seconds"], "error": error,
                     "in order": "yes" if told["converged"] and error <= WORST_KNOWN else "NO"})
    print_table("17 smallest, against the analytic ones", rows)
    return rows


# --- Real matrices ----------------------------------------------------------------------------------------------------

def real_matrices(given):
    if given.matrices:
        yield from map(pathlib.Path, given.matrices)
    elif not (REAL / "index.csv").exists():
        print(f"\n{REAL} is not there: no real matrices")
    else:
        with open(REAL / "index.csv", newline="", encoding="utf-8") as file:
            yield from (REAL / row["file"] for row in csv.DictReader(file) if row["spd"] == "yes")


def symmetric(path):
    import scipy.io
    import scipy.sparse

    a = scipy.sparse.csr_matrix(scipy.io.mmread(path)).astype(float)
    a.sum_duplicates()
    return a


def real(given):
    import numpy
    import scipy.sparse.linalg

    rows = []
    for path in real_matrices(given):
        a = symmetric(path)
        if a.shape[0] > given.max_rows:
            continue
        # As accurate as it can be: one vector's Krylov space has the other copies of a multiple eigenvalue by rounding.
        wanted = numpy.sort(scipy.sparse.linalg.eigsh(a.tocsc(), k=2 * PAIRS, sigma=0, which="LM", tol=0,
                                                      return_eigenvectors=False))[:PAIRS]
        largest = scipy.sparse.linalg.eigsh(a, k=1, which="LA", tol=1e-4, return_eigenvectors=False)[0]
        if largest / wanted[0] > LARGEST_CONDITION:
            print(f"{path.name}: condition {largest / wanted[0]:.1e}, left out", flush=True)
            continue
        for precondition in given.precondition:
            told = eigs(given, path, "-k", PAIRS, "--precondition", precondition, "--residual", "eigenvalue", "--tolerance",
                        1e-6, "--max-iterations", 4000)
            error = relative_error(told["values"], wanted)
            rows.append({"matrix": path.name.split(".")[0], "rows": a.shape[0], "condition": float(largest / wanted[0]),
                         "precondition": precondition, "reason": told["reason"], "iterations": told["iterations"],
                         "seconds": told["seconds"], "error": error,
                         "in order": "yes" if told["converged"] and error <= WORST_EIGSH else "NO"})
    print_table("8 smallest, against eigsh with shift and invert", rows)
    return rows


# --- Time -------------------------------------------------------------------------------------------------------------

def rival_of(given):
    """Its name, arrays, lobpcg, csr_matrix, LinearOperator, and what waits for it."""
    if not given.cupy:
        import numpy
        import scipy
        import scipy.sparse.linalg as linalg
        return f"scipy {scipy.__version__}", numpy, linalg.lobpcg, scipy.sparse.csr_matrix, linalg.LinearOperator, lambda: None
    import cupy
    import cupyx.scipy.sparse
    import cupyx.scipy.sparse.linalg as linalg
    return (f"cupy {cupy.__version__}", cupy, linalg.lobpcg, cupyx.scipy.sparse.csr_matrix, linalg.LinearOperator,
            cupy.cuda.Device().synchronize)


def slepc_run(given, a, norm, block):
    """As rival_run(), in processes of its own."""
    import scipy.sparse

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "matrix.npz"
        scipy.sparse.save_npz(path, a, compressed=False)
        command = [*shlex.split(given.slepc), str(pathlib.Path(__file__).parent / "slepc_lobpcg.py"), str(path), "--pairs",
                   str(PAIRS), "--block", str(block), "--bound", repr(RESIDUAL * norm), "--max-iterations",
                   str(given.max_iterations)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        raise SystemExit(f"{given.slepc}: {done.stderr}")
    told = json.loads(done.stdout)
    given.rival = f"slepc {told['version']}, {told['processes']} processes"
    return told["seconds"], told["residual"] / norm if told["converged"] == PAIRS else math.inf


def rival_run(given, a, norm, block):
    """Seconds, and the largest residual of the 8 pairs."""
    if given.slepc:
        return slepc_run(given, a, norm, block)
    import numpy

    _, arrays, lobpcg, csr, operator, wait = rival_of(given)
    on_it = csr(a)
    inverse = arrays.asarray(1 / a.diagonal())[:, None]
    m = operator(a.shape, matvec=lambda r: inverse[:, 0] * r.ravel(), matmat=lambda r: inverse * r, dtype=float)
    x = arrays.asarray(numpy.random.default_rng(1).uniform(-1, 1, (a.shape[0], block)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where it has not converged, which `true` shows
        on_it @ x, wait()
        begin = time.perf_counter()
        values, vectors = lobpcg(on_it, x, M=m, tol=RESIDUAL * norm, maxiter=given.max_iterations, largest=False)[:2]
        wait()
        seconds = time.perf_counter() - begin
    if given.cupy:
        values, vectors = values.get(), vectors.get()
    order = numpy.argsort(values)[:PAIRS]
    values, vectors = values[order], vectors[:, order]
    lengths = numpy.linalg.norm(vectors, axis=0)
    residuals = numpy.linalg.norm(a @ vectors - vectors * values, axis=0) / (lengths * (norm + numpy.abs(values)))
    return seconds, float(numpy.max(residuals))


def timed(given):
    rows = []
    given.rival = "slepc" if given.slepc else rival_of(given)[0]
    with tempfile.TemporaryDirectory() as folder:
        for source in given.matrices or TIMED:
            path = pathlib.Path(source)
            if not path.exists():
                path = pathlib.Path(folder) / "generated.mtx"
                subprocess.run([given.program, "generate", source, path], check=True, stdout=subprocess.DEVNULL)
            a, ours, theirs = symmetric(path), [], {}
            for _ in range(given.repeats):
                told = eigs(given, path, "-k", PAIRS, "--precondition", "jacobi", "--tolerance", RESIDUAL,
                            "--max-iterations", given.max_iterations)
                ours.append(told["seconds"])
                for block in (PAIRS, told["block_size"]):
                    theirs.setdefault(block, []).append(rival_run(given, a, told["norm_a"], block))
            good = {block: runs for block, runs in theirs.items() if max(true for _, true in runs) <= 2 * RESIDUAL}
            block, runs = min((good or theirs).items(), key=lambda one: min(one[1]))
            rows.append({"matrix": source, "rows": a.shape[0], "reason": told["reason"], "iterations": told["iterations"],
                         "bcsc, s": min(ours), "rival": given.rival, "block": block, "rival, s": min(runs)[0],
                         "true": max(true for _, true in runs), "ratio": min(runs)[0] / min(ours),
                         "rival converged": "yes" if good else "NO"})
    print_table("8 smallest with Jacobi's preconditioner: time", rows)
    if rows:
        print(f"geometric mean of the ratios: {mean_ratio(rows):.2f}")
    return rows


def mean_ratio(rows):
    return math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="bcsc")
    parser.add_argument("--device", default="cpu")
    rival = parser.add_mutually_exclusive_group()
    rival.add_argument("--cupy", action="store_true", help="the rival in time is CuPy's LOBPCG")
    rival.add_argument("--slepc", metavar="COMMAND", help="the rival in time is SLEPc's LOBPCG")
    parser.add_argument("--only", choices=["poisson", "real", "time"], nargs="+", default=["poisson", "real", "time"])
    parser.add_argument("--precondition", nargs="+", default=["amg"], help="of `poisson` and `real` (default amg)")
    parser.add_argument("--matrices", nargs="+", help="files (for `time` also generated ones) instead of the usual")
    parser.add_argument("--max-rows", type=int, default=10**9, help="leave out larger real matrices")
    parser.add_argument("--max-iterations", type=int, default=2000, help="of `time`")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--at-least", type=float, default=0, help="the geometric mean of ratios that is asked for")
    parser.add_argument("--json", help="write the tables to this file")
    given = parser.parse_args()
    given.program = os.path.abspath(given.program)
    tables = {name: {"poisson": poisson, "real": real, "time": timed}[name](given) for name in given.only}
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps({"device": given.device, **tables}, indent=1) + "\n")
    wrong = sum(row["in order"] == "NO" for name in ("poisson", "real") for row in tables.get(name, []))
    too_slow = bool(tables.get("time")) and mean_ratio(tables["time"]) < given.at_least
    return 1 if wrong or too_slow else 0


if __name__ == "__main__":
    sys.exit(main())
