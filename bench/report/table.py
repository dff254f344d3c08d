#!/usr/bin/env python3
"""Turns JSON files of `bcsc bench --out` into a report in Markdown: how the plan's choice compares with the best rival for
each value type and N, over all matrices; then selected cases, wins and losses alike.

    bench/report/table.py RESULTS...                    # prints it
    bench/report/table.py --into REPORT.md RESULTS...   # replaces what stands between the two markers in the file

The markers are <!-- figures --> and <!-- /figures -->. Several files are one report: they must come from one kind of
machine, and of a case that stands in more than one of them the last counts. Standard library only.
"""

import argparse
import gzip
import json
import math
import os
import re
import sys
import tempfile

OPENING, CLOSING = "<!-- figures -->", "<!-- /figures -->"


def read_run(path, schema="bcsc-bench-1", program="bcsc bench"):
    """One results file of a program, gzipped or not (told by its first bytes, not by its name)."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    run = json.loads(data)
    if run.get("schema") != schema:
        sys.exit(f"{path}: schema = {run.get('schema')!r}: not a file of {program}")
    return run


def where(machine):
    return machine["gpu_name"] or f"{machine['cpu_model']}, {machine['threads']} threads"


def merge(paths):
    """The runs, and their cases without doubles."""
    runs = [read_run(path) for path in paths]
    for path, run in zip(paths, runs):
        for what, mine, first in [("machine", where(run["machine"]), where(runs[0]["machine"])),
                                  ("main_rival", run["main_rival"], runs[0]["main_rival"])]:
            if mine != first:
                sys.exit(f"{path}: {what} = {mine!r}: {paths[0]} has {first!r}; one report, one machine")
    cases = {(c["matrix"], c["type"], c["layout"], c["cols"]): c for run in runs for c in run["cases"]}
    return runs, list(cases.values())


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def markdown(header, rows, left=1):
    """A table; the first `left` columns are text, the others numbers."""
    rule = "|" + "|".join(["---"] * left + ["---:"] * (len(header) - left)) + "|"
    return "\n".join("| " + " | ".join(row) + " |" if row else rule for row in [header, None, *rows])


def comparison(name, cases):
    """One line of means: the plan against the best rival over these cases."""
    worst = min(cases, key=lambda c: c["ratio"])
    losses = sum(c["ratio"] < 1 for c in cases)
    return [*name, str(len(cases)), f"**{mean_of(cases, 'ratio')}**", mean_of(cases, "single_ratio"),
            mean_of(cases, "cold_ratio"), f"{worst['ratio']:.2f} ({worst['matrix']})",
            f"{100 * losses / len(cases):.0f} %"]


def mean_of(cases, ratio):
    """Over the cases that have it: older files know nothing of products one at a time."""
    some = [c[ratio] for c in cases if c.get(ratio) is not None]
    return f"{geometric_mean(some):.2f}" if some else "–"


COMPARISON_HEADER = ["cases", "geometric mean, back to back", "one at a time", "cold", "worst, back to back", "losses"]


def means(cases):
    """By value type and N, and all N of a type together."""
    rows = []
    for value_type in sorted({c["type"] for c in cases}):
        some = [c for c in cases if c["type"] == value_type]
        widths = sorted({c["cols"] for c in some})
        rows += [comparison([value_type, str(n)], [c for c in some if c["cols"] == n]) for n in widths]
        if len(widths) > 1:
            rows.append(comparison([value_type, "all"], some))
    return markdown(["type", "N", *COMPARISON_HEADER], rows)


def fresh_family(matrix):
    """Of a matrix that bench/fresh_set.py has drawn, or None."""
    found = re.fullmatch(r"fresh\d+_([a-z_]+?)(_\d+)+", matrix)
    return found and found[1]


def means_by_kind(runs, cases):
    """By the family of the fresh set or the catalogue's kind where there is one, else the class of the pattern."""
    kinds = {m["name"]: fresh_family(m["name"]) or m["kind"] or m["pattern_class"] for run in runs for m in run["matrices"]}
    rows = [comparison([kind], [c for c in cases if kinds[c["matrix"]] == kind]) for kind in sorted(set(kinds.values()))
            if any(kinds[c["matrix"]] == kind for c in cases)]
    return markdown(["kind", *COMPARISON_HEADER], rows)


def fastest(case, group):
    """The fastest checked entry of a group in the layout of the case, or None."""
    some = [e for e in case["entries"]
            if e["group"] == group and e["layout"] == case["layout"] and e["status"] == "ok" and e["warm"]]
    return min(some, key=lambda e: e["warm"]["median"], default=None)


def speed(entry):
    if entry is None:
        return "–"
    return f"{entry['gflops']:.0f}" if entry["gflops"] >= 10 else f"{entry['gflops']:.1f}"


def share(value):
    return f"{100 * value:.0f} %" if value >= 0.01 else "< 1 %"


def case_row(case, algorithms, rival, several_types):
    plan = fastest(case, "plan")
    payback = case["payback_products"]
    return [case["matrix"] + (f" {case['type']}" if several_types else ""), str(case["cols"]),
            *[speed(fastest(case, algorithm)) for algorithm in algorithms], f"**{speed(plan)}**",
            speed(fastest(case, rival)), f"{case['ratio']:.2f}", share(plan["roofline_share"]),
            f"{1e3 * plan['convert_seconds']:.1f}", "never" if payback is None else str(payback)]


