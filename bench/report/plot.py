#!/usr/bin/env python3
"""Draws a JSON file of `bcsc bench --out` as a roofline picture: arithmetic intensity against GFLOP/s, the plan beside
the best rival, under the measured bandwidth and the computed peak. Needs matplotlib.

    bench/report/plot.py results.json.gz roofline.png [--type fp32]
"""

import argparse
import sys

from table import read_run


def points(run, value_type):
    """[(intensity, plan GFLOP/s, rival GFLOP/s or None, N)]: the same bytes as the roofline of the bench."""
    value_bytes = {"fp32": 4, "fp64": 8, "fp16": 2, "bf16": 2}[value_type]
    matrices = {m["name"]: m for m in run["matrices"]}
    found = []
    for case in run["cases"]:
        plan = next((e for e in case["entries"] if e["name"] == "plan" and e["warm"]), None)
        if case["type"] != value_type or plan is None:
            continue
        rival = next((e for e in case["entries"]
                      if e["name"] == case["best_rival"] and e["layout"] == case["layout"]), None)
        m, n = matrices[case["matrix"]], case["cols"]
        moved = (m["rows"] + 1) * 4 + m["nnz"] * (4 + value_bytes) + (m["rows"] + m["cols"]) * n * value_bytes
        found.append((2 * m["nnz"] * n / moved, plan["gflops"], rival["gflops"] if rival else None, n))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("picture")
    parser.add_argument("--type", default="fp32", choices=["fp32", "fp64", "fp16", "bf16"])
    options = parser.parse_args()
    try:
        import matplotlib
    except ImportError:
        sys.exit("plot.py needs matplotlib; table.py does without")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    run = read_run(options.file)
    found = points(run, options.type)
    if not found:
        sys.exit(f"{options.file}: no {options.type} case with a plan that was timed")
    figure, axes = plt.subplots(figsize=(8, 5.5))
    low, high = min(p[0] for p in found) / 2, max(p[0] for p in found) * 2
    bandwidth = run["machine"]["copy_bandwidth"] * 1e-9
    peak = run["machine"].get("peak_" + options.type, 0) * 1e-9
    steps = [low * (high / low) ** (i / 200) for i in range(201)]
    roof = [min(bandwidth * x, peak) if peak > 0 else bandwidth * x for x in steps]
    axes.loglog(steps, roof, color="black", linewidth=1, label=f"roofline: {bandwidth:.0f} GB/s copy")
    rivals = [(x, r) for x, _, r, _ in found if r]
    axes.scatter(*zip(*rivals) if rivals else ([], []), s=18, facecolors="none", edgecolors="gray",
                 label=run["main_rival"])
    widths = sorted({p[3] for p in found})
    for i, n in enumerate(widths):
        some = [p for p in found if p[3] == n]
        axes.scatter([p[0] for p in some], [p[1] for p in some], s=18, color=plt.cm.viridis(i / max(1, len(widths))),
                     label=f"bcsc, N = {n}")
    axes.set_xlabel("flop per byte, every operand moved once")
    axes.set_ylabel("GFLOP/s on true non-zeros, warm")
    axes.set_title(f"SpMM, {options.type}, {run['machine']['gpu_name'] or run['machine']['cpu_model']}")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(options.picture, dpi=150)


if __name__ == "__main__":
    main()
