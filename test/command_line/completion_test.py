"""Completion and manual pages say of every command what its --help says.

    completion_test.py BCSC COMMAND...    (the commands whose pages are installed)
"""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

COMPLETE_IN_BASH = """source "$0"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_bcsc
printf '%s\\n' "${COMPREPLY[@]}"
"""
OPTION = re.compile(r"^  ((?:-\w,)*(?:--?[\w-]+))", re.MULTILINE)
CHOICE = re.compile(r"^  (?:-\w,)*(--[\w-]+) \w+:\{([^}]*)\}(?:=\S*)?( \.\.\.)?", re.MULTILINE)
FAILURES, SKIPS, PASSED = [], [], []


def check(what, holds, *found):
    (PASSED if holds else FAILURES).append(what)
    if not holds:
        print(f"FAILED   {what}: {found}")


def skip(what):
    SKIPS.append(what)
    print(f"skipped  {what}")


def output_of(*command, **more):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          **more).stdout


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        self.commands = re.findall(r"^  (\w+) ", output_of(path, "--help").split("Subcommands:")[1], re.MULTILINE)
        self.help = {name: output_of(path, name, "--help") for name in self.commands}
        self.options = {name: [o for group in OPTION.findall(self.help[name].split("\nExamples:")[0])
                               for o in group.split(",")] for name in self.commands}
        self.script = {}
        for shell in ("bash", "zsh", "fish"):
            self.script[shell] = folder / f"bcsc.{shell}"
            self.script[shell].write_text(output_of(path, "completion", shell))

    def in_bash(self, *words):
        found = output_of("bash", "--norc", "-c", COMPLETE_IN_BASH, self.script["bash"], "bcsc", *words,
                          cwd=self.folder)
        return [word for word in found.split("\n") if word]

    def in_fish(self, line):
        found = output_of("fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", self.script["fish"],
                          line, cwd=self.folder)
        return [word.split("\t")[0] for word in found.split("\n") if word]

    def at_zsh(self, keys, last):
        """What an interactive zsh shows after these keys until it shows `last`: only its line editor completes."""
        home = tempfile.TemporaryDirectory()
        shutil.copy(self.script["zsh"], pathlib.Path(home.name, "_bcsc"))
        ours, its = pty.openpty()
        environment = {"PATH": f"{self.path.parent}:{os.environ['PATH']}", "TERM": "vt100", "HOME": home.name,
                       "COLUMNS": "200", "LINES": "100"}
        shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=its, stdout=its, stderr=its, start_new_session=True,
                                 cwd=self.folder, env=environment)
        os.close(its)

        def shown_until(mark, seconds=30):
            shown, end = "", time.monotonic() + seconds
            while mark not in shown and time.monotonic() < end:
                if select.select([ours], [], [], 0.1)[0]:
                    shown += re.sub(r"\x1b\[[\d;?]*[A-Za-z]|\0", "", os.read(ours, 65536).decode(errors="replace"))
            return shown

        try:
            os.write(ours, b"PROMPT=; fpath=($HOME $fpath); autoload -U compinit; compinit -u -D; echo rea''dy\n")
            shown_until("ready")
            os.write(ours, keys.encode())
            return shown_until(last).split("ready", 1)[-1]
        finally:
            shell.kill()
            shell.wait()
            os.close(ours)
            home.cleanup()


def in_bash(program):
    check("bash: commands", program.in_bash("") == program.commands, program.in_bash(""))
    check("bash: a command begun", program.in_bash("sp") == ["spmm"], program.in_bash("sp"))
    check("bash: the program's options", sorted(program.in_bash("-")) == ["--help", "--version", "-h"])
    for name in program.commands:
        found = program.in_bash(name, "-")
        check(f"bash: options of {name}", sorted(found) == sorted(program.options[name]), found, program.options[name])
        for option, words, repeats in CHOICE.findall(program.help[name]):
            expected = words.split(",")
            for line in ([option, ""], [option, "="], [option, "=", expected[0][:1]]):
                begun = line[-1].replace("=", "")
                wanted = [word for word in expected if word.startswith(begun)]
                found = program.in_bash(name, *line)
                check(f"bash: {name} {line}", found == wanted, found, wanted)
            if repeats:
                listed = program.in_bash(name, option, f"{expected[1]},")
                wanted = [f"{expected[1]},{word}" for word in expected]
                check(f"bash: list of {name} {option}", listed == wanted, listed)
    check("bash: no words for a number", program.in_bash("spmm", "--cols", "") == [])


