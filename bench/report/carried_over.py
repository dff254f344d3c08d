#!/usr/bin/env python3
"""Times of a new kernel, taken on another GPU, as they would be on the one that all others were measured on.

    bench/report/carried_over.py --by mma --out bench/results/nvidia-h200/config-times-fma.json.gz \\
        --taken bench/results/nvidia-h100/config-times-fma*.json.gz --like bench/results/nvidia-h200/config-times-*.json.gz

Both GPUs have multiplied the same matrices by the same configs of `--by`. The median ratio of their times is that of the
two GPUs for this matrix, N and type; the time of every other config is multiplied by it. Products that only one of them
has measured are left out. Prints how the ratios lie. Standard library only.
"""
import argparse
import gzip
import json
import math
import statistics


def read(path):
    with gzip.open(path, "rt") as file:
        return json.load(file)


def times_of(case):
    return case.get("configs", case.get("rows", {}))


def products(document):
    """Each product's name and its case; none of those read in place."""
    if document.get("in_place"):
        return
    for matrix in document["matrices"]:
        for case in matrix["cases"]:
            yield (matrix["name"], matrix["checksum"], case.get("type", "fp32"), case["cols"]), case


def of_algorithm(times, algorithm):
    return {name: us for name, us in times.items() if name.startswith(algorithm + "-") and us}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--by", required=True, help="the algorithm that both have measured")
    parser.add_argument("--taken", nargs="+", required=True, help="files of the other GPU")
    parser.add_argument("--like", nargs="+", required=True, help="files of this one")
    parser.add_argument("--out", required=True)
    asked = parser.parse_args()

    here, machine = {}, None
    for path in asked.like:
        document = read(path)
        for key, case in products(document):
            for name, us in of_algorithm(times_of(case), asked.by).items():
                machine = document["machine"]
                known = here.setdefault(key, {})
                known[name] = min(us, known.get(name, math.inf))

    ratios, out = [], None
    for path in asked.taken:
        document = read(path)
        for matrix in document["matrices"]:
            cases = []
            for case in matrix["cases"]:
                key = (matrix["name"], matrix["checksum"], case.get("type", "fp32"), case["cols"])
                there, known = of_algorithm(times_of(case), asked.by), here.get(key, {})
                of_both = [known[name] / us for name, us in there.items() if name in known]
                if not of_both:
                    continue
                ratios.append(statistics.median(of_both))
                own = {n: round(us * ratios[-1], 3) for n, us in times_of(case).items()
                       if us and n not in there}
                cases.append({"cols": case["cols"], "type": key[2], "configs": own, "rivals": {}})
            matrix["cases"] = cases
        document["matrices"] = [m for m in document["matrices"] if m["cases"]]
        if out is None:
            out = document | {"machine": machine, "taken_on": document["machine"], "carried_over_by": asked.by}
        else:
            out["matrices"] += document["matrices"]
    with gzip.GzipFile(asked.out, "wb", mtime=0) as file:
        file.write(json.dumps(out).encode())
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"{len(ratios)} products, this GPU's time over the other's: quartiles {low:.3f}, {middle:.3f}, {high:.3f}, "
          f"least {min(ratios):.3f}, most {max(ratios):.3f}")


if __name__ == "__main__":
    main()
