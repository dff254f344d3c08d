#!/usr/bin/env python3
"""Times of a new kernel, taken on another GPU, as they would be on the one that all others were measured on.

    bench/report/carried_over.py --by 'mma-' --out bench/results/nvidia-h200/config-times-fma.json.gz \\
        --taken bench/results/nvidia-h100/config-times-fma*.json.gz --like bench/results/nvidia-h200/config-times-*.json.gz

Both GPUs have multiplied the same matrices by the same configs, those whose names begin as the regular expression `--by`
says. The median ratio of their times is that of the two GPUs for this matrix, N and type; the time of every other config
is multiplied by it. Products that only one of them has measured are left out. `--through`: the other GPU has measured
`--by` in these files instead, so that all times of `--taken` are carried over: where a kernel has changed since.
`--in-place`: only files of products whose column-major B was read in place; else only others. Prints how the ratios
lie. Standard library only.
"""
import argparse
import gzip
import json
import math
import re
import statistics


def read(path):
    with gzip.open(path, "rt") as file:
        return json.load(file)


def times_of(case):
    return case.get("configs", case.get("rows", {}))


def key_of(matrix, case):
    return matrix["name"], matrix["checksum"], case.get("type", "fp32"), case["cols"]


def products(document, in_place):
    """Each product's key and its times, if all were read in place, or all were not, as asked."""
    if document.get("in_place", False) != in_place:
        return
    for matrix in document["matrices"]:
        for case in matrix["cases"]:
            yield key_of(matrix, case), times_of(case)


def matching(times, pattern):
    return {name: us for name, us in times.items() if re.match(pattern, name) and us}


def least_times(paths, asked):
    """The least time of each config of `--by` for each product, and the machine."""
    all_times, machine = {}, None
    for path in paths:
        document = read(path)
        for key, times in products(document, asked.in_place):
            machine = document["machine"]
            known = all_times.setdefault(key, {})
            for name, us in matching(times, asked.by).items():
                known[name] = min(us, known.get(name, math.inf))
    return all_times, machine


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--by", required=True, help="the configs that both have measured")
    parser.add_argument("--taken", nargs="+", required=True, help="files of the other GPU")
    parser.add_argument("--through", nargs="+", default=[], help="files of the other GPU that hold --by instead")
    parser.add_argument("--like", nargs="+", required=True, help="files of this one")
    parser.add_argument("--in-place", action="store_true", help="products whose column-major B was read in place")
    parser.add_argument("--out", required=True)
    asked = parser.parse_args()

    here, machine = least_times(asked.like, asked)
    taken = [read(path) for path in asked.taken]
    there, _ = least_times(asked.through or asked.taken, asked)
    ratios = {key: statistics.median(here[key][name] / us for name, us in times.items() if name in here[key])
              for key, times in there.items() if here.get(key, {}).keys() & times.keys()}

    out = None
    for document in taken:
        for matrix in document["matrices"]:
            cases = []
            for case in matrix["cases"]:
                key = key_of(matrix, case)
                if key not in ratios:
                    continue
                own = {name: round(us * ratios[key], 3) for name, us in times_of(case).items()
                       if us and (asked.through or not re.match(asked.by, name))}
                cases.append({"cols": case["cols"], "type": case.get("type", "fp32"), "configs": own, "rivals": {}})
            matrix["cases"] = cases
        document["matrices"] = [m for m in document["matrices"] if m["cases"]]
        if out is None:
            out = document | {"machine": machine, "taken_on": document["machine"], "carried_over_by": asked.by}
        else:
            out["matrices"] += document["matrices"]
    with gzip.GzipFile(asked.out, "wb", mtime=0) as file:
        file.write(json.dumps(out).encode())
    ratios = list(ratios.values())
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"{len(ratios)} products, this GPU's time over the other's: quartiles {low:.3f}, {middle:.3f}, {high:.3f}, "
          f"least {min(ratios):.3f}, most {max(ratios):.3f}")


if __name__ == "__main__":
    main()
