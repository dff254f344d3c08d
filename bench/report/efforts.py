#!/usr/bin/env python3
"""What each effort's choice costs over the best config, and how often it is behind the best rival, as Markdown tables.

    bench/report/efforts.py bench/results/nvidia-h200/efforts.json.gz

The file is one of bench/efforts. Matrices that the choice was fitted to (seen), those left out of the fit (unseen) and
those that came later (fresh) have lines of their own: bench/report/fitted.py. Standard library only.
"""
import statistics
import sys

from fitted import KINDS, Fit
from sets import TIMINGS
from table import geometric_mean, markdown, read_run

EFFORTS = ["predict", "check", "search"]


def cases_of(run, kind_of):
    """[(kind of matrix, "matrix, N = 8 fp32", case)]"""
    return [(kind_of(m["name"]), f"{m['name']}, N = {c['cols']} {c['type']}", c) for m in run["matrices"] for c in m["cases"]]


def lines(cases, cells):
    """A line for each effort and kind of matrix, and for all kinds together."""
    kinds = [k for k in KINDS if any(kind == k for kind, _, _ in cases)]
    groups = [[k] for k in kinds] + ([kinds] if len(kinds) > 1 else [])
    for effort in EFFORTS:
        for group in groups:
            some = [(name, one, case) for kind, name, case in cases if kind in group
                    for one in case["efforts"] if one["effort"] == effort]
            found = cells(some)
            if found:
                yield [f"`{effort}`, {' and '.join(group)}", *found]


def percent(values, keep):
    return f"{100 * sum(map(keep, values)) / len(values):.1f} %"


def over_best(some):
    rated = [(one["over_best"], name, one) for name, one, _ in some if "over_best" in one]
    if not rated:
        return None
    ratios = [r for r, _, _ in rated]
    worst, where, _ = max(rated, key=lambda r: r[0])
    timed = [one["trial_seconds"] for _, _, one in rated if one["tried"]]
    setup = [one["trial_setup_seconds"] for _, _, one in rated if one["tried"]]
    cost = ["–", "–"]
    if timed:
        cost = [f"{1e3 * statistics.median(timed):.1f}, {1e3 * max(timed):.1f}", f"{1e3 * statistics.median(setup):.1f}"]
    return [str(len(rated)), f"{geometric_mean(ratios):.3f}", percent(ratios, lambda r: r <= 1.1), f"{worst:.2f} ({where})",
            *cost]


def against_rival(timing):
    def cells(some):
        gains = [(one[f"{timing}_ratio"], name) for name, one, _ in some if f"{timing}_ratio" in one]
        if not gains:
            return None
        values = [g for g, _ in gains]
        worst, where = min(gains)
        return [str(len(values)), f"{geometric_mean(values):.2f}", percent(values, lambda g: g >= 0.97),
                percent(values, lambda g: g >= 0.9), f"{worst:.2f} ({where})"]
    return cells


def remembering(run):
    """How much longer a remembered plan takes to make than a predicted one, and than one whose kernel is named."""
    rows = []
    for space in ["host", "device"]:
        found = [h[space] for m in run["matrices"] for h in m["remembering"] if h.get(space, {}).get("remembered")]
        if not found:
            continue
        row = [f"A on the {space}", str(len(found))]
        for beside in ["predict_seconds", "by_name_seconds"]:
            more = [1e3 * (f["remembered_seconds"] - f[beside]) for f in found]
            row += [f"{statistics.median(more):.2f}, {max(more):.2f}", percent(more, lambda ms: ms <= 1)]
        rows.append(row)
    return markdown(["", "plans", "ms more than predicted: median, most", "at most 1 ms", "ms more than the same kernel by name",
                     "at most 1 ms"], rows) if rows else None


def tables(run, kind_of):
    cases = cases_of(run, kind_of)
    found = [markdown(["effort, matrices", "cases", "over the best", "within 10 %", "worst", "timing, ms: median, most",
                       "set-up, ms"], list(lines(cases, over_best)))]
    for timing, name in TIMINGS.items():
        rows = list(lines(cases, against_rival(timing)))
        if rows:
            found.append(f"Against the fastest {run['main_rival']}, {name}:\n\n" + markdown(
                ["effort, matrices", "cases", "its time over ours", "at least 0.97", "at least 0.9", "worst"], rows))
    told = remembering(run)
    return [*found, *([told] if told else [])]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    run = read_run(sys.argv[1], "bcsc-efforts-1", "bench/efforts")
    print("\n\n".join(tables(run, Fit().kind)))


if __name__ == "__main__":
    main()
