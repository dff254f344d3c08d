#!/usr/bin/env python3
"""What is promised of odd N, misaligned operands and determinism, beside what bench/edges measured, as Markdown.

    bench/report/promises.py bench/results/nvidia-h200/edges.json.gz

Standard library only.
"""
import sys

from table import geometric_mean, markdown, read_run, where

LAYOUTS = {"row-major": "row-major", "col-major": "column-major"}


def parts_of(run, part):
    """[(matrix, type, layout, part)] of all cases."""
    return [(m["name"], c["type"], c["layout"], c[part]) for m in run["matrices"] for c in m["cases"]]


def count_above(values, promised):
    return f"{sum(v > promised for v in values)} of {len(values)}"


def odd_table(run, promised):
    """A line for each matrix, the steps of both layouts side by side."""
    cases = parts_of(run, "odd")
    rows = []
    for matrix in [m["name"] for m in run["matrices"]]:
        row = [matrix]
        for layout in LAYOUTS:
            steps = [s for name, _, at, odd in cases if (name, at) == (matrix, layout) for s in odd["steps"]]
            worst = max(steps, key=lambda s: s["ratio"])
            row += [count_above([s["ratio"] for s in steps], promised),
                    f"{worst['ratio']:.2f} ({worst['from']} to {worst['to']})"]
        rows.append(row)
    header = ["matrix"]
    for name in LAYOUTS.values():
        header += [f"{name}: steps above {promised}", "worst"]
    return markdown(header, rows)


def misaligned_table(run, promised):
    """A line for each layout and N: how many placings cost more than promised, and what each costs in the mean."""
    products = [(layout, p) for _, _, layout, some in parts_of(run, "misaligned") for p in some["products"]
                if p["placing"] != "packed"]
    placings = list(dict.fromkeys(p["placing"] for _, p in products))
    rows = []
    for layout, name in LAYOUTS.items():
        for n in sorted({p["cols"] for _, p in products}):
            some = [p for at, p in products if (at, p["cols"]) == (layout, n)]
            each = [geometric_mean([p["over_packed"] for p in some if p["placing"] == placing])
                    for placing in placings]
            over = [p["over_packed"] for p in some]
            rows.append([f"{name}, N = {n}", count_above(over, promised), *[f"{m:.2f}" for m in each],
                         f"{max(over):.2f}"])
    return markdown(["layout, N", f"above {promised}", *placings, "worst"], rows)


def deterministic_sentence(run):
    pairs = [p for _, _, _, part in parts_of(run, "deterministic") for p in part["products"]]
    same = sum(p["same_bits"] for p in pairs)
    others = [p["over_free"] for p in pairs if not p["same_kernel"]]
    cost = (f"in {len(others)} the plan takes another kernel, {max(others):.2f} times as long at worst" if others
            else "in none of them does the plan need another kernel than the free choice")
    return f"Deterministic plans: {same} of {len(pairs)} left the same bits in three products; {cost}."


def report(run):
    machine, summary = run["machine"], run["summary"]
    types = ", ".join(sorted({c["type"] for m in run["matrices"] for c in m["cases"]}))
    head = (f"{where(machine)}, {machine['git_hash']}, {machine['date'][:10]}, {types}, {len(run['matrices'])} matrices.")
    step, off = summary["promised_step"], summary["promised_misaligned"]
    return "\n\n".join([
        head,
        f"Odd N, promised t(N + 1) ≤ {step} t(N): **{summary['steps'] - summary['steps_above_promise']} of "
        f"{summary['steps']} steps keep it**; the worst is {summary['worst_step']['ratio']:.2f} "
        f"({summary['worst_step']['what']}).",
        odd_table(run, step),
        f"Misaligned, promised ≤ {off} times the packed product: "
        f"**{summary['misaligned'] - summary['misaligned_above_promise']} of {summary['misaligned']} keep it**; the worst "
        f"is {summary['worst_misaligned']['ratio']:.2f} ({summary['worst_misaligned']['what']}). The columns between are "
        "geometric means.",
        misaligned_table(run, off),
        deterministic_sentence(run)])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(report(read_run(sys.argv[1], "bcsc-edges-1", "bench/edges")))


if __name__ == "__main__":
    main()
