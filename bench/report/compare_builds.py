#!/usr/bin/env python3
"""Whether one build of the library is as fast as another: their products on a GPU, sample by sample in turn.

    bench/report/compare_builds.py --old PROGRAM --new PROGRAM [--matrices FOLDER] [--match PATTERN] [--out FILE]
                                   [--seconds S] [--rounds R] [--processes P]

Each PROGRAM is bench/timed_products, linked with one of the two libraries. The cases are three matrices of each set of
README's table, at N = 8, 32, 128, 512, in the types and layouts that the set has there. The ratio is old over new, the
median over the rounds (above 1 the new build is faster); which of the two is first changes from round to round. Where a
process's memory lies can be worth a tenth of a short product: with --processes P, P pairs of processes measure each case,
and the ratio is the median over them; the file has each. Also compared: the kernels that the plans chose, and the bits of
C. Standard library only.
"""
import argparse
import fnmatch
import gzip
import json
import pathlib
import random
import statistics
import subprocess
import sys
import time

from table import geometric_mean, markdown

ELASTICITY = ["elasticity:30,30,30", "banded:20000,20", "banded:200000,60"]
STENCILS = ["stencil9:400,400", "stencil7:80,80,80", "stencil27:64,64,64"]
NETWORKS = ["uniform:2048,2048,0.7,seed=1", "uniform:2048,2048,0.9,seed=1", "uniform:4096,4096,0.95,seed=1"]
RMAT = ["rmat:17,16,seed=1", "rmat:18,16,seed=1", "rmat:20,16,seed=1"]  # README has the first and the last
REAL = ["bcsstk25", "dlmc_tf_mag0.8_enc0_ffn1", "email-Enron"]
ROW, COL = "row full", "col full"
SETS = [(name, matrices, types, way)
        for name, matrices, types, way in [
            ("elasticity, bands", ELASTICITY, ["fp32", "fp64", "fp16", "bf16"], ROW),
            ("elasticity, bands, TF32", ELASTICITY, ["fp32"], "row tf32"),
            ("stencils", STENCILS, ["fp32", "fp16", "bf16"], ROW),
            ("networks", NETWORKS, ["fp32", "fp16", "bf16"], ROW),
            ("R-MAT", RMAT, ["fp32", "fp16", "bf16"], ROW),
            ("real", REAL, ["fp32", "fp64"], ROW),
            ("elasticity, bands, column-major", ELASTICITY, ["fp32"], COL),
            ("stencils, column-major", STENCILS, ["fp32"], COL),
            ("networks, column-major", NETWORKS, ["fp32"], COL),
            ("R-MAT, column-major", RMAT, ["fp32"], COL),
            ("real, column-major", REAL, ["fp32"], COL)]]
COLUMNS = [8, 32, 128, 512]


class Program:
    def __init__(self, path, matrix):
        self.process = subprocess.Popen([path, matrix], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args[0]} {self.process.args[1]}: no answer to {command}")
        return answer.split()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(builds, command, rounds, rng):
    """Both builds' samples, in turn; the ratio of each round."""
    (_, old_kernel, old_hash), (_, new_kernel, new_hash) = (b.ask(f"plan {command}") for b in builds)
    times = ([], [])
    for _ in range(rounds):
        for which in rng.sample([0, 1], 2):
            times[which].append(float(builds[which].ask("time")[0]))
    return {"old_kernel": old_kernel, "new_kernel": new_kernel, "same_bits": old_hash == new_hash,
            "old_us": statistics.median(times[0]), "new_us": statistics.median(times[1]),
            "ratio": statistics.median(old / new for old, new in zip(*times))}


def median_case(measured):
    """Of one case, measured by several pairs of processes."""
    of = lambda key: [one[key] for one in measured]
    return measured[0] | {"same_bits": all(of("same_bits")), "ratios": of("ratio")} | {
        key: statistics.median(of(key)) for key in ("old_us", "new_us", "ratio")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--matrices", type=pathlib.Path, help="folder of the real ones (NAME.mtx.gz); without it they are left out")
    parser.add_argument("--match", default="*", help="only matrices whose name matches this pattern")
    parser.add_argument("--out", type=pathlib.Path, help="JSON; gzipped if its name ends in .gz")
    parser.add_argument("--seconds", type=float, default=400, help="no case is begun later")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--processes", type=int, default=1, help="pairs of processes for each case")
    arguments = parser.parse_args()
    started, rng, cases, left_out = time.monotonic(), random.Random(1), [], []
    by_matrix = {}
    for name, matrices, types, way in SETS:
        for matrix in matrices:
            for kind in types:
                for n in COLUMNS:
                    by_matrix.setdefault(matrix, []).append((name, f"{kind} {n} {way}"))
    by_matrix = {matrix: wanted for matrix, wanted in by_matrix.items() if fnmatch.fnmatch(matrix, arguments.match)}
    for matrix, wanted in sorted(by_matrix.items(), key=lambda item: item[0].startswith(("rmat:20", "banded:200000"))):
        source = matrix
        if ":" not in matrix:
            source = arguments.matrices / f"{matrix}.mtx.gz" if arguments.matrices else None
            if source is None or not source.is_file():
                left_out += [f"{matrix}: no file"]
                continue
        measured = {case: [] for case in wanted}
        for _ in range(arguments.processes):
            builds = [Program(arguments.old, str(source)), Program(arguments.new, str(source))]
            for case in wanted:
                if time.monotonic() - started <= arguments.seconds:
                    measured[case].append(measure(builds, case[1], arguments.rounds, rng))
            for build in builds:
                build.close()
        for (name, command), found in measured.items():
            if found:
                cases.append({"set": name, "matrix": matrix, "case": command} | median_case(found))
            else:
                left_out.append(f"{matrix} {command}: no time")
    rows = []
    for name in dict.fromkeys(c["set"] for c in cases) | {"all": None}:
        some = [c for c in cases if name in (c["set"], "all")]
        worst = min(some, key=lambda c: c["ratio"])
        rows.append([name, str(len(some)), f"{geometric_mean([c['ratio'] for c in some]):.4f}",
                     f"{worst['ratio']:.3f} ({worst['matrix']} {worst['case']}, {worst['new_us']:.1f} us)",
                     str(sum(c["old_kernel"] != c["new_kernel"] for c in some)),
                     str(sum(not c["same_bits"] for c in some))])
    print(markdown(["set", "cases", "old/new", "worst", "other kernel", "other bits"], rows))
    if left_out:
        print(f"\nleft out: {len(left_out)}: {'; '.join(left_out[:5])}{' ...' if len(left_out) > 5 else ''}")
    if arguments.out:
        text = json.dumps({"rounds": arguments.rounds, "processes": arguments.processes,
                           "seconds": round(time.monotonic() - started), "cases": cases, "left_out": left_out}, indent=1)
        data = (text + "\n").encode()
        arguments.out.write_bytes(gzip.compress(data, mtime=0) if arguments.out.suffix == ".gz" else data)
    return 0 if cases else 1


if __name__ == "__main__":
    sys.exit(main())
