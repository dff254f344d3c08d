#!/usr/bin/env python3
"""How much sooner a .bcsc file is ready for its first SpMM than the same matrix as Matrix Market.

    compare_container.py PROGRAM BCSC FILE.mtx [--repeat 5] [--folder DIR]

PROGRAM is the build's bench/read_container, BCSC its command line, which makes the container (fp64 CSR) in DIR. Each
measurement is a process of its own; ways alternate, medians are shown. "cold" drops the file from the page cache first
(posix_fadvise).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

WAYS = {  # shown: (way of the program, which file)
    "parse the .mtx": ("parse", "mtx"),
    "map, checksums and structure": ("map", "bcsc"),
    "map, checksums": ("map-checksums", "bcsc"),
    "map, structure": ("map-structure", "bcsc"),
    "map, believed": ("map-trusted", "bcsc"),
    "copy": ("copy", "bcsc"),
}


def drop(path: pathlib.Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def warm(path: pathlib.Path) -> None:
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def measure(program: str, way: str, path: pathlib.Path, cold: bool) -> dict:
    (drop if cold else warm)(path)
    return json.loads(subprocess.run([program, way, path], check=True, capture_output=True, text=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("bcsc")
    parser.add_argument("mtx", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path, default=None)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.folder or arguments.mtx.parent
    container = folder / (arguments.mtx.name + ".bcsc")
    subprocess.run([arguments.bcsc, "convert", arguments.mtx, container, "--type", "fp64"], check=True,
                   stdout=subprocess.DEVNULL)
    files = {"mtx": arguments.mtx, "bcsc": container}
    for name, path in files.items():
        print(f"{name:5} {path.stat().st_size / 1e6:9.1f} MB")

    results = {}
    for cold in (False, True):
        rows = {shown: [] for shown in WAYS}
        for _ in range(arguments.repeat):
            for shown, (way, name) in WAYS.items():
                rows[shown].append(measure(arguments.program, way, files[name], cold))
        sums = {(run["nnz"], run["sum"]) for runs in rows.values() for run in runs}
        if len(sums) != 1:
            raise SystemExit(f"the ways give different matrices: {sums}")
        medians = {shown: {key: statistics.median(run[key] for run in runs) for key in runs[0]}
                   for shown, runs in rows.items()}
        parse = medians["parse the .mtx"]
        print(f"\n{'cold' if cold else 'warm'} page cache, medians of {arguments.repeat}")
        print(f"{'':30} {'ready':>10} {'sooner':>8} {'plan':>10} {'product':>10} {'peak':>9}")
        for shown, m in medians.items():
            print(f"{shown:30} {m['ready'] * 1e3:7.1f} ms {parse['ready'] / m['ready']:7.1f}x {m['plan'] * 1e3:7.1f} ms "
                  f"{m['product'] * 1e3:7.1f} ms {m['peak_bytes'] / 1e6:6.0f} MB")
        results["cold" if cold else "warm"] = rows
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
