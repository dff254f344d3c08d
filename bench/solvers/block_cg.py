#!/usr/bin/env python3
"""Block conjugate gradients against simultaneous ones, 16 random right-hand sides to a true relative residual of 1e-10.

    bench/solvers/block_cg.py --program BUILD/tools/bcsc/bcsc --device cuda --json block_cg.json

For Poisson's equation on 80 x 80 x 80 points and elasticity on 30 x 30 x 30 cells, with Jacobi's preconditioner: iterations,
products and time, the methods in turn and the fastest run of each. Exit status 1 where one does not converge, or block
iterations are more than 0.7 (Poisson) or 0.45 (elasticity) of simultaneous ones. Needs the standard library only.
"""

import sys

from running import Runner, parser_of, print_table

CASES = {"stencil7:80,80,80": 0.7, "elasticity:30,30,30": 0.45}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--rhs", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3, help="of which the fastest counts (default 3)")
    parser.add_argument("--only", nargs="+", metavar="SPECIFICATION", help="these systems, also others")
    options = parser.parse_args()
    runner = Runner(options)
    rows, wrong, shares = [], 0, {}
    for system in options.only or CASES:
        best = {}
        for _ in range(options.repeats):
            for method in ("cg", "block-cg"):
                run = runner.solve(system, "--rhs", str(options.rhs), "--b", "random", "--method", method)
                if method not in best or run["seconds"] < best[method]["seconds"]:
                    best[method] = run
        share = best["block-cg"]["iterations"] / best["cg"]["iterations"]
        shares[system] = share
        converged = all(run["converged"] for run in best.values())
        wrong += not converged or share > CASES.get(system, 1)
        for method, run in best.items():
            rows.append([system, method, run["iterations"], f"{run['iterations'] / best['cg']['iterations']:.3f}",
                         run["num_products"], f"{run['seconds']:.3f}",
                         f"{1e3 * run['seconds'] / max(1, run['iterations']):.3f}",
                         f"{best['cg']['seconds'] / run['seconds']:.2f}", f"{max(run['true_residual']):.1e}",
                         run["reason"]])
    print_table(["system", "method", "iterations", "share", "products", "seconds", "ms an iteration", "speed-up",
                 "largest true residual", "outcome"], rows)
    runner.finish(shares=shares)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
