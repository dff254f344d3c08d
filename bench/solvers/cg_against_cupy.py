#!/usr/bin/env python3
"""What an iteration of CuPy's conjugate gradients takes, beside those that bench/cg_iterations has measured.

    BUILD/bench/cg_iterations stencil7:80,80,80 elasticity:30,30,30 --out ours.json
    bench/solvers/cg_against_cupy.py ours.json --program BUILD/tools/bcsc/bcsc --at-least 2 --json cupy.json

The same matrices, fp64, no preconditioner, on the same GPU: run it right after. As there, iterations are counted, not
solves: the time of a longer run less that of a shorter one, the median of a few. Files are looked for in $BCSC_MATRICES.
Exit status 1 where the geometric mean of the ratios is below --at-least. Needs CuPy and SciPy.
"""

import argparse
import inspect
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from running import print_table

REAL = pathlib.Path(os.environ.get("BCSC_MATRICES", "no BCSC_MATRICES"))


def loaded(program, source, folder):
    """The matrix in SciPy's CSR, by way of Matrix Market: a .npz would need libarchive there."""
    import scipy.io

    path = os.path.join(folder, "a.mtx")
    made = ["convert", str(REAL / source)] if (REAL / source).exists() else ["generate", source]
    subprocess.run([program, *made, path], check=True, stdout=subprocess.DEVNULL)
    return scipy.io.mmread(path).tocsr()


def seconds_an_iteration(matrix, first, second, samples):
    import cupy
    import cupyx.scipy.sparse
    from cupyx.scipy.sparse.linalg import cg

    a = cupyx.scipy.sparse.csr_matrix(matrix.astype("float64"))
    b = cupy.random.default_rng(1).uniform(-1, 1, a.shape[0])
    never = {"rtol" if "rtol" in inspect.signature(cg).parameters else "tol": 0.0, "atol": 0.0}

    def run(iterations):
        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        cg(a, b, maxiter=iterations, **never)
        cupy.cuda.Device().synchronize()
        return time.perf_counter() - begin

    run(first)
    return statistics.median((run(second) - run(first)) / (second - first) for _ in range(samples))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours", help="what bench/cg_iterations has written")
    parser.add_argument("--program", default="bcsc", help="the command-line program (default: bcsc of the PATH)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these of its matrices")
    parser.add_argument("--first", type=int, default=20, help="iterations of the shorter run (default 20)")
    parser.add_argument("--second", type=int, default=120, help="of the longer one (default 120)")
    parser.add_argument("--samples", type=int, default=5, help="pairs of runs (default 5)")
    parser.add_argument("--at-least", type=float, default=0, help="the geometric mean of ratios that is asked for")
    parser.add_argument("--json", help="write what was measured to this file")
    options = parser.parse_args()
    with open(options.ours, encoding="utf-8") as file:
        ours = json.load(file)
    points = []
    for point in ours["points"]:
        if options.only and point["name"] not in options.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            matrix = loaded(options.program, point["source"], folder)
        theirs = seconds_an_iteration(matrix, options.first, options.second, options.samples)
        points.append({"name": point["name"], "rows": point["rows"], "ours": point["ours"]["median"], "cupy": theirs,
                       "ratio": theirs / point["ours"]["median"]})
    print_table(["matrix", "rows", "bcsc, us an iteration", "CuPy", "ratio"],
                [[p["name"], p["rows"], f"{1e6 * p['ours']:.1f}", f"{1e6 * p['cupy']:.1f}", f"{p['ratio']:.2f}"]
                 for p in points])
    mean = math.exp(statistics.fmean(math.log(p["ratio"]) for p in points))
    import cupy
    print(f"\ngeometric mean of the ratios: {mean:.2f}; CuPy {cupy.__version__}, {ours['machine']['context']}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": ours["machine"], "cupy": cupy.__version__, "geometric_mean": mean, "points": points}, file,
                      indent=1)
    return 1 if mean < options.at_least else 0


if __name__ == "__main__":
    sys.exit(main())
