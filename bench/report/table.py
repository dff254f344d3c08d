#!/usr/bin/env python3
"""Turns a JSON file of `bcsc bench --out` into a short Markdown table: geometric means by class of pattern, then
selected cases, the worst losses among them.

    bench/report/table.py results.json.gz [--matrix NAME ...] [--rows 12] [--losses 5]

Standard library only.
"""

import argparse
import gzip
import json
import math
import sys
from collections import defaultdict


def read_run(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        run = json.load(file)
    if run.get("schema") != "bcsc-bench-1":
        sys.exit(f"{path}: schema = {run.get('schema')!r}: not a file of bcsc bench")
    return run


def geometric_mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios))


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(["---"] + ["---:"] * (len(header) - 1)) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def kinds_of(run):
    """The catalogue's kind where there is one, else the class of the pattern."""
    return {m["name"]: m["kind"] or m["pattern_class"] for m in run["matrices"]}


def means(run):
    """Geometric mean of plan / rival by kind (rows) and N (columns), with the losses counted."""
    kinds = kinds_of(run)
    widths = sorted({c["cols"] for c in run["cases"]})
    ratios = defaultdict(list)
    for case in run["cases"]:
        if case["ratio"] is None:
            continue
        for kind in (kinds[case["matrix"]], "all"):
            ratios[kind, case["cols"]].append(case["ratio"])
            ratios[kind, None].append(case["ratio"])
    rows = []
    for kind in sorted({k for k, _ in ratios} - {"all"}) + ["all"]:
        everything = ratios.get((kind, None))
        if not everything:
            continue
        cells = [f"{geometric_mean(ratios[kind, n]):.2f}" if ratios.get((kind, n)) else "-" for n in widths]
        losses = sum(r < 1 for r in everything)
        rows.append([kind, *cells, f"{min(everything):.2f}", f"{losses} of {len(everything)}"])
    return markdown(["kind", *[f"N = {n}" for n in widths], "worst", "losses"], rows)


def entry(case, name):
    return next((e for e in case["entries"] if e["name"] == name), None)


def case_row(case, several_types):
    plan = entry(case, "plan")
    rival = next(
        (e for e in case["entries"] if e["name"] == case["best_rival"] and e["layout"] == case["layout"]), None)
    dense = [e["gflops"] for e in case["entries"] if e["group"].startswith("cublas") and e["warm"]]
    payback = case["payback_products"]
    name = case["matrix"] + (f" {case['type']}" if several_types else "")
    return [
        name,
        str(case["cols"]),
        f"{plan['gflops']:.0f}",
        f"`{plan['kernel']}`",
        f"{rival['gflops']:.0f}" if rival else "-",
        f"{case['ratio']:.2f}" + (" (loss)" if case["ratio"] < 1 else ""),
        f"{case['cold_ratio']:.2f}" if case["cold_ratio"] is not None else "-",
        f"{100 * plan['roofline_share']:.0f} %",
        f"{max(dense):.0f}" if dense else "-",
        "never" if payback is None else str(payback),
    ]


def select(run, names, count, losses):
    """The named matrices, or cases spread evenly over the ratios; the worst losses in any event."""
    cases = [c for c in run["cases"] if c["ratio"] is not None and entry(c, "plan")]
    ranked = sorted(cases, key=lambda c: c["ratio"])
    if names:
        chosen = [c for c in cases if c["matrix"] in names]
    else:
        step = max(1, (len(ranked) - 1) / max(1, count - 1))
        chosen = [ranked[round(i * step)] for i in range(min(count, len(ranked)))]
    chosen += [c for c in ranked[:losses] if c["ratio"] < 1]
    unique = {(c["matrix"], c["cols"], c["type"], c["layout"]): c for c in chosen}
    return sorted(unique.values(), key=lambda c: (c["matrix"], c["type"], c["cols"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--matrix", action="append", default=[], help="show this matrix (may be repeated)")
    parser.add_argument("--rows", type=int, default=12, help="cases shown when no matrix is named")
    parser.add_argument("--losses", type=int, default=5, help="of the worst losses, so many are shown in any event")
    options = parser.parse_args()
    run = read_run(options.file)
    machine = run["machine"]
    where = machine["gpu_name"] or f"{machine['cpu_model']}, {machine['threads']} threads"
    versions = ", ".join(f"{name} {version}" for name, version in sorted(machine["versions"].items()))
    print(f"{where}; bcsc {machine['library_version']} ({machine['git_hash']}); {versions}; {machine['date'][:10]}. "
          f"Copy bandwidth {machine['copy_bandwidth'] / 1e9:.0f} GB/s.\n")
    rival = run["main_rival"] or "no rival"
    if not any(c["ratio"] is not None for c in run["cases"]):
        sys.exit(f"{options.file}: no case has both a plan and {rival}")
    print(f"Speed of the plan's choice over the best of {rival} in the same layout, warm, geometric means "
          "(above 1: bcsc is faster):\n")
    print(means(run) + "\n")
    several_types = len({c["type"] for c in run["cases"]}) > 1
    header = ["matrix", "N", "bcsc GFLOP/s", "kernel", f"{rival} GFLOP/s", "ratio", "cold", "of the roofline",
              "dense GFLOP/s", "pays after"]
    rows = [case_row(c, several_types) for c in select(run, options.matrix, options.rows, options.losses)]
    print(markdown(header, rows))
    failures = run["summary"]["failures"]
    if failures:
        print(f"\n**{failures} failures**: see the file.")


if __name__ == "__main__":
    main()
