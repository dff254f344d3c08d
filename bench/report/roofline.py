#!/usr/bin/env python3
"""How near one cold product comes to the roof of memory, and whether the bytes are those of the models.

    bench/report/roofline.py --driver BUILD/bench/cold_product --out roofline.json [MATRIX...]
    bench/report/roofline.py --from roofline.json       # prints what was measured, again

Runs the driver (bench/cold_product) twice for the six points, or the matrices named: alone, for the time of a cold
product and the copy bandwidth of the machine; then a process for each matrix under ncu (Nsight Compute), which sees
exactly one product, for the bytes. Without a GPU it says so and ends with 77; where ncu is missing or may not read the
counters, it says so and the columns of measured bytes stay empty. Standard library only.

Least bytes are A as CSR, B and C moved once; the roof is their time at the copy bandwidth; *share* is that over the cold
time (the cache flushed by writing, the lines written swept out by reading). The model of L2 is A as the plan holds it, a
row of B for each non-empty column of a row block, and C. ncu flushes all caches before each pass and leaves the clocks
alone. Of C, what still lies in the cache when the product ends is not among the bytes written to memory.
"""
import argparse
import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from table import markdown, read_run

SCHEMA = "bcsc-roofline-1"
SKIPPED = 77
POINTS = ["stencil7:80,80,80", "elasticity:30,30,30", "elasticity:45,45,45", "banded:200000,60", "rmat:20,16,seed=1",
          "uniform:4096,4096,0.9,seed=1"]
METRICS = ["dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_bytes.sum", "lts__t_sectors_srcunit_tex.sum",
           "gpu__time_duration.sum"]
SECTOR_BYTES = 32
# ncu's own scales; --print-units base asks for none.
SCALES = {"": 1, "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12, "sector": 1,
          "nsecond": 1e-9, "ns": 1e-9, "usecond": 1e-6, "us": 1e-6, "msecond": 1e-3, "ms": 1e-3, "second": 1, "s": 1}


class Problem(Exception):
    """Why there are no counters."""


def parse_ncu(text):
    """[{"kernel", metric: value in bytes, seconds or sectors}], one for each launch, of `ncu --csv` in its long form (a
    line for each metric). Lines of ncu and of the program around the table are passed over."""
    lines = text.splitlines()
    begin = next((i for i, row in enumerate(lines) if row.startswith('"ID"') and '"Metric Name"' in row), None)
    if begin is None:
        raise Problem(why_not(text))
    launches = {}
    for row in csv.DictReader(io.StringIO("\n".join(row for row in lines[begin:] if row.startswith('"')))):
        launch = launches.setdefault(row["ID"], {"kernel": row["Kernel Name"]})
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except ValueError:  # "n/a": a metric that this GPU has not
            continue
        if row["Metric Unit"] not in SCALES:
            raise Problem(f"{row['Metric Name']}: unit {row['Metric Unit']!r} is not known")
        launch[row["Metric Name"]] = value * SCALES[row["Metric Unit"]]
    if not launches:
        raise Problem(why_not(text))
    return list(launches.values())


def why_not(text):
    """What an ncu that has measured nothing says, in one line."""
    if "ERR_NVGPUCTRPERM" in text:
        return "the driver lets only administrators read the counters (ERR_NVGPUCTRPERM)"
    said = [row.removeprefix("==ERROR== ") for row in text.splitlines() if row.startswith("==ERROR==")]
    return said[0] if said else "no kernel was seen"


def add_up(launches):
    """A product may be two kernels (partial sums): the bytes of both. A metric that one of them lacks is left out."""
    total = {"kernels": [launch["kernel"] for launch in launches]}
    for metric in METRICS:
        if all(metric in launch for launch in launches):
            total[metric] = sum(launch[metric] for launch in launches)
    return total


def run_ncu(ncu, driver, arguments, limit):
    """The counters of one product; without those that this ncu or GPU has not."""
    metrics = METRICS
    while True:
        try:
            return run_ncu_for(metrics, ncu, driver, arguments, limit)
        except Problem as problem:
            known = [metric for metric in metrics if metric.removesuffix(".sum") not in str(problem)]
            if "Failed to find metric" not in str(problem) or known == metrics or not known:
                raise
            metrics = known


