#!/usr/bin/env python3
"""From how many zeros on a sparse product pays: the plan beside cuBLAS on the same matrix made dense, as a Markdown table.

    bench/report/dense.py bench/results/nvidia-h200/plan-*.json.gz

Over the generated networks (uniform:...), by their share of zeros: the time of cuBLAS over the plan's, below 1 dense is
faster. Standard library only.
"""
import sys

from table import geometric_mean, markdown, read_run


def ratios(runs):
    """{(entry of cuBLAS, N): {zeros: [ratio]}} of row-major networks that were timed both ways, each as it was last."""
    last = {}
    for run in sorted(runs, key=lambda run: run["machine"]["date"]):
        zeros = {m["name"]: 1 - m["nnz"] / (m["rows"] * m["cols"]) for m in run["matrices"]}
        for case in run["cases"]:
            timed = [e for e in case["entries"] if e["status"] == "ok" and e["warm"] and e["layout"] == case["layout"]]
            plan = next((e for e in timed if e["group"] == "plan"), None)
            if not case["matrix"].startswith("uniform:") or case["layout"] != "row-major" or plan is None:
                continue
            for entry in timed:
                if entry["group"].startswith("cublas"):
                    last[entry["name"], case["cols"], round(100 * zeros[case["matrix"]]), case["matrix"]] = (
                        entry["warm"]["median"] / plan["warm"]["median"])
    found = {}
    for (name, cols, percent, _), ratio in last.items():
        found.setdefault((name, cols), {}).setdefault(percent, []).append(ratio)
    return found


def table(runs, widths=(32, 128, 512)):
    found = {key: cells for key, cells in ratios(runs).items() if key[1] in widths}
    columns = sorted({zeros for cells in found.values() for zeros in cells})
    rows = [[f"{name.replace('cublas-', '').replace('tf', 'TF')}, N = {n}",
             *[f"{geometric_mean(cells[z]):.2f}" if z in cells else "–" for z in columns]]
            for (name, n), cells in sorted(found.items())]
    return markdown(["dense in", *[f"{z} % zeros" for z in columns]], rows)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(table([read_run(path) for path in sys.argv[1:]]))


if __name__ == "__main__":
    main()
