#!/usr/bin/env python3
"""The plan on the CPU beside Eigen and MKL, by N and by value type, as a Markdown table.

    bench/report/cpu.py RESULTS...

RESULTS are files of bench/cpu_peers, a table each. A ratio is the rival's time over the plan's. MKL is the faster of its
`mm` and, at N = 1, its `mv`. Standard library only.
"""
import sys

from table import geometric_mean, markdown, read_run

RIVALS = {"eigen": "Eigen", "mkl": "MKL"}
GROUPS = {"eigen": ["eigen"], "mkl": ["mkl", "mkl-mv"]}  # of entries: a rival is the fastest of them


def read_peers(path):
    return read_run(path, "bcsc-cpu-peers-1", "bench/cpu_peers")


def ratios_of(run):
    """[{type, cols, matrix, rival: ratio, ...}] of the cases that count."""
    found = []
    for case in run["cases"]:
        medians = {e["group"]: e["median"] for e in case["entries"]}
        fastest = {rival: min((medians[g] for g in groups if g in medians), default=None)
                   for rival, groups in GROUPS.items()}
        found.append({"type": case["type"], "cols": case["cols"], "matrix": case["matrix"],
                      **{rival: seconds / medians["plan"] for rival, seconds in fastest.items() if seconds}})
    return found


def worst_of(cases, rival):
    return min((c for c in cases if rival in c), key=lambda c: c[rival])


def mean(cases, rival):
    return geometric_mean([c[rival] for c in cases if rival in c])


def place_of(case):
    return f"{case['matrix']}, N = {case['cols']}, {case['type']}"


def table(cases):
    rivals = [r for r in RIVALS if any(r in c for c in cases)]
    groups = [(f"N = {n}", [c for c in cases if c["cols"] == n]) for n in sorted({c["cols"] for c in cases})]
    groups += [(t, [c for c in cases if c["type"] == t]) for t in sorted({c["type"] for c in cases})]
    rows = []
    for name, some in [*groups, ("all", cases)]:
        row = [name, str(len(some))]
        for rival in rivals:
            if any(rival in c for c in some):
                worst = worst_of(some, rival)
                row += [f"**{mean(some, rival):.2f}**", f"{worst[rival]:.2f} ({place_of(worst)})"]
            else:
                row += ["–", "–"]
        rows.append(row)
    header = ["products", "cases"]
    for rival in rivals:
        header += [RIVALS[rival], "worst"]
    return markdown(header, rows)


def what(run, cases):
    machine = run["machine"]
    # The versions' own words are long: the number is enough.
    versions = [f"{name} {next(w for w in machine['versions'][key].split() if w[0].isdigit()).split('-')[0]}"
                for key, name in {"eigen": "Eigen", "mkl": "MKL"}.items() if key in machine["versions"]]
    threads = f"{machine['threads']} threads{' of its own' if ' of its own' in machine['context'] else ''}"
    return (f"{machine['cpu_model']}, {threads}, {', '.join(versions)}, {machine['git_hash']}: "
            f"{len({c['matrix'] for c in cases})} matrices")


def report(run):
    cases = ratios_of(run)
    return f"{what(run, cases)}.\n\n{table(cases)}"


def summary(run):
    """In one sentence."""
    cases = ratios_of(run)
    rivals = [(r, worst_of(cases, r)) for r in RIVALS if any(r in c for c in cases)]
    told = [f"**{mean(cases, r):.2f}** times as fast as {RIVALS[r]}, worst {case[r]:.2f} ({place_of(case)})"
            for r, case in rivals]
    return f"{what(run, cases)}, {len(cases)} products: {'; '.join(told)}."


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("\n\n".join(report(read_peers(path)) for path in sys.argv[1:]))


if __name__ == "__main__":
    main()