def select(cases, names, count):
    """All cases of the named matrices; then `count` others, half the best and half the worst, one of a matrix."""
    chosen = [c for name in names for c in cases if c["matrix"].startswith(name)]
    chosen.sort(key=lambda c: (c["matrix"], c["type"], c["cols"]))
    taken = {c["matrix"] for c in chosen}
    ranked = sorted((c for c in cases if c["matrix"] not in taken), key=lambda c: c["ratio"])
    best, worst = [], []
    while ranked and len(best) + len(worst) < count:
        if len(best) <= len(worst):
            case = ranked.pop()
            best.append(case)
        else:
            case = ranked.pop(0)
            worst.append(case)
        ranked = [c for c in ranked if c["matrix"] != case["matrix"]]
    return chosen + best + worst[::-1]


def caveats(runs, cases):
    """What a reader must know before believing the tables."""
    failed = [f"{c['matrix']} N = {c['cols']} {c['type']}: {e['name']}" for c in cases for e in c["entries"]
              if e["status"] == "failed"]
    inaccurate = sorted({e["name"] for c in cases for e in c["entries"] if e["status"] == "inaccurate"})
    unread = sorted({f"{p['name']} ({p['message'].split(': ', 1)[-1]})" for run in runs for p in run["problems"]})
    unsteady = sum(1 for c in cases for e in c["entries"] if e["warm"] and e["warm"]["p90"] > 2 * e["warm"]["p10"])
    lines = ["Every result was compared with a reference in higher precision before it was timed; "
             + (f"**{len(failed)} failed**: {', '.join(failed)}." if failed else "none failed.")]
    if inaccurate:
        lines.append(f"Inaccurate in some cases, and no rival there: {', '.join(inaccurate)}.")
    if unread:
        lines.append(f"Not measured: {', '.join(unread)}.")
    if unsteady:
        lines.append(f"{unsteady} timings were unsteady (90th percentile over twice the 10th).")
    return " ".join(lines)


def report(runs, cases, options):
    machine, rival = runs[0]["machine"], runs[0]["main_rival"]
    builds = ", ".join(dict.fromkeys(run["machine"]["git_hash"] for run in runs))
    dates = sorted({run["machine"]["date"][:10] for run in runs})
    names = {"cusparse": "cuSPARSE", "eigen": "Eigen", "cublas": "cuBLAS", "cuda_runtime": "CUDA"}
    versions = [f"{names[k]} {v}" for k, v in sorted(machine["versions"].items()) if k in names]
    compared = [c for c in cases if c["ratio"] is not None and fastest(c, "plan")]
    if not compared:
        sys.exit(f"no case has both a plan and {rival or 'a rival'}")
    rival_name = names.get(rival, rival)
    several_types = len({c["type"] for c in compared}) > 1
    parts = [
        f"{where(machine)}, {', '.join(versions)}; bcsc {machine['library_version']} ({builds}), {' to '.join(dates)}; "
        f"{len({c['matrix'] for c in compared})} matrices; copy bandwidth {machine['copy_bandwidth'] / 1e9:.0f} GB/s.",
        f"Speed of the plan's choice over the fastest {rival_name} in the same layout (above 1: bcsc is faster):",
        means(compared)]
    if options.by_kind:
        parts += ["The same by kind of matrix:", means_by_kind(runs, compared)]
    header = ["matrix", "N", *runs[0]["algorithms"], "plan", rival_name, "ratio", "roofline", "convert ms", "payback"]
    chosen = select(compared, options.matrix, options.rows)
    rows = [case_row(c, runs[0]["algorithms"], rival, several_types) for c in chosen]
    parts += [
        "Selected cases, the best and the worst, one of a matrix. GFLOP/s on true non-zeros, back to back; for each "
        "kernel its fastest config. *Roofline*: the plan's share of it. *Payback*: products until its conversion is "
        f"earned back against {rival_name}.",
        markdown(header, rows), caveats(runs, cases)]
    return "\n\n".join(parts)


def between(page, text, opening, closing, path):
    """The page with `text` in place of what stands between the markers."""
    if page.count(opening) != 1 or page.count(closing) != 1 or page.index(opening) > page.index(closing):
        sys.exit(f"{path}: must hold {opening} and, behind it, {closing}, once each")
    return page[:page.index(opening) + len(opening)] + f"\n\n{text}\n\n" + page[page.index(closing):]


def write(path, text):
    """Beside the file and renamed; its mode is kept."""
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, delete=False) as beside:
        beside.write(text)
    os.chmod(beside.name, os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644)
    os.replace(beside.name, path)


def insert(path, text, opening=OPENING, closing=CLOSING):
    """Replaces what stands between the markers of a file."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    write(path, between(page, text, opening, closing, path))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="RESULTS", help="a JSON file of bcsc bench, .gz or not")
    parser.add_argument("--into", metavar="FILE", help="replace the text between the markers in this file")
    parser.add_argument("--matrix", action="append", default=None, metavar="NAME",
                        help="matrices whose name begins so come first, with every N (default: elasticity)")
    parser.add_argument("--rows", type=int, default=8, metavar="COUNT", help="how many others (default 8)")
    parser.add_argument("--by-kind", action="store_true", help="also the means by kind of matrix")
    options = parser.parse_args()
    options.matrix = options.matrix or ["elasticity"]
    text = report(*merge(options.files), options)
    if options.into:
        insert(options.into, text)
    else:
        print(text)


if __name__ == "__main__":
    main()
