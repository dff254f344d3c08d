#!/usr/bin/env python3
"""Conjugate gradients in less precision: runs bench/precisions and makes tables in Markdown of what it finds, and a map.

    bench/solvers/precisions.py variants --program BUILD/bench/precisions --json variants.json
    bench/solvers/precisions.py conditions --program BUILD/bench/precisions --json conditions.json --picture map.png
    bench/solvers/precisions.py all --program BUILD/bench/precisions --device cuda --json all.json --picture map.png
    bench/solvers/precisions.py all --from all.json --picture map.png       # of an earlier run

variants: the system of a least-squares support vector machine, 4096 x 1024 points, in every precision, beta and correction,
by products with X and X' that are rounded; then with its matrix Q formed and rounded, and with the recurrence as the only
witness. conditions: dense matrices of condition 10^2 to 10^9. On a CPU, TF32 and 3xTF32 are emulated. What follows after
-- goes to the program. Exit status 1 where refine:0.1 with X and X' does not reach the tolerance, or takes more than 4
(TF32) or 2.8 (fp32, 3xTF32) times the iterations of fp64. Needs matplotlib for --picture.
"""

import argparse
import gzip
import json
import shlex
import subprocess
import sys
import tempfile

from running import print_table

PARTS = {"variants": ["recurrence", "variants", "formed"], "conditions": ["conditions"]}
PARTS["all"] = PARTS["variants"] + PARTS["conditions"]
MOST = {"tf32": 4, "fp32": 2.8, "3xtf32": 2.8}  # times the iterations of fp64
COLOURS = {"converged": "#b5dfb0", "max_iterations": "#fbe9a8", "stagnated": "#f4b183", "not_positive_definite": "#d896b9",
           "inconsistent": "#c5b3e0", "not_finite": "#9a9a9a"}
GIVEN = {"b": "random signs as b", "x": "random signs as x, b = A x"}


def measured(options, scratch):
    """The JSON object of the program, run here or earlier."""
    path = options.source or options.json or f"{scratch}/precisions.json"
    if not options.source:
        command = [options.program, "--device", options.device, "--only", ",".join(PARTS[options.part]), "--out", path,
                   *options.rest]
        print("running", shlex.join(command), file=sys.stderr)
        status = subprocess.run(command, stdout=sys.stderr, check=False).returncode
        if status != 0:
            sys.exit(status)
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        run = json.load(file)
    for formed in run.get("formed", []):
        if "least_ritz_value" in formed:  # as files of November 24, 2026 have it
            formed["min_ritz_value"] = formed.pop("least_ritz_value")
    return run


def scientific(value):
    return "not finite" if value is None else f"{value:.1e}"


def print_variants(run):
    system = run["system"]
    columns = "" if system.get("rhs", 1) == 1 else f", {system['rhs']} right-hand sides"
    print(f"\n## X (X'v) + v, X {system['points']} x {system['features']}{columns}, to {system['tolerance']:g}\n")
    of_fp64 = run["variants"][0]["iterations"]
    print_table(["inner", "beta", "correction", "iterations", "/ fp64", "products", "ms", "recurrence", "true", "outcome"],
                [[v["precision"], v["beta"], v["correction"], v["iterations"], f"{v['iterations'] / of_fp64:.2f}",
                  v["products"], f"{1e3 * v['seconds']:.2f}", scientific(v["recurrence_residual"]), scientific(v["true_residual"]), v["reason"]]
                 for v in run["variants"]])
    print_how(run["variants"])


def print_formed(run):
    print("\n## Q = X X' + I formed, then rounded\n")
    smallest = [v["min_ritz_value"] for v in run["formed"]]
    print_table(["inner", "correction", "iterations", "recurrence", "true", "outcome", "smallest Ritz value of Q so rounded"],
                [[v["precision"], v["correction"], v["iterations"], scientific(v["recurrence_residual"]),
                  scientific(v["true_residual"]), v["reason"], ritz.get("why") or f"{ritz['value']:.4g}"]
                 for v, ritz in zip(run["formed"], smallest)])
    print_how(run["formed"])


def print_recurrence(run):
    print("\n## Stopped by the recurrence at r'r <= 1e-6 or after 500 steps, TF32 emulated\n")
    print_table(["correction", "steps", "r'r", "true r'r"],
                [[v["correction"], v["iterations"], scientific(v["rr"]), scientific(v["true_rr"])]
                 for v in run["recurrence"]])


def print_how(rows):
    print()
    for precision, how in dict.fromkeys((v["precision"], v["how"]) for v in rows):
        if how != precision:
            print(f"- {precision}: {how}")


def mark(case):
    """What a cell of the map says: iterations, or the true residual where they ended."""
    if case["reason"] == "converged":
        return str(case["iterations"])
    return "Inf" if case["true_residual"] is None else f"{case['true_residual']:.0e}".replace("e-0", "e-").replace("e+0", "e")


