#!/usr/bin/env python3
"""Compiles a shard of each kernel, with the few configs of kernel_space=small, for compute capability 8.0, whatever the
build is for: an instruction that only newer GPUs have would otherwise be found by who builds for an A100.

    older_gpus_test.py --nvcc NVCC --config bcsc_config.h --include FOLDER... -- SHARD...
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

LEAST_ARCH = "sm_80"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--config", required=True, type=pathlib.Path, help="the build's bcsc_config.h")
    parser.add_argument("--include", required=True, nargs="+")
    parser.add_argument("shards", nargs="+")
    arguments = parser.parse_args()
    config, changed = re.subn(r"(#define BCSC_KERNEL_SPACE) \d", r"\1 0", arguments.config.read_text())
    if changed != 1:
        sys.exit(f"{arguments.config}: no BCSC_KERNEL_SPACE")
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / arguments.config.name).write_text(config)

        def compiled(shard):
            command = [arguments.nvcc, "-std=c++20", "--expt-relaxed-constexpr", f"-arch={LEAST_ARCH}", "-cubin",
                       *(f"-I{path}" for path in [here, *arguments.include]), "-o",
                       str(here / (pathlib.Path(shard).name + ".cubin")), shard]
            return subprocess.run(command, capture_output=True, text=True)

        with concurrent.futures.ThreadPoolExecutor(2) as some:
            results = list(zip(arguments.shards, some.map(compiled, arguments.shards)))
    failed = [(shard, done.stderr) for shard, done in results if done.returncode != 0]
    for shard, errors in failed:
        print(f"{shard}:\n{errors[:2000]}")
    print(f"{len(results) - len(failed)} of {len(results)} shards compile for {LEAST_ARCH}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
