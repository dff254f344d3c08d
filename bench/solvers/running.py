"""What the programs of this folder share: a solve by `bcsc solve`, right-hand sides, tables, results."""

import argparse
import array
import datetime
import json
import os
import random
import shlex
import subprocess
import sys


def parser_of(text):
    """The options that all programs take."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="bcsc", help="the command-line program (default: bcsc of the PATH)")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="where it computes (default cpu)")
    parser.add_argument("--threads", type=int, default=0, help="of the CPU (default: all); 1 where others compute, too")
    parser.add_argument("--json", help="write everything that was measured to this file")
    return parser


class Runner:
    """Runs solves and remembers them with their command lines."""

    def __init__(self, options):
        self.options = options
        self.solves = []
        version = subprocess.run([options.program, "--version"], stdout=subprocess.PIPE, text=True, check=True)
        self.version = version.stdout.strip()

    def solve(self, matrix, *arguments, **facts):
        """The JSON object of one solve, which need not converge. Ends the program where there is no such object."""
        command = [self.options.program, "solve", matrix, "--device", self.options.device, "--threads",
                   str(self.options.threads), "--json", *arguments]
        print("running", shlex.join(command[1:]), file=sys.stderr)
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        try:
            result = json.loads(done.stdout)
        except json.JSONDecodeError:
            result = {}
        if done.returncode not in (0, 3) or "iterations" not in result:
            sys.exit(f"{shlex.join(command)}: exit status {done.returncode}: {result.get('error', done.stdout)}")
        self.solves.append({"arguments": command[2:], **facts, **result})
        return result

    def finish(self, **summary):
        """Says where all of it ran, and writes it where asked for."""
        devices = sorted({run["device"] for run in self.solves})
        print(f"\n{self.version}; {', '.join(devices) or 'nothing was run'}; load of the host {os.getloadavg()[0]:.1f}")
        if self.options.json:
            with open(self.options.json, "w", encoding="utf-8") as file:
                json.dump({"version": self.version, "when": datetime.datetime.now().isoformat(timespec="seconds"),
                           "command": shlex.join(sys.argv), **summary, "solves": self.solves}, file, indent=1)


def random_vector(size, seed):
    """Uniform in [-1, 1), the same everywhere."""
    draw = random.Random(seed).random
    return array.array("d", (2 * draw() - 1 for _ in range(size)))


def write_npy(path, values):
    """One column of doubles as NumPy stores it."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(values)}, 1), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode("ascii"))
        values.tofile(file)


def print_table(header, rows):
    """In Markdown."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
