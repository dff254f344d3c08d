#!/usr/bin/env python3
"""What compact BCSC weighs beside CSR and how long the GPU takes to make it, as a Markdown table.

    bench/report/footprint.py bench/results/nvidia-h200/device-convert.json

The file is one of `device_convert --json`. Standard library only.
"""
import json
import pathlib
import re
import sys

from table import markdown

HEADER = ["matrix", "non-zeros", "m_block", "of CSR's bytes", "conversion, µs", "product, µs", "of the copy bandwidth"]


def compact_of(run):
    return [r for r in run["results"] if r["form"] == "compact"]


def table(run):
    """The generated matrices first, then the real ones, by name."""
    compact = [r | {"matrix": re.sub(r"\.(mtx|libsvm)(\.gz)?$", "", r["matrix"])} for r in compact_of(run)]
    compact.sort(key=lambda r: (":" not in r["matrix"], r["matrix"].lower()))
    return markdown(HEADER, [[r["matrix"], str(r["nnz"]), str(r["m_block"]), f"{r['bytes_over_csr']:.2f}",
                              f"{1e6 * r['convert_seconds']:.0f}", f"{1e6 * r['product_seconds']:.1f}",
                              f"{100 * r['share_of_copy_bandwidth']:.1f} %"] for r in compact])


def report(run):
    compact = compact_of(run)
    real = [r for r in compact if ":" not in r["matrix"]]
    light = sum(r["bytes_over_csr"] <= 1.05 for r in real)
    slow = sum(not r["within_limit"] for r in compact)
    return (f"{run['machine']}, {run['git_hash']}, {run['date'][:10]}; copies {run['copy_bandwidth'] * 1e-12:.2f} TB/s "
            f"(read and written). At most 1.05 times the bytes of CSR: {light} of {len(real)} real matrices. Conversions "
            f"that take longer than 300 µs and than ten products: {slow} of {len(compact)}.\n\n{table(run)}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(report(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
