#!/usr/bin/env python3
"""How the plan's own choice compares with the best cuSPARSE, by sets of matrices, as a Markdown table.

    bench/report/sets.py RESULTS...

RESULTS are files of `bcsc bench --out`, of one machine. The ratio is the time of the fastest cuSPARSE entry (every
algorithm and BSR size that it was measured with, in the layout of the case) over the time of the plan. Elasticity, bands,
stencils, networks and R-MAT are the generated matrices of bench/large.json; the others are real or pattern matrices, those
with more than 20000 non-zeros. Standard library only.
"""
import sys

from table import geometric_mean, markdown, read_run

FAMILIES = {"elasticity": "elasticity, bands", "banded": "elasticity, bands", "uniform": "networks", "rmat": "R-MAT",
            "stencil5": "stencils", "stencil7": "stencils", "stencil9": "stencils", "stencil27": "stencils"}
LEAST_NNZ = 20000  # of a real matrix
WHERE = {"row-major": "", "col-major": ", column-major"}


def cases_of(run):
    sizes = {m["name"]: m["nnz"] for m in run["matrices"]}
    for case in run["cases"]:
        family = FAMILIES.get(case["matrix"].split(":")[0]) if ":" in case["matrix"] else "real"
        if case["ratio"] is None or family is None or (family == "real" and sizes[case["matrix"]] <= LEAST_NNZ):
            continue
        kind = "TF32" if run.get("compute") == "tf32" else case["type"]
        yield {"family": family, "type": kind, "cols": case["cols"], "ratio": case["ratio"],
               "cold": case.get("cold_ratio"), "name": f"{case['matrix']}, N = {case['cols']}", "layout": case["layout"]}


def line(what, some):
    ratios = [c["ratio"] for c in some]
    worst = min(some, key=lambda c: c["ratio"])
    cold = [c["cold"] for c in some if c["cold"]]
    share = 100 * sum(r < 1 for r in ratios) / len(ratios)
    return [what, str(len(some)), f"**{geometric_mean(ratios):.2f}**", f"{geometric_mean(cold):.2f}" if cold else "–",
            f"{worst['ratio']:.2f} ({worst['name']})", f"{share:.0f} %"]


def read_cases(paths):
    """All cases. One that stands twice would count twice: an error."""
    cases = {}
    for path in paths:
        for case in cases_of(read_run(path)):
            key = case["name"], case["type"], case["layout"]
            if key in cases:
                sys.exit(f"{path}: {case['name']} {case['type']} stands in another of the files, too")
            cases[key] = case
    return list(cases.values())


def main():
    cases = read_cases(sys.argv[1:])
    if not cases:
        sys.exit(__doc__)
    rows = []
    for layout, where in WHERE.items():
        for kind in sorted({c["type"] for c in cases}):
            of_kind = [c for c in cases if c["type"] == kind and c["layout"] == layout]
            for family in ["elasticity, bands", "stencils", "networks", "R-MAT", "real"]:
                some = [c for c in of_kind if c["family"] == family and c["cols"] >= 32]
                if some:
                    rows.append(line(f"{family}, {kind}, N ≥ 32{where}", some))
            small = [c for c in of_kind if c["cols"] <= 16]
            if small:
                rows.append(line(f"all, {kind}, N ≤ 16{where}", small))
    rows.append(line("all", cases))
    print(markdown(["set, type, N", "cases", "geometric mean", "cold", "worst", "slower"], rows))
    ratios = [c["ratio"] for c in cases]
    slow = sorted((c for c in cases if c["ratio"] < 0.9), key=lambda c: c["ratio"])
    names = [f"{c['name']}{WHERE[c['layout']]} {c['type']} ({c['ratio']:.2f})" for c in slow[:20]]
    print(f"\nAt least 0.97 times the best cuSPARSE: {100 * sum(r >= 0.97 for r in ratios) / len(ratios):.1f} % of "
          f"{len(ratios)} cases; below 0.9 times: {len(slow)}{': ' if slow else ''}{', '.join(names)}"
          f"{' ...' if len(slow) > 20 else ''}.")


if __name__ == "__main__":
    main()
