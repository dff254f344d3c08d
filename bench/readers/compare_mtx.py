#!/usr/bin/env python3
"""Compares how fast Matrix Market files are read into COO (fp64, 32-bit indices), and in how much memory: bcsc, the
fast_matrix_market package, and SciPy's classic reader.

    python3 -m venv v && v/bin/pip install fast_matrix_market scipy
    bcsc generate rmat:19,16,seed=1 rmat.mtx
    bench/readers/compare_mtx.py --read-mtx BUILD/bench/read_mtx --python v/bin/python rmat.mtx

Each measurement is a process of its own, so that nothing is warm but the file; the readers take turns, and the best of
each counts, since other work on the machine can only slow a run down. What a package takes to be imported is not counted,
neither as time nor, in the last column, as memory. With --at-least the ratios asked for decide the exit status. Needs the
standard library only; what is compared is had from the interpreter named by --python.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

# What a Python reader's process runs: import, read, tell.
CHILD = """
import json, resource, sys, time
{imports}
peak = lambda: 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
start = time.perf_counter()
a = {read}
seconds = time.perf_counter() - start
print(json.dumps(dict(seconds=seconds, nnz=int(a.nnz), peak_bytes=peak(), peak_before=before, version={version})))
"""
PYTHON_READERS = {
    "fast_matrix_market": dict(
        imports="import fast_matrix_market, scipy.sparse",
        read="fast_matrix_market.mmread(sys.argv[1])",
        version="__import__('importlib.metadata').metadata.version('fast_matrix_market')",
    ),
    "SciPy, classic": dict(
        imports="import scipy, scipy.sparse, scipy.io._mmio",
        read="scipy.io._mmio.MMFile().read(sys.argv[1])",
        version="scipy.__version__",
    ),
}


def measure(command):
    """One process; what it printed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


def contenders(arguments):
    """Name, command and how often, of each."""
    for form in ("coo", "csr"):
        yield f"bcsc, {form}", [arguments.read_mtx, form, arguments.file], arguments.repeats
    for name, parts in PYTHON_READERS.items():
        repeats = arguments.repeats if name == "fast_matrix_market" else arguments.slow_repeats
        yield name, [arguments.python, "-c", CHILD.format(**parts), arguments.file], repeats


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="Matrix Market file, coordinate real general")
    parser.add_argument("--read-mtx", required=True, help="the program built from bench/readers/read_mtx.cpp")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the packages")
    parser.add_argument("--repeats", type=int, default=7, help="runs of each fast reader (default 7)")
    parser.add_argument("--slow-repeats", type=int, default=2, help="runs of SciPy's (default 2)")
    parser.add_argument("--at-least", nargs=2, type=float, metavar=("FMM", "SCIPY"),
                        help="ratios to be reached, else exit status 1")
    parser.add_argument("--json", help="write all measurements to this file")
    arguments = parser.parse_args()

    runs = {}
    versions = {}
    all_contenders = list(contenders(arguments))
    for turn in range(arguments.repeats):
        for name, command, repeats in all_contenders:
            if turn >= repeats:
                continue
            run = measure(command)
            runs.setdefault(name, []).append(run)
            versions[name] = run.get("version", "")
    counts = {run["nnz"] for several in runs.values() for run in several}
    if len(counts) != 1:
        sys.exit(f"the readers disagree: {counts} entries")

    size = os.path.getsize(arguments.file)
    best = {name: min(run["seconds"] for run in several) for name, several in runs.items()}
    ours = best["bcsc, coo"]
    print(f"{os.path.basename(arguments.file)}: {size / 1e6:.0f} MB, {counts.pop()} entries; "
          f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}\n")
    print("| reader | runs | best s | median s | MB/s | over bcsc, coo | peak MiB | of which reading |")
    print("|---|---|---|---|---|---|---|---|")
    for name, several in runs.items():
        peak = max(run["peak_bytes"] for run in several)
        growth = max(run["peak_bytes"] - run["peak_before"] for run in several)
        median = statistics.median(run["seconds"] for run in several)
        label = f"{name} {versions[name]}".strip()
        print(f"| {label} | {len(several)} | {best[name]:.3f} | {median:.3f} | {size / 1e6 / best[name]:.0f} "
              f"| {best[name] / ours:.2f} | {peak / 2**20:.0f} | {growth / 2**20:.0f} |")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"file_bytes": size, "runs": runs}, file, indent=1)
    if arguments.at_least:
        for name, wanted in zip(PYTHON_READERS, arguments.at_least):
            if best[name] < wanted * ours:
                sys.exit(f"{name}: {best[name] / ours:.2f} times slower, wanted {wanted}")


if __name__ == "__main__":
    main()
