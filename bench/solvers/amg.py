#!/usr/bin/env python3
"""Conjugate gradients with smoothed aggregation against Jacobi's preconditioner: iterations, set-up, time, break-even.

    bench/solvers/amg.py --program BUILD/tools/bcsc/bcsc --device cuda --large --json amg.json
    v/bin/python bench/solvers/amg.py --program BUILD/tools/bcsc/bcsc --pyamg    # with PyAMG's count beside it

For Poisson's equation on 128 x 128 x 128 points (--large: 256 x 256 x 256 as well) and elasticity on 30 x 30 x 30 cells,
whose rigid-body modes the program knows; to a true relative residual of 1e-10 for a random b. The set-up is timed apart.
Break-even: the number of solves from which on AMG is faster, its set-up counted. The last columns are of 16 right-hand
sides at once. PyAMG gets the same matrix, near-nullspace vectors and degree of Chebyshev's smoother. Exit status 1 where
AMG does not converge or takes more than 20 (Poisson) or 22 (elasticity) iterations. Needs the standard library only, and
PyAMG and SciPy for --pyamg.
"""

import math
import os
import subprocess
import sys
import tempfile

from running import Runner, parser_of, print_table, random_vector

CASES = {"stencil7:128,128,128": 20, "elasticity:30,30,30": 22}
LARGE = {"stencil7:256,256,256": 20}


def rigid_body_modes(nx, ny, nz):
    """rows x 6 for elasticity:nx,ny,nz, whose nodes at x = 0 are held."""
    import numpy

    x, y, z = (axis.ravel().astype(float)
               for axis in numpy.meshgrid(range(1, nx + 1), range(ny + 1), range(nz + 1), indexing="ij"))
    modes = numpy.zeros((3 * x.size, 6))
    for axis in range(3):
        modes[axis::3, axis] = 1
    modes[0::3, 3], modes[1::3, 3] = -y, x
    modes[1::3, 4], modes[2::3, 4] = -z, y
    modes[0::3, 5], modes[2::3, 5] = z, -x
    return modes


def pyamg_count(program, system, degree, tolerance):
    """Iterations of PyAMG's smoothed aggregation as CG's preconditioner."""
    import numpy
    import pyamg
    import scipy.io
    import scipy.sparse.linalg

    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "a.mtx")
        subprocess.run([program, "generate", system, path], check=True, stdout=subprocess.DEVNULL)
        a = scipy.io.mmread(path).tocsr()
    options = {}
    if system.startswith("elasticity:"):
        sizes = [int(size) for size in system.split(":")[1].split(",")]
        a, options["B"] = a.tobsr((3, 3)), rigid_body_modes(*sizes)
    smoother = ("chebyshev", {"degree": degree, "iterations": 1})
    solver = pyamg.smoothed_aggregation_solver(a, presmoother=smoother, postsmoother=smoother, **options)
    b = numpy.frombuffer(random_vector(a.shape[0], 1), dtype=numpy.float64)
    count = 0

    def counted(_):
        nonlocal count
        count += 1

    scipy.sparse.linalg.cg(a, b, rtol=tolerance, atol=0, maxiter=500, M=solver.aspreconditioner(), callback=counted)
    return count


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--large", action="store_true", help="also 256 x 256 x 256")
    parser.add_argument("--rhs", type=int, default=16)
    parser.add_argument("--degree", type=int, default=3, help="of the smoother (default 3)")
    parser.add_argument("--pyamg", action="store_true", help="count PyAMG's iterations, too")
    parser.add_argument("--only", nargs="+", metavar="SPECIFICATION", help="these systems, also others")
    options = parser.parse_args()
    runner = Runner(options)
    most = {**CASES, **LARGE}
    rows, wrong = [], 0
    for system in options.only or {**CASES, **(LARGE if options.large else {})}:
        runs = {}
        for kind in ("jacobi", f"amg:degree={options.degree}"):
            for k in sorted({1, options.rhs}):
                runs[kind[:3], k] = runner.solve(system, "--b", "random", "--rhs", str(k), "--precondition", kind)
        jacobi, amg = runs["jac", 1], runs["amg", 1]
        wrong += not amg["converged"] or amg["iterations"] > most.get(system, math.inf)
        setup = amg["preconditioner"]["setup_seconds"]
        gain = jacobi["seconds"] - amg["seconds"]
        many = runs["amg", options.rhs]
        rows.append([system, jacobi["iterations"], amg["iterations"],
                     pyamg_count(options.program, system, options.degree, 1e-10) if options.pyamg else "-",
                     len(amg["preconditioner"]["levels"]), f"{amg['preconditioner']['operator_complexity']:.2f}",
                     f"{setup:.2f}", f"{jacobi['seconds']:.3f}", f"{amg['seconds']:.3f}",
                     f"{jacobi['seconds'] / amg['seconds']:.2f}", math.ceil(setup / gain) if gain > 0 else "never",
                     many["iterations"], f"{many['seconds'] / amg['seconds']:.2f}", amg["reason"]])
    print_table(["system", "Jacobi", "AMG", "PyAMG", "levels", "complexity", "set-up s", "Jacobi s", "AMG s", "speed-up",
                 "break-even", f"iterations, k = {options.rhs}", f"time of k = {options.rhs} over one's", "outcome"], rows)
    runner.finish()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
