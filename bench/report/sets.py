#!/usr/bin/env python3
"""How the plan's own choice compares with the best cuSPARSE, by sets of matrices, as a Markdown table.

    bench/report/sets.py RESULTS...            # a line for each set, value type and layout
    bench/report/sets.py --brief RESULTS...    # the lines of README's table

RESULTS are files of `bcsc bench --out`, of one machine, one run of each set or three; a case that was measured again with
a later build counts as measured then. A ratio is the time of the fastest cuSPARSE entry (every
algorithm and block size that it was measured with, in the layout of the case) over the time of the plan, and an entry
counts if its result is within the bound of its type; where some are not, there is a column in which they count, too. There
is a column for each timing that a file holds, and one for the matrices that the choice was fitted to (seen), those left out of the
fit (unseen) and those that came later (fresh), as far as there are any: bench/report/fitted.py. Elasticity, bands,
stencils, networks and R-MAT are the generated matrices of bench/large.json, the fresh set is that of bench/fresh_set.py; the
others are real or pattern matrices. Standard library only.
"""
import argparse
import statistics
import sys

from fitted import KINDS, Fit
from table import fresh_family, geometric_mean, markdown, read_run

FAMILIES = {"elasticity": "elasticity, bands", "banded": "elasticity, bands", "uniform": "networks", "rmat": "R-MAT",
            "stencil5": "stencils", "stencil7": "stencils", "stencil9": "stencils", "stencil27": "stencils"}
ORDER = ["elasticity, bands", "stencils", "networks", "R-MAT", "real", "fresh set"]
WHERE = {"row-major": "", "col-major": ", column-major"}
TIMINGS = {"warm": "back to back", "single": "one at a time", "cold": "cold"}  # an entry's key: the column's name
ANY = "any accuracy"  # back to back, where a rival's inaccurate products count as well


def ratios(case, rival):
    """For each timing: the fastest of the rival over the plan, both in the layout of the case."""
    def fastest(group, timing, *status):
        return min((e[timing]["median"] for e in case["entries"]
                    if e["group"] == group and e["layout"] == case["layout"] and e["status"] in status and e.get(timing)),
                   default=None)
    found = {}
    for timing in TIMINGS:
        plan, best = fastest("plan", timing, "ok"), fastest(rival, timing, "ok")
        if plan and best:
            found[timing] = best / plan
    if "warm" in found:
        found[ANY] = fastest(rival, "warm", "ok", "inaccurate") / fastest("plan", "warm", "ok")
    return found


def family_of(matrix):
    if fresh_family(matrix):
        return "fresh set"
    return FAMILIES.get(matrix.split(":")[0]) if ":" in matrix else "real"


def cases_of(run, fit):
    for case in run["cases"]:
        matrix = case["matrix"]
        family = family_of(matrix)
        if case["ratio"] is None or family is None:
            continue
        yield {"measured": (run["machine"]["date"], run["machine"]["git_hash"]), "family": family,
               "type": "TF32" if run.get("compute") == "tf32" else case["type"], "cols": case["cols"],
               "matrix": matrix, "layout": case["layout"], "kind": fit.kind(matrix),
               "ratios": ratios(case, run["main_rival"])}


def name_of(case):
    return f"{case['matrix']}, N = {case['cols']}"


def combine(runs):
    """One case from one run of its set, or from three: the median of each timing's ratio (docs/benchmark.md). Of several
    builds the one that was measured last counts."""
    _, latest = max(run["measured"] for run in runs)
    runs = [run for run in runs if run["measured"][1] == latest]
    if len(runs) not in (1, 3):
        sys.exit(f"{name_of(runs[0])} {runs[0]['type']} stands in {len(runs)} of the files: a set has one run or three")
    timings = [t for t in [*TIMINGS, ANY] if all(t in r["ratios"] for r in runs)]
    return runs[0] | {"ratios": {t: statistics.median(r["ratios"][t] for r in runs) for t in timings}}


def read_cases(paths, fit):
    """All cases of all files, each once."""
    found = {}
    for path in paths:
        for case in cases_of(read_run(path), fit):
            found.setdefault((case["matrix"], case["cols"], case["type"], case["layout"]), []).append(case)
    return [combine(runs) for runs in found.values()]


