#!/usr/bin/env python3
"""Iterations of `bcsc solve` against SciPy's conjugate gradients, on every real matrix that is known to be SPD.

    bench/solvers/against_scipy.py --program BUILD/tools/bcsc/bcsc --device cuda
    python3 -m venv v && v/bin/pip install scipy                            # for counts that scipy_counts.json lacks
    v/bin/python bench/solvers/against_scipy.py --program BUILD/tools/bcsc/bcsc

The matrices are those of $BCSC_MATRICES whose index says so; without that folder it says so and ends well. Both solve
to a relative residual of 1e-10, for the same random b, plain and with Jacobi's preconditioner, each by its own rules: SciPy
ends where its recurrence says so, bcsc where the true residual does. A row is in order if bcsc has converged, or says why
not, and its iterations up to the first true residual are within 5 % or 3 of SciPy's. Rounding makes counts differ where A
is so ill-conditioned that the recurrence loses its orthogonality long before the end; such rows are shown all the same.
SciPy's counts are kept in the file --counts names and taken from there. Exit status 1 if a row is not in order. Needs the
standard library only, and SciPy for counts that are not there yet: without it a row that lacks one is not in order.
"""

import csv
import importlib.util
import json
import math
import os
import pathlib
import sys
import tempfile

from running import Runner, parser_of, print_table, random_vector, write_npy

REAL = pathlib.Path(os.environ.get("BCSC_MATRICES", "no BCSC_MATRICES"))
COUNTS = pathlib.Path(__file__).with_name("scipy_counts.json")
TOLERANCE = 1e-10


def spd_matrices(folder):
    """Name, path and size."""
    with open(folder / "index.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["spd"] == "yes":
                yield row["name"], folder / row["file"], int(row["rows"])


def scipy_count(path, b, kind, most):
    """[iterations, true relative residual]; the iterations are negative if there was no convergence."""
    import numpy
    import scipy.io
    import scipy.sparse.linalg

    a = scipy.io.mmread(path).tocsr()
    b = numpy.frombuffer(b, dtype=numpy.float64)
    m = None
    if kind == "jacobi":
        inverse = 1 / a.diagonal()
        m = scipy.sparse.linalg.LinearOperator(a.shape, matvec=lambda r: inverse * r.ravel())
    count = 0

    def counted(_):
        nonlocal count
        count += 1

    x, failed = scipy.sparse.linalg.cg(a, b, rtol=TOLERANCE, atol=0, maxiter=most, M=m, callback=counted)
    residual = float(numpy.linalg.norm(b - a @ x) / numpy.linalg.norm(b))
    return [-count if failed else count, residual]


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--matrices", type=pathlib.Path, default=REAL, help="folder with index.csv")
    parser.add_argument("--counts", default=COUNTS, help=f"where SciPy's counts are kept (default {COUNTS.name} beside this)")
    parser.add_argument("--max-iterations", type=int, default=20000)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these matrices")
    options = parser.parse_args()
    if not (options.matrices / "index.csv").exists():
        print(f"skipped: no real matrices in {options.matrices}")
        return 0
    counts = {}
    if os.path.exists(options.counts):
        with open(options.counts, encoding="utf-8") as file:
            counts = json.load(file)
    has_scipy = importlib.util.find_spec("scipy") is not None
    runner = Runner(options)
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, path, size in spd_matrices(options.matrices):
            if options.only and name not in options.only:
                continue
            b = random_vector(size, 1)
            right_hand_side = os.path.join(scratch, name + ".npy")
            write_npy(right_hand_side, b)
            for kind in ("none", "jacobi"):
                key = f"{name} {kind} {TOLERANCE} {options.max_iterations}"
                if key not in counts and has_scipy:
                    counts[key] = scipy_count(path, b, kind, options.max_iterations)
                    with open(options.counts, "w", encoding="utf-8") as file:
                        json.dump(counts, file, indent=1)
                theirs, their_residual = counts.get(key, (None, math.nan))
                run = runner.solve(str(path), "--b", right_hand_side, "--precondition", kind, "--tolerance",
                                   str(TOLERANCE), "--max-iterations", str(options.max_iterations), scipy=counts.get(key))
                first = next((i for i, r in enumerate(run["history"]) if r <= TOLERANCE), run["iterations"])
                near = theirs is not None and abs(first - abs(theirs)) <= max(3, 0.05 * abs(theirs))
                honest = run["converged"] == (run["true_residual"][0] <= TOLERANCE)
                in_order = honest and (near or (theirs is not None and theirs < 0 and not run["converged"]))
                wrong += not in_order
                shown = "-" if theirs is None else f"{abs(theirs)}{'' if theirs > 0 else ' (no)'}"
                rows.append([name, size, kind, shown, f"{their_residual:.1e}",
                             first, run["iterations"], f"{run['true_residual'][0]:.1e}", run["reason"],
                             "yes" if in_order else "NO"])
    print_table(["matrix", "rows", "preconditioner", "SciPy", "its true residual", "bcsc to its first true residual",
                 "in all", "true residual", "outcome", "in order"], rows)
    runner.finish(scipy=counts, not_in_order=wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
