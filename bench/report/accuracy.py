#!/usr/bin/env python3
"""Turns JSON files of `bench/accuracy` into Markdown: for each machine and precision the greatest and the mean error of
the plan's choice and of each kernel's configs, over all matrices.

    bench/report/accuracy.py RESULTS...                 # prints it
    bench/report/accuracy.py --into PAGE.md RESULTS...  # replaces what stands between the two markers

The markers are <!-- accuracy --> and <!-- /accuracy -->. What was not measured has no line. Standard library only.
"""
import argparse
import sys

from table import insert, markdown, read_run, where

OPENING, CLOSING = "<!-- accuracy -->", "<!-- /accuracy -->"
HEADER = ["kernel", "promised", "configs", "matrices", "max error", "mean", "max of the bound", "mean", "worst"]
FORMER_KEYS = {"rows": "configs", "worst_row": "worst_config"}  # in files written before November 24, 2026


def read_accuracy(path):
    run = read_run(path, "bcsc-accuracy-1", "bench/accuracy")
    return run | {"results": [{FORMER_KEYS.get(key, key): value for key, value in r.items()} for r in run["results"]]}


def precision(result):
    return "TF32" if result["compute"] == "tf32" else result["type"]


def promise(result):
    """The bound in short: c of gamma_{n+c}, and the rounding of the values where there is one."""
    rounded = f", values rounded by {result['rounding']:.1e}" if result["rounding"] > 0 else ""
    return f"c = {result['more_terms']}{rounded}"


def number(value):
    return "–" if value is None else f"{value:.2g}"


def line(name, results):
    """One group over its matrices. An error that is not finite is null in the file, and worse than any number."""
    finite = [r for r in results if r["max_error"] is not None]
    worst = max(results, key=lambda r: float("inf") if r["max_bound_share"] is None else r["max_bound_share"])
    u = results[0]["unit_roundoff"]
    some = len(finite) == len(results)
    mean = sum(r["mean_error"] for r in finite) / len(finite) / u if finite else None
    mean_share = sum(r["mean_bound_share"] for r in finite) / len(finite) if finite else None
    return [name, ", ".join(sorted({promise(r) for r in results})), str(max(r["configs"] for r in results)),
            str(len(results)), number(max(r["max_error"] for r in finite) / u) if some else "not finite", number(mean),
            number(worst["max_bound_share"]) if some else "not finite", number(mean_share), worst["matrix"]]


def tables(run):
    """A table for each precision, in the order of the file."""
    results = [r for r in run["results"] if r["configs"] > 0]
    parts = []
    for kind in dict.fromkeys(precision(r) for r in results):
        of_kind = [r for r in results if precision(r) == kind]
        groups = dict.fromkeys((r["group"], None if r["group"] == "plan" else promise(r)) for r in of_kind)
        rows = [line("**plan**" if group == "plan" else group,
                     [r for r in of_kind if r["group"] == group and promised in (None, promise(r))])
                for group, promised in groups]
        exponent = {2.0 ** -24: "2⁻²⁴", 2.0 ** -53: "2⁻⁵³"}[of_kind[0]["unit_roundoff"]]
        parts.append(f"{kind}, u = {exponent}:\n\n{markdown(HEADER, rows, left=2)}")
    return parts


def report(run):
    machine = run["machine"]
    beyond = sorted({f"{r['group']} {precision(r)} on {r['matrix']}: {r['worst_config']}" for r in run["results"]
                     if r["violations"] > 0})
    failed = sorted({f for r in run["results"] for f in r["failures"]})
    head = (f"{where(machine)}, {machine['git_hash']}, {machine['date'][:10]}: {len(run['matrices'])} matrices, "
            f"N = {run['cols']}. " + (f"**Beyond the bound**: {'; '.join(beyond)}." if beyond
                                      else "Nothing is beyond its bound.")
            + (f" Failed: {'; '.join(failed)}." if failed else "")
            + (f" Left out: {'; '.join(run['left_out'])}." if run["left_out"] else ""))
    return "\n\n".join([head, *tables(run)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="RESULTS", help="a JSON file of bench/accuracy, .gz or not")
    parser.add_argument("--into", metavar="FILE", help="replace the text between the markers in this file")
    options = parser.parse_args()
    runs = [read_accuracy(path) for path in options.files]
    empty = [path for path, run in zip(options.files, runs) if not run["results"]]
    if empty:
        sys.exit(f"{', '.join(empty)}: holds no result")
    text = "\n\n".join(report(run) for run in runs)
    if options.into:
        insert(options.into, text, OPENING, CLOSING)
    else:
        print(text)


if __name__ == "__main__":
    main()