def grid(run, given):
    """Conditions, labels of rows, and {(row, condition): case}."""
    cases = [c for c in run["conditions"] if c["given"] == given]
    rows = list(dict.fromkeys((c["precision"], c["correction"]) for c in cases))
    return (sorted({c["condition"] for c in cases}), rows,
            {((c["precision"], c["correction"]), c["condition"]): c for c in cases})


def print_conditions(run):
    system = run["system"]
    for given, text in GIVEN.items():
        conditions, rows, cases = grid(run, given)
        print(f"\n## Order {system['order']}, {text}: iterations to {system['tolerance']:g}, or true residual and why not\n")
        print_table(["inner", "correction", *(f"{c:.0e}".replace("e+0", "e") for c in conditions)],
                    [[*row, *(mark(cases[row, c]) + ("" if cases[row, c]["reason"] == "converged"
                                                    else f" ({cases[row, c]['reason']})") for c in conditions)]
                     for row in rows])
    print_how(run["conditions"])


def draw(run, picture):
    """The map: a cell for each precision, correction and condition, green where it converged."""
    try:
        import matplotlib
    except ImportError:
        sys.exit("--picture needs matplotlib; the tables do without")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch, Rectangle

    figure, both = plt.subplots(1, 2, figsize=(13, 7), sharey=True)
    for axes, (given, text) in zip(both, GIVEN.items()):
        conditions, rows, cases = grid(run, given)
        for y, row in enumerate(rows):
            for x, condition in enumerate(conditions):
                case = cases[row, condition]
                axes.add_patch(Rectangle((x, y), 1, 1, facecolor=COLOURS[case["reason"]], edgecolor="white"))
                axes.text(x + 0.5, y + 0.5, mark(case), ha="center", va="center", fontsize=7.5)
            if y > 0 and rows[y - 1][0] != row[0]:
                axes.axhline(y, color="black", linewidth=1)
        axes.set_xlim(0, len(conditions))
        axes.set_ylim(len(rows), 0)
        axes.set_xticks([x + 0.5 for x in range(len(conditions))], [f"$10^{{{len(f'{c:.0f}') - 1}}}$" for c in conditions])
        axes.set_yticks([y + 0.5 for y in range(len(rows))], [" ".join(row) for row in rows], family="monospace", fontsize=8)
        axes.tick_params(length=0)
        axes.set_xlabel("condition of A")
        axes.set_title(text, fontsize=10)
    seen = {c["reason"] for c in run["conditions"]}
    figure.legend(handles=[Patch(color=colour, label=reason) for reason, colour in COLOURS.items() if reason in seen],
                  loc="lower center", ncols=len(COLOURS), fontsize=8, frameon=False)
    machine, system = run["machine"], run["system"]
    emulated = ", TF32 emulated" if machine["backend"] == "cpu" else ""
    figure.suptitle(f"CG to a true relative residual of {system['tolerance']:g}, order {system['order']}: iterations, or the "
                    f"true residual where it ended\n{machine['gpu_name'] or machine['cpu_model']}{emulated}, commit "
                    f"{machine['git_hash']}", fontsize=10)
    figure.tight_layout(rect=(0, 0.035, 1, 1))
    figure.savefig(picture, dpi=110)


def broken_promises(run):
    """Of refine:0.1 with products by X and X'."""
    of_fp64 = run["variants"][0]["iterations"]
    for v in run["variants"]:
        if v["correction"] == "refine:0.1" and v["beta"] == "fr" and v["precision"] in MOST:
            share = v["iterations"] / of_fp64
            if v["reason"] != "converged" or share > MOST[v["precision"]]:
                yield f"{v['precision']}, refine:0.1: {v['reason']}, {share:.2f} times the iterations of fp64"


def main():
    arguments = sys.argv[1:]
    own = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--program", default="precisions", help="bench/precisions of a build (default: that of the PATH)")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="where it computes (default cpu)")
    parser.add_argument("--json", help="write everything that was measured to this file")
    parser.add_argument("--from", dest="source", metavar="FILE", help="what an earlier run has written, instead of a run")
    parser.add_argument("--picture", help="draw the map of conditions to this file")
    options = parser.parse_args(arguments[:own])
    options.rest = arguments[own + 1:]
    with tempfile.TemporaryDirectory() as scratch:
        run = measured(options, scratch)
    printers = {"recurrence": print_recurrence, "variants": print_variants, "formed": print_formed,
                "conditions": print_conditions}
    for part in PARTS[options.part]:
        if part not in run:
            sys.exit(f"{options.source}: has no {part}")
        printers[part](run)
    machine = run["machine"]
    print(f"\nbcsc {machine['library_version']}, commit {machine['git_hash']}, {machine['date']}; {machine['context']}; "
          f"compiled by {machine['compiler']}")
    if options.picture:
        if "conditions" not in run:
            sys.exit("--picture is of the part conditions")
        draw(run, options.picture)
    broken = list(broken_promises(run)) if "variants" in run else []
    for promise in broken:
        print("not kept:", promise)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
