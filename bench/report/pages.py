#!/usr/bin/env python3
"""Every figure in the documents, from the files under bench/results: README's numbers, chart and table, and the tables of
docs/performance.md, docs/benchmark.md and docs/footprint.md.

    bench/report/pages.py            # rewrites what stands between their markers, and the chart
    bench/report/pages.py --check    # says which of them are not what the files make, exit status 1 if any

Equal files give equal bytes. Standard library only.
"""
import argparse
import json
import pathlib
import sys

import accuracy
import chart
import cpu
import dense
import footprint
import promises
import roofline
import sets
from fitted import Fit
from table import between, read_run, where, write

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = "docs/speed-up.svg"


class Results:
    """What the pages are made of."""

    def __init__(self, root):
        folder = root / "bench" / "results"
        gpu, amd, intel = folder / "nvidia-h200", folder / "amd-zen4-2cores", folder / "intel-xeon-16cores"
        plans = sorted(gpu.glob("plan-*.json.gz"))
        self.plans = [read_run(path) for path in plans]
        self.machines = [run["machine"] for run in self.plans]
        self.cases = sets.read_cases(plans, Fit(gpu / "fit.json"))
        self.cpu = [cpu.read_peers(path) for path in [folder / "amd-zen5-2cores" / "peers.json.gz",
                                                      intel / "peers.json.gz", intel / "peers-own.json.gz"]]
        self.accuracy = [accuracy.read_accuracy(path / "accuracy.json.gz")
                         for path in [gpu, amd]]
        self.roofline = read_run(gpu / "roofline.json.gz", roofline.SCHEMA, "bench/report/roofline.py")
        self.footprint = json.loads((gpu / "device-convert.json").read_text(encoding="utf-8"))
        self.edges = read_run(gpu / "edges.json.gz", "bcsc-edges-1", "bench/edges")


def measured_at(results):
    """GPU, versions, commit and date of the plan's measurements."""
    machine = results.machines[0]
    commits = ", ".join(sorted({m["git_hash"] for m in results.machines}))
    days = [m["date"][:10] for m in results.machines]
    versions = machine["versions"]
    return (f"{where(machine)}, CUDA {versions['cuda_runtime']}, cuSPARSE {versions['cusparse']}, commit {commits}, "
            f"{' to '.join(sorted({min(days), max(days)}))}")


APART = {"unseen": "matrices that the choice of kernel was not fitted to", "fresh": "matrices newer than the fit"}


def gpu_number(cases, timing):
    """The mean over the cases that have this timing, and how bad it gets."""
    layouts = " and ".join(dict.fromkeys(c["layout"].replace("col-", "column-") for c in cases))
    types = ", ".join(sorted({c["type"] for c in cases}, key=str.lower))
    apart = [f"; {sets.mean(some, timing)} on {what}" for kind, what in APART.items()
             if (some := [c for c in cases if c["kind"] == kind])]
    worst = sets.worst_of(cases, timing)
    below = sum(c["ratios"][timing] < 0.97 for c in cases)
    return (f"- **{sets.mean(cases, timing)}×** the fastest cuSPARSE on a GPU, {sets.TIMINGS[timing]} ({len(cases)} "
            f"products: {types}; {layouts}{''.join(apart)}). Worst: {worst['ratios'][timing]:.2f} "
            f"({sets.name_of(worst)}, {worst['type']}{sets.WHERE[worst['layout']]}); {below} below 0.97.")


def cpu_number(run):
    cases = cpu.ratios_of(run)
    worst = {rival: cpu.worst_of(cases, rival) for rival in ["eigen", "mkl"]}
    return (f"- **{cpu.mean(cases, 'eigen'):.2f}×** Eigen and **{cpu.mean(cases, 'mkl'):.2f}×** MKL (the faster of its "
            f"`mm` and `mv`) on {run['machine']['threads']} cores of an {run['machine']['cpu_model']} ({len(cases)} "
            "products). Worst: "
            + ", ".join(f"{case[rival]:.2f} against {cpu.RIVALS[rival]} ({sets.name_of(case)}, {case['type']})"
                        for rival, case in worst.items()) + ".")


def numbers(results):
    timed = {timing: [c for c in results.cases if timing in c["ratios"]] for timing in sets.TIMINGS}
    return "\n".join([gpu_number(some, timing) for timing, some in timed.items() if some] + [cpu_number(results.cpu[0])])


def headline(results):
    return (f"![Speed-up over cuSPARSE by set of matrices]({CHART})\n\n{numbers(results)}\n\n"
            f"Geometric means; {measured_at(results)} (CPU: commit {results.cpu[0]['machine']['git_hash']}).")


def brief_table(results):
    return f"{sets.table(sets.brief_sets_of(results.cases))}\n\n{sets.floor_sentence(results.cases)}"


def full_table(results):
    return (f"{measured_at(results)}.\n\n{sets.table(sets.sets_of(results.cases))}\n\n"
            f"{sets.floor_sentence(results.cases)}")


def draw(results):
    title = (f"Speed-up over the fastest cuSPARSE, {where(results.machines[0])}, {len(results.cases)} products, "
             f"{sets.TIMINGS['warm']}")
    return chart.draw(sets.brief_sets_of(results.cases), title)


# (page, marker): what stands between <!-- marker --> and <!-- /marker -->
PARTS = {
    ("README.md", "headline"): headline,
    ("README.md", "figures"): brief_table,
    ("docs/performance.md", "figures"): full_table,
    ("docs/performance.md", "dense"): lambda results: dense.table(results.plans),
    ("docs/performance.md", "cpu"): lambda results: "\n\n".join(
        [cpu.report(results.cpu[0]), *map(cpu.summary, results.cpu[1:])]),
    ("docs/performance.md", "accuracy"): lambda results: "\n\n".join(accuracy.report(run) for run in results.accuracy),
    ("docs/performance.md", "roofline"): lambda results: roofline.report(results.roofline),
    ("docs/footprint.md", "footprint"): lambda results: footprint.report(results.footprint),
    ("docs/benchmark.md", "promises"): lambda results: promises.report(results.edges),
}


def render(root=ROOT):
    """{path below the root: text}."""
    results = Results(root)
    made = {CHART: draw(results)}
    for (page, marker), part in PARTS.items():
        text = made.get(page) or (root / page).read_text(encoding="utf-8")
        made[page] = between(text, part(results), f"<!-- {marker} -->", f"<!-- /{marker} -->", page)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="of another tree")
    options = parser.parse_args()
    differ = []
    for path, text in render(options.root).items():
        file = options.root / path
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            differ.append(path)
            if not options.check:
                write(file, text)
    print("\n".join(f"{path}: {'not what bench/results makes' if options.check else 'written'}" for path in differ)
          or "all as bench/results makes them")
    sys.exit(1 if options.check and differ else 0)


if __name__ == "__main__":
    main()
