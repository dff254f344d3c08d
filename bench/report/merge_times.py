#!/usr/bin/env python3
"""Output of several runs of bench/config_times as two files, with the latest time of each config.

    cd bench/results/nvidia-h200
    ../../report/merge_times.py config-times config-times-judged.json.gz NEW.json.gz \\
        --learn config-times-learn.json.gz NEW-LEARN.json.gz

writes config-times-judged.json.gz and config-times-learn.json.gz, which bench/fit_choice takes as FILE and --learn: the
matrices of any --learn file are in the second, with all their times. With --in-place the files are those with B in
place (config-times-place-...), without it the others; the rest is passed over.

Kernels change, so a later program's time replaces an earlier one's; of times by the same program (its git hash), and of
short ones, the least counts, since what disturbs a run only adds to it. All runs have to be of one machine. Matrices
are ordered by name. Standard library only.
"""
import argparse
import gzip
import json
import pathlib

from table import read_run

SCHEMA = "bcsc-config-times-1"
# Shorter products now and then seem to take twice as long because the host starts them late, which is more than kernels
# change from one program to the next.
SHORT_US = 15


def note(times, name, us, program):
    """Notes a config's time (or, as text, why it has none) in `times`: config -> (us, program)."""
    known = times.get(name)
    if known is not None and isinstance(known[0], (int, float)):
        if not isinstance(us, (int, float)):
            us = known[0]
        elif known[1] == program or min(us, known[0]) < SHORT_US:
            us = min(us, known[0])
    times[name] = (us, program)


def merged(documents):
    """One document of several, ordered by their dates."""
    documents = sorted(documents, key=lambda d: d["date"])
    machines = {d["machine"] for d in documents}
    if len(machines) > 1:
        raise SystemExit(f"merge_times.py: different machines: {', '.join(sorted(machines))}")
    matrices, cases = {}, {}
    for d in documents:
        for m in d["matrices"]:
            if matrices.get(m["name"], m)["checksum"] != m["checksum"]:
                raise SystemExit(f"merge_times.py: {m['name']}: two matrices of this name")
            matrices[m["name"]] = m
            for c in m["cases"]:
                times = cases.setdefault(m["name"], {}).setdefault((c["type"], c["cols"]), {"configs": {}, "rivals": {}})
                for what, found in (("configs", c.get("configs", c.get("rows"))), ("rivals", c["rivals"])):
                    for name, us in found.items():
                        note(times[what], name, us, d["git_hash"])
    whole = {key: documents[-1][key] for key in ("schema", "machine", "git_hash", "clocks", "versions", "date")}
    whole["in_place"] = documents[-1].get("in_place", False)
    whole["runs"] = [run for d in documents for run in d.get("runs", [{"git_hash": d["git_hash"], "date": d["date"]}])]
    whole["matrices"] = []
    for name in sorted(matrices):
        told = []
        for (kind, cols), times in sorted(cases[name].items()):
            plain = {what: {config: us for config, (us, _) in of.items()} for what, of in times.items()}
            told.append({"cols": cols, **plain, "type": kind})
        whole["matrices"].append({**matrices[name], "cases": told})
    return whole


def write(path, whole, names):
    """Those of its matrices."""
    matrices = [m for m in whole["matrices"] if m["name"] in names]
    text = json.dumps({**whole, "matrices": matrices}, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    print(f"{path}: {len(matrices)} matrices, {sum(len(m['cases']) for m in matrices)} cases, {path.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("out", metavar="PREFIX", help="of the two files' names")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--learn", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--in-place", action="store_true")
    wanted = parser.parse_args()
    runs = [(path, read_run(path, SCHEMA, "bench/config_times")) for path in wanted.files + wanted.learn]
    learnt = {m["name"] for path, run in runs if path in wanted.learn for m in run["matrices"]}
    whole = merged([run for _, run in runs if run.get("in_place", False) == wanted.in_place])
    names = {m["name"] for m in whole["matrices"]}
    write(pathlib.Path(f"{wanted.out}-judged.json.gz"), whole, names - learnt)
    write(pathlib.Path(f"{wanted.out}-learn.json.gz"), whole, names & learnt)


if __name__ == "__main__":
    main()