def files_and_names_in_bash(program):
    (program.folder / "some where").mkdir()
    (program.folder / "a matrix.mtx").write_text("")
    here = sorted(path.name for path in program.folder.iterdir())
    for words in (["info", ""], ["spmm", "--b", ""], ["solve", "--solution", ""], ["convert", "a", ""]):
        check(f"bash: files at {words}", sorted(program.in_bash(*words)) == here, program.in_bash(*words))
    check("bash: a file begun", program.in_bash("info", "a m") == ["a matrix.mtx"], program.in_bash("info", "a m"))
    check("bash: folders", program.in_bash("fetch", "--cache", "") == ["some where"])
    kernels = json.loads(output_of(program.path, "kernels", "--json"))["kernels"]
    algorithms = {kernel["algorithm"] for kernel in kernels}
    check("bash: algorithms", set(program.in_bash("kernels", "--algorithm", "")) == algorithms)
    check("bash: kernels", set(program.in_bash("spmm", "--kernel", "")) == algorithms | {k["name"] for k in kernels})
    check("bash: commands of man", program.in_bash("man", "") == program.commands, program.in_bash("man", ""))


def in_zsh(program):
    script = program.script["zsh"].read_text()
    for name in program.commands:
        part = script.split(f"\n    {name})\n")[1].split(" ;;\n")[0]
        found = re.findall(r"^ +'\*?(--?[\w-]+)[=+]?\[", part, re.MULTILINE)
        check(f"zsh: options of {name}", sorted(found) == sorted(program.options[name]), found)
    if shutil.which("zsh"):
        done = subprocess.run(["zsh", "-f", "-n", program.script["zsh"]], capture_output=True, text=True)
        check("zsh: reads it", done.returncode == 0 and done.stderr == "", done.stderr)
        begun = program.at_zsh("bcsc spmm --layo\t\x01echo '<\x05>'\n", "\n<bcsc spmm --layout")
        check("zsh: option", "\n<bcsc spmm --layout" in begun, begun)
        words = program.at_zsh("bcsc spmm --type=\t", "fp64")
        check("zsh: words", re.search(r"\nbf16 +fp16 +fp32 +fp64", words), words)
        listed = program.at_zsh("bcsc \t", "\nspmm ")
        check("zsh: commands", all(f"\n{name} " in listed for name in program.commands if name < "spmm"), listed)
    else:
        skip("zsh: reads it, completes: no zsh here")


def in_fish(program):
    script = program.script["fish"].read_text()
    for name in program.commands:
        lines = [line for line in script.splitlines() if f"_seen_subcommand_from {name}'" in line]
        found = [f"{'--' if dash == 'l' else '-'}{option}" for line in lines
                 for dash, option in re.findall(r" -([ls]) ([\w-]+)", line.split(" -d ")[0])]
        check(f"fish: options of {name}", sorted(found) == sorted(program.options[name]), found)
    if not shutil.which("fish"):
        return skip("fish: completes: no fish here")
    check("fish: commands", sorted(program.in_fish("bcsc ")) == sorted(program.commands), program.in_fish("bcsc "))
    check("fish: option", program.in_fish("bcsc spmm --layo") == ["--layout"], program.in_fish("bcsc spmm --layo"))
    check("fish: words", sorted(program.in_fish("bcsc spmm --type ")) == ["bf16", "fp16", "fp32", "fp64"])
    check("fish: number", program.in_fish("bcsc spmm --cols ") == [], program.in_fish("bcsc spmm --cols "))


def pages(program):
    """Checks each page with the tools installed here, and that it lists each option."""
    for name in [None, *program.commands]:
        page = program.folder / f"{'-'.join(filter(None, ['bcsc', name]))}.1"
        page.write_text(output_of(program.path, "man", *filter(None, [name])))
        items = re.findall(r"^\.TP\n(.*)$", page.read_text(), re.MULTILINE)
        found = [o.replace("\\-", "-") for item in items for o in re.findall(r"\\fB(\\-.*?)\\fR", item)]
        expected = program.options[name] if name else ["--help", "-h", "--version"]
        check(f"{page.name}: options", sorted(found) == sorted(expected), found, expected)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", page], capture_output=True, text=True)
            check(f"{page.name}: groff", done.returncode == 0 and done.stderr == "", done.stderr)
        if shutil.which("mandoc"):
            done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", page], capture_output=True, text=True)
            told = [line for line in done.stdout.splitlines() if "missing date" not in line]  # it has none on purpose
            check(f"{page.name}: mandoc", told == [], told)
    for tool in ("groff", "mandoc"):
        if not shutil.which(tool):
            skip(f"pages: no {tool} here")
    check("bcsc.1: commands", all(f"\n\\fB{name}\\fR\n" in (program.folder / "bcsc.1").read_text()
                                  for name in program.commands))


def main():
    path, installed = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        program = Program(path, pathlib.Path(folder))
        check("pages that are installed", sorted(installed) == sorted(program.commands), installed, program.commands)
        for test in (in_bash, in_zsh, in_fish, pages, files_and_names_in_bash):
            test(program)
    print(f"{len(PASSED)} passed, {len(FAILURES)} failed, {len(SKIPS)} skipped")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
