#!/usr/bin/env python3
"""Which matrices the plan's choice of kernel was fitted to, so that a report can tell them from the others.

    bench/report/fitted.py [bench/results/nvidia-h200/fit.json]

fit.json is the command line of bench/fit_choice that made lib/choice/costs/nvidia-h200.gz. A matrix is *seen* if the choice
was fitted to its times, *unseen* if it was timed with the others but left out of the fit (they judge it), and *fresh* if
the fit has no times of it at all. Standard library only.
"""
import json
import pathlib
import random
import sys

from table import read_run

FIT = pathlib.Path(__file__).resolve().parents[1] / "results" / "nvidia-h200" / "fit.json"
KINDS = ["seen", "unseen", "fresh"]


def mersenne_twister(seed):
    """The outputs of std::mt19937(seed), 32 bits each."""
    state = [seed]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + i) & 0xFFFFFFFF)
    numbers = random.Random()
    numbers.setstate((3, (*state, 624), None))
    return lambda: numbers.getrandbits(32)


def draw_seen(names, seed):
    """Those that fit_choice fits to: two thirds of the names, drawn by the seed; all of them with seed 0."""
    order = sorted(names)
    if seed == 0:
        return set(order)
    number = mersenne_twister(seed)
    for i in range(len(order), 1, -1):
        j = number() % i
        order[i - 1], order[j] = order[j], order[i - 1]
    return set(order[:(2 * len(order) + 2) // 3])


class Fit:
    def __init__(self, path=FIT):
        path = pathlib.Path(path)
        command = json.loads(path.read_text(encoding="utf-8"))
        self.files = [*command["files"], *command["learn"]]
        self.runs = {name: read_run(path.parent / name, "bcsc-config-times-1", "bench/config_times") for name in self.files}
        learned = self._matrices(command["learn"])
        judged = self._matrices(command["files"]) - learned
        self.seen = learned | draw_seen(judged, command["seed"])
        self.unseen = judged - self.seen

    def _matrices(self, files):
        return {m["name"] for name in files for m in self.runs[name]["matrices"] if m["cases"]}

    def kind(self, matrix):
        return "seen" if matrix in self.seen else "unseen" if matrix in self.unseen else "fresh"


def main():
    fit = Fit(*sys.argv[1:2])
    for kind in ["seen", "unseen"]:
        print(f"{kind}: {' '.join(sorted(getattr(fit, kind)))}")


if __name__ == "__main__":
    main()