def sets_of(cases):
    """[(name, cases)]: each set, value type and layout by itself."""
    found = []
    for layout, where in WHERE.items():
        for kind in sorted({c["type"] for c in cases}):
            some = [c for c in cases if c["type"] == kind and c["layout"] == layout]
            found += [(f"{family}, {kind}, N ≥ 32{where}",
                       [c for c in some if c["family"] == family and c["cols"] >= 32]) for family in ORDER]
            found.append((f"all, {kind}, N ≤ 16{where}", [c for c in some if c["cols"] <= 16]))
    return [(name, some) for name, some in [*found, ("all", cases)] if some]


def brief_sets_of(cases):
    """[(name, cases)]: fp32 by sets, all else by value type or layout. Each case is in one of them, and in the last."""
    row_major = [c for c in cases if c["layout"] == "row-major"]
    wide = [c for c in row_major if c["type"] == "fp32" and c["cols"] >= 32]
    found = [(f"{family}, fp32, N ≥ 32", [c for c in wide if c["family"] == family]) for family in ORDER]
    found.append(("all, fp32, N ≤ 16", [c for c in row_major if c["type"] == "fp32" and c["cols"] <= 16]))
    for kind in ["TF32", "fp64", "fp16", "bf16"]:
        some = [c for c in row_major if c["type"] == kind]
        families = {c["family"] for c in some}
        found.append((f"{families.pop() if len(families) == 1 else 'all'}, {kind}", some))
    found += [(f"all, {kind}, column-major", [c for c in cases if c["layout"] == "col-major" and c["type"] == kind])
              for kind in sorted({c["type"] for c in cases})]
    return [(name, some) for name, some in [*found, ("all", cases)] if some]


def mean(cases, timing="warm"):
    some = [c["ratios"][timing] for c in cases if timing in c["ratios"]]
    return f"{geometric_mean(some):.2f}" if some else "–"


def worst_of(cases, timing="warm"):
    return min((c for c in cases if timing in c["ratios"]), key=lambda c: c["ratios"][timing])


def table(sets):
    """The columns are those for which any case has something."""
    cases = [c for _, some in sets for c in some]
    timings = [t for t in TIMINGS if any(t in c["ratios"] for c in cases)]
    if any(c["ratios"][ANY] != c["ratios"]["warm"] for c in cases):
        timings.append(ANY)
    kinds = [k for k in KINDS if any(c["kind"] == k for c in cases)]
    rows = []
    for name, some in sets:
        worst = worst_of(some)
        slower = sum(c["ratios"]["warm"] < 1 for c in some)
        rows.append([name, str(len(some)), f"**{mean(some)}**", *[mean(some, t) for t in timings if t != "warm"],
                     *[mean([c for c in some if c["kind"] == k]) for k in kinds],
                     f"{worst['ratios']['warm']:.2f} ({name_of(worst)})", str(slower)])
    header = ["set, type, N", "cases", *[TIMINGS.get(t, t) for t in timings], *kinds, "worst", "slower"]
    return markdown(header, rows)


def floor_sentence(cases, floor=0.97, low=0.9):
    slow = sorted((c for c in cases if c["ratios"]["warm"] < low), key=lambda c: c["ratios"]["warm"])
    names = [f"{name_of(c)}{WHERE[c['layout']]} {c['type']} ({c['ratios']['warm']:.2f})" for c in slow[:20]]
    reached = sum(c["ratios"]["warm"] >= floor for c in cases)
    tf32 = (" TF32: the plan may round fp32 values to TF32; its rival is cuSPARSE in fp32."
            if any(c["type"] == "TF32" for c in cases) else "")
    return (f"At least {floor} times the best cuSPARSE: {reached} of {len(cases)} cases; below {low} times: {len(slow)}"
            f"{': ' if slow else ''}{', '.join(names)}{' ...' if len(slow) > 20 else ''}.{tf32}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="RESULTS", help="a JSON file of bcsc bench, .gz or not")
    parser.add_argument("--brief", action="store_true", help="the lines of README's table")
    options = parser.parse_args()
    cases = read_cases(options.files, Fit())
    if not cases:
        sys.exit("no case has both a plan and a rival")
    print(table((brief_sets_of if options.brief else sets_of)(cases)))
    print(f"\n{floor_sentence(cases)}")


if __name__ == "__main__":
    main()