def run_ncu_for(metrics, ncu, driver, arguments, limit):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "ncu.csv"
        command = [ncu, "--csv", "--log-file", str(log), "--print-units", "base", "--profile-from-start", "off",
                   "--cache-control", "all", "--clock-control", "none", "--metrics", ",".join(metrics),
                   driver, "--profile", *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as problem:
            raise Problem(f"ncu was not done after {limit:.0f} s") from problem
        except OSError as problem:
            raise Problem(f"{ncu}: {problem.strerror}") from problem
        text = log.read_text(errors="replace") if log.is_file() else ""
        return add_up(parse_ncu(text + "\n" + done.stdout + done.stderr))


def run_driver(driver, arguments, limit):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "cold.json"
        try:
            done = subprocess.run([driver, *arguments, "--out", str(out)], timeout=limit, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, text=True)
        except (OSError, subprocess.TimeoutExpired) as problem:
            sys.exit(f"roofline.py: {driver}: {problem}")
        print(done.stdout, end="", flush=True)
        if done.returncode == SKIPPED:
            sys.exit(SKIPPED)
        if not out.is_file():
            sys.exit(f"roofline.py: {driver} ended with {done.returncode} and left no results")
        return read_run(out, "bcsc-cold-product-1", "bench/cold_product")


def measure(options):
    matrices = options.matrices or POINTS
    more = ["--cols", str(options.cols)]
    run = run_driver(options.driver, matrices + more, options.limit)
    run["schema"] = SCHEMA
    run["metrics"] = METRICS
    run["problems"] = []
    if len(run["points"]) != len(matrices):
        sys.exit("roofline.py: name the matrices one by one, no folder and no manifest")
    ncu = options.ncu or shutil.which("ncu") or shutil.which("ncu", path="/usr/local/cuda/bin")
    for matrix, point in zip(matrices, run["points"], strict=True):
        point["measured"] = None
        try:
            if ncu is None:
                raise Problem("ncu (Nsight Compute) is neither in PATH nor in /usr/local/cuda/bin")
            point["measured"] = run_ncu(ncu, options.driver, [matrix, *more], options.limit)
        except Problem as problem:
            run["problems"].append(f"{point['name']}: {problem}")
    return run


def megabytes(value):
    return "–" if value is None else f"{value * 1e-6:.1f}"


def ratio(value, model):
    return "–" if value is None else f"{value / model:.2f}"


def row_of(point):
    counted, model = point["measured"] or {}, point["bytes"]
    read, written = counted.get("dram__bytes_read.sum"), counted.get("dram__bytes_write.sum")
    moved = None if read is None or written is None else read + written
    sectors = counted.get("lts__t_sectors_srcunit_tex.sum")
    l2 = None if sectors is None else sectors * SECTOR_BYTES
    ncu_time = counted.get("gpu__time_duration.sum")
    return [point["name"], point["kernel"], f"{1e6 * point['cold_swept']['median']:.1f}",
            f"{1e6 * point['roof_seconds']:.1f}", f"**{100 * point['roof_share']:.0f} %**", megabytes(model["least"]),
            megabytes(read), megabytes(written), ratio(moved, model["least"]), megabytes(model["l2"]), megabytes(l2),
            ratio(l2, model["l2"]), megabytes(counted.get("lts__t_bytes.sum")),
            "–" if ncu_time is None else f"{1e6 * ncu_time:.1f}"]


HEADER = ["matrix", "kernel", "cold µs", "roof µs", "share", "min MB", "memory read", "written", "over min",
          "L2 model MB", "L2 from L1", "over model", "L2 all", "ncu µs"]


def report(run):
    machine = run["machine"]
    head = (f"{machine['gpu_name'] or machine['cpu_model']}, {machine['git_hash']}, {machine['date'][:10]}; copies "
            f"{machine['copy_bandwidth'] * 1e-12:.2f} TB/s (read and written); N = {run['points'][0]['cols_of_b']}, fp32, "
            "one product with a cold cache.")
    parts = [head, markdown(HEADER, [row_of(point) for point in run["points"]], left=2)]
    wrong = [point["name"] for point in run["points"] if not point["right"]]
    if wrong:
        parts.append(f"**Wrong**: {', '.join(wrong)}.")
    if run["problems"]:
        parts.append("No counters: " + "; ".join(run["problems"]) + ".")
    return "\n\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="*", metavar="MATRIX", help=f"instead of {' '.join(POINTS)}")
    parser.add_argument("--driver", metavar="PROGRAM", help="bench/cold_product of a build")
    parser.add_argument("--ncu", metavar="PROGRAM", help="Nsight Compute's (the one in PATH)")
    parser.add_argument("--cols", type=int, default=128, metavar="N")
    parser.add_argument("--limit", type=float, default=240, metavar="SECONDS", help="for one process")
    parser.add_argument("--out", metavar="FILE", help="JSON")
    parser.add_argument("--from", dest="saved", metavar="FILE", help="print such a file instead of measuring")
    options = parser.parse_args()
    if bool(options.driver) == bool(options.saved):
        parser.error("either --driver or --from")
    if options.saved:
        run = read_run(options.saved, SCHEMA, "bench/report/roofline.py")
    else:
        run = measure(options)
        if options.out:
            beside = f"{options.out}.part"
            with open(beside, "w", encoding="utf-8") as file:
                json.dump(run, file, indent=1, ensure_ascii=False)
            os.replace(beside, options.out)
    print(report(run))
    if not all(point["right"] for point in run["points"]):
        sys.exit(3)


if __name__ == "__main__":
    main()
