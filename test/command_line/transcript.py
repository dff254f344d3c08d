"""An hour's use of the command line, compared with its record in docs/command-line-transcript.md.

    transcript.py BCSC [--write]    (--write renews the record)

What differs between machines and moments is hidden: times, processors, the plan's choice, memory.
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

RECORD = pathlib.Path(__file__).resolve().parents[2] / "docs" / "command-line-transcript.md"
BEGIN = """# An hour at the command line

Made by `test/command_line/transcript.py BCSC --write`; a test compares it with what the program says. What differs
between machines is in angle brackets. Options and exit codes: [command-line.md](command-line.md).
"""

SMALL = "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 4\n2 1 -1\n2 2 4\n3 3 4\n"
BROKEN = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 9 1\n"
CPU = "--device cpu --threads 1"
# Chapters of lines as they are typed; {commands} stands for each command that the program has.
CHAPTERS = {
    "What there is": ["bcsc", "bcsc --version", "bcsc --help", "bcsc formats", "bcsc devices", "bcsc generate --list",
                      "bcsc kernels --device cpu --type bf16 --algorithm mma"],
    "A first matrix": ["cat small.mtx", f"bcsc info small.mtx --no-picture {CPU}",
                       f"bcsc info - {CPU} --no-picture <small.mtx",
                       f"bcsc spmm small.mtx --cols 4 --kernel reference-csr {CPU}",
                       f"cat small.mtx | bcsc spmm - --cols 4 --kernel reference-csr {CPU}",
                       f"bcsc solve small.mtx --tolerance 1e-8 {CPU}",
                       f"bcsc solve - --tolerance 1e-8 {CPU} <small.mtx"],
    "Matrices made and converted": [
        "bcsc generate stencil5:4,4 grid.mtx --symmetric", "bcsc convert grid.mtx grid.bcsc --type fp32",
        f"bcsc info grid.bcsc {CPU}", "bcsc convert grid.bcsc blocks.bcsc --format bsr --block 2x2",
        "bcsc convert blocks.bcsc - --to mtx 2>/dev/null | sed -n 1,3p",
        "bcsc convert grid.mtx grid.bcsc --json --m-block 8 --format bcsc | grep '\"format\"'"],
    "Eigenvalues": [f"bcsc eigs small.mtx -k 2 {CPU}",
                    f"bcsc eigs small.mtx -k 1 --largest --json {CPU} | grep '\"which\"'"],
    "A benchmark": [
        f"bcsc bench small.mtx --cols 4 --warm-only --seconds 0.001 --out run.json {CPU} >run.txt",
        "bcsc bench --compare run.json run.json | grep 'ours take'"],
    # Its table fits whatever the kernels are called.
    "Tuning": [f"COLUMNS=120 bcsc tune small.mtx --cols 4 --effort check --cache tuned {CPU}",
               "bcsc cache show --cache tuned",
               f"bcsc tune small.mtx --cols 4 --effort check --cache tuned {CPU}", "bcsc cache clear --cache tuned",
               "bcsc cache show --cache tuned", f"bcsc calibrate --quick --cache off {CPU}"],
    "Shells and manuals": ["bcsc completion fish | sed -n 1,2p", "bcsc man | sed -n 1,3p",
                           "bcsc man spmm | sed -n 2,6p"],
    "In 40 columns": [f"COLUMNS=40 bcsc info grid.mtx --no-picture {CPU}",
                      f"COLUMNS=40 bcsc solve small.mtx --tolerance 1e-8 {CPU}"],
    "Mistakes": [
        "bcsc spm small.mtx", "bcsc spmm small.mtx --colz 4", "bcsc spmm small.mtx --cols 0",
        "bcsc spmm small.mtx --type fp8", "bcsc spmm small.mtx --cols many", "bcsc spmm",
        f"bcsc spmm small.mtx --kernel quantum {CPU}", f"bcsc spmm small.mtx --b none.npy {CPU}",
        f"bcsc solve stencl5:4,4 {CPU}", f"bcsc solve uniform:4,4,0.5 {CPU}",
        f"bcsc solve banded:9,2 --tolerance 0 {CPU}", f"bcsc info elasticity:3,3 {CPU}", f"bcsc info broken.mtx {CPU}",
        f"bcsc info none.mtx {CPU}", f"bcsc info none.mtx --json {CPU}", "bcsc convert small.mtx out.xyz",
        "bcsc convert small.mtx out.bcsc --m-block 0", "bcsc convert small.mtx out.bcsc --m-block many",
        "bcsc convert small.mtx out.mat", "bcsc convert small.mtx - --to mtx --json", "bcsc generate banded:9,2",
        "bcsc generate banded:9 out.mtx", "bcsc fetch", "bcsc fetch --spd", "bcsc fetch HB/nothing --cache cache",
        "bcsc kernels --type fp8", "bcsc bench none.mtx", "bcsc bench small.mtx --ful", "bcsc completion csh",
        "bcsc man spm", "bcsc formats one"],
    "Help of each command, 80 columns": ["bcsc {command} --help"],
    "Help in 40 columns": ["COLUMNS=40 bcsc --help", "COLUMNS=40 bcsc spmm --help"],
    "Help in 200 columns": ["COLUMNS=200 bcsc --help", "COLUMNS=200 bcsc convert --help"],
}
HIDDEN = [
    (re.compile(r"\d[\d.e+-]* (?:ns|us|ms|s|min)\b"), "<time>"),
    (re.compile(r"[\d.]+ [KMGTPE]?i?B are available"), "<memory> are available"),
    (re.compile(r"\bcpu: \d+ threads?, \w+"), "<cpu>"),
    # Where a line is wrapped depends on how long the time is.
    (re.compile(r",\s+(read|generated)\s+in\s+<time>"), r", \1 in <time>"),
    # Advice goes on behind four columns where it is wrapped.
    (re.compile(r"^(\s*(?:why|kernel|A is stored as|where|product|cuda|gpu \d+|best|measured|N = \d+): )"
                r".*(?:\n    \S.*)*$", re.MULTILINE), r"\1<of the machine>"),
    # What tuning finds and remembers.
    (re.compile(r"^fastest of \d+ configs .*$", re.MULTILINE), "fastest of <of the machine>"),
    (re.compile(r"^(  kernel +m_block +time .*samples +products\n)(?:  .*\n)+", re.MULTILINE), r"\1  <configs>\n"),
    (re.compile(r" tables \w+ \| .* \| fp32 pattern \w+ "), " tables <hash> | <machine> | fp32 pattern <hash> "),
    (re.compile(r"kernel=\S+ m_block=\d+ reordered=\d seconds=\S+"), "<config and time>"),
    (re.compile(r"\d[\d.]*e[-+]\d\d\b"), "<small>"),
    (re.compile(r"^0\.\d+\.\d+$", re.MULTILINE), "<version>"),
    (re.compile(r"^.*[┤└].*\n(?:.*[┤└].*\n)*.*\d+\n", re.MULTILINE), "<chart>\n"),
]
TIMED = re.compile(r"^  kernel +m_block.*\n(?:  .*\n)+", re.MULTILINE)


def hidden(text):
    # A line of measured times, columns and all.
    text = TIMED.sub(lambda found: "\n".join(
        re.sub(r" {2,}", "  ", line) for line in found[0].splitlines()) + "\n", text)
    text = re.sub(r"(<?\d\S* (?:us|ms|s))  \S+  \S+  (ok|FAILED)", r"\1  <rate>  <error>  \2", text)
    for pattern, by in HIDDEN:
        text = pattern.sub(by, text)
    return text


def said(line, program, folder):
    """What a shell shows of a line: stdout and stderr as they come, and an exit code other than 0."""
    environment = {"PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(folder), "COLUMNS": "80",
                   "LC_ALL": "C", "CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    shown = done.stdout if "--help" in line else hidden(done.stdout)
    text = "\n".join(part.rstrip() for part in shown.rstrip("\n").split("\n"))
    code = f"\n(exit code {done.returncode})" if done.returncode else ""
    return f"$ {line}\n{text}{code}"


def require_help_within(width, command, program):
    """Except for commands to type and the names of options, no line is wider."""
    text = said(f"COLUMNS={width} bcsc {command} --help", program, program.parent)
    options, _, examples = text.partition("\nExamples:\n")
    for line in options.splitlines()[1:]:
        assert len(line) <= width or re.match(r"  (-|\w+ \w+:)", line), (width, line)
    for line in examples.splitlines():
        assert len(line) <= width or line.startswith("  "), (width, line)


def transcript(program):
    listed = said("bcsc --help", program, program.parent).split("Subcommands:")[1]
    commands = re.findall(r"^  (\w+) ", listed, re.MULTILINE)
    for width in (40, 80, 200):
        for one in ["", *commands]:
            require_help_within(width, one, program)
    text = BEGIN
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "small.mtx").write_text(SMALL)
        (folder / "broken.mtx").write_text(BROKEN)
        for chapter, lines in CHAPTERS.items():
            text += f"\n## {chapter}\n"
            for line in lines:
                for typed in [line.format(command=one) for one in commands] if "{command}" in line else [line]:
                    text += f"\n```\n{said(typed, program, folder)}\n```\n"
        untouched = sorted(path.name for path in folder.iterdir())
    assert not any(name.startswith("out.") for name in untouched), untouched
    missing = [one for one in commands if f"$ bcsc {one}" not in text]
    assert not missing, missing
    return text


def has_lapack(program):
    done = subprocess.run([program, "eigs", "stencil5:2,2", "-k", "1", "--device", "cpu"], capture_output=True,
                          text=True)
    return "LAPACK cannot be loaded" not in done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if not has_lapack(given.program.resolve()):
        print("skipped: eigs needs LAPACK, which is not here")
        return 77  # Meson's code for it
    found = transcript(given.program.resolve())
    if given.write:
        RECORD.write_text(found)
        return 0
    recorded = RECORD.read_text()
    changes = list(difflib.unified_diff(recorded.splitlines(), found.splitlines(), "recorded", "said", lineterm=""))
    print("\n".join(changes) or "the transcript is as recorded")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
