#!/usr/bin/env python3
"""Runs the tests of a build folder through `meson test` and counts cases: each GoogleTest case is one, a script is one.

The last line is "N passed, F failed, M skipped". Exit status 1 if anything failed, a test executable left no result
(it crashed or hung), or no case ran at all.

A test executable is one whose name ends in _test; its cases are read from the XML file GoogleTest writes. Tests that share
an executable's cases (GTEST_TOTAL_SHARDS) have a GTEST_OUTPUT of their own.
"""
import argparse
import collections
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

SCRIPT_SKIPPED = 77  # the exit status by which a script says that it skipped
# Where a test keeps its files: records are published, and name no folder of a machine.
SCRATCH_FOLDER = re.compile(r"/\S*/bcsc-test-\w+/")
NEEDS_GPU = re.compile(r"\b(gpu|cuda|device)\b", re.IGNORECASE)


@dataclasses.dataclass
class Outcome:
    passed: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)
    skips: list[tuple[str, str]] = dataclasses.field(default_factory=list)  # (case, reason)

    def add(self, other: "Outcome") -> None:
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips

    def last_line(self) -> str:
        return f"{self.passed} passed, {len(self.failures)} failed, {len(self.skips)} skipped"

    def ok(self) -> bool:
        return not self.failures and self.passed > 0


def one_line(text: str | None) -> str:
    lines = [line.strip() for line in (text or "").splitlines()]
    # GoogleTest puts the source position on a line of its own in front of the message.
    lines = [line for line in lines if line and not re.fullmatch(r"\S+\.(cpp|hpp|cu|cuh):\d+", line)]
    return SCRATCH_FOLDER.sub("", " ".join(lines))[:300] or "no reason given"


def read_gtest_xml(path: pathlib.Path, name: str, exit_status: int | None = 0) -> Outcome:
    """The cases of one executable. A missing or broken file is one failure, as is a bad end after good cases."""
    try:
        tree = ElementTree.parse(path)
    except FileNotFoundError:
        return Outcome(failures=[f"{name}: left no results (exit status {exit_status})"])
    except ElementTree.ParseError as problem:
        return Outcome(failures=[f"{name}: its results cannot be read: {problem}"])
    outcome = Outcome()
    for case in tree.iter("testcase"):
        label = f"{name}: {case.get('classname')}.{case.get('name')}"
        failure, skipped = case.find("failure"), case.find("skipped")
        if failure is not None:
            outcome.failures.append(f"{label}: {one_line(failure.get('message') or failure.text)}")
        elif skipped is not None or case.get("result") == "skipped":
            text = skipped.get("message") or skipped.text if skipped is not None else None
            outcome.skips.append((label, one_line(text)))
        elif case.get("status") == "run":
            outcome.passed += 1
    # Failures outside of any case (SetUpTestSuite, environments) are counted by the suite alone.
    if not outcome.failures and int(tree.getroot().get("failures", "0")) > 0:
        outcome.failures.append(f"{name}: a failure outside of its cases")
    if exit_status not in (0, None) and not outcome.failures:
        outcome.failures.append(f"{name}: exit status {exit_status} although no case failed")
    if not outcome.passed and not outcome.failures and not outcome.skips:
        outcome.failures.append(f"{name}: ran no case")
    return outcome


def introspect_tests(meson: list[str], build: pathlib.Path) -> dict[str, dict]:
    text = subprocess.run([*meson, "introspect", "--tests", str(build)], check=True, capture_output=True, text=True).stdout
    return {test["name"]: test for test in json.loads(text)}


def plain_name(logged: str) -> str:
    """Meson logs "suite - project:name", older ones "project:suite / name"."""
    return re.split(r" - | / ", logged)[-1].split(":", 1)[-1].strip()


def executable_of(test: dict) -> pathlib.Path | None:
    program = pathlib.Path(test["cmd"][0])
    return program if program.name.endswith("_test") else None


def results_of(test: dict, program: pathlib.Path, results: pathlib.Path) -> pathlib.Path:
    own = test.get("env", {}).get("GTEST_OUTPUT", "")
    return pathlib.Path(own.removeprefix("xml:")) if own else results / f"{program.name}.xml"


def judge(record: dict, test: dict, results: pathlib.Path) -> Outcome:
    """What one line of Meson's log says, with the cases of the executable behind it."""
    name, status = test["name"], record.get("returncode")
    if record["result"] == "TIMEOUT":
        return Outcome(failures=[f"{name}: timed out after {record.get('duration', 0):.0f} s"])
    program = executable_of(test)
    if program is not None:
        return read_gtest_xml(results_of(test, program, results), name, status)
    if record["result"] == "OK":
        return Outcome(passed=1)
    output = (record.get("stdout") or "") + (record.get("stderr") or "")
    if record["result"] == "SKIP" or status == SCRIPT_SKIPPED:
        return Outcome(skips=[(name, one_line(output.strip().splitlines()[-1] if output.strip() else None))])
    return Outcome(failures=[f"{name}: {record['result'].lower()}, exit status {status}"])


def run(build: pathlib.Path, meson: list[str], jobs: int, suites: list[str],
        names: list[str]) -> tuple[Outcome, dict[str, float]]:
    """The outcome, and the seconds of each program."""
    results = build / "test-results"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    log = build / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    tests = introspect_tests(meson, build)
    command = [*meson, "test", "-C", str(build), "--num-processes", str(jobs), "--print-errorlogs"]
    for suite in suites:
        command += ["--suite", suite]
    environment = os.environ | {"GTEST_OUTPUT": f"xml:{results}/", "GTEST_COLOR": "no"}
    subprocess.run(command + names, env=environment, stdin=subprocess.DEVNULL, check=False)
    outcome, seconds = Outcome(), {}
    if not log.is_file():
        outcome.failures.append("meson test ran nothing (its output is above)")
        return outcome, seconds
    for line in log.read_text(errors="replace").splitlines():
        record = json.loads(line)
        test = tests.get(plain_name(record["name"]))
        if test is None:
            outcome.failures.append(f"{record['name']}: a test that the build folder does not know")
            continue
        seconds[test["name"]] = round(record.get("duration", 0.0), 1)
        outcome.add(judge(record, test, results))
    return outcome, seconds


def report(outcome: Outcome) -> None:
    by_reason = collections.Counter((case.split(":")[0], reason) for case, reason in outcome.skips)
    for (program, reason), count in sorted(by_reason.items()):
        print(f"skipped {count} in {program}: {reason}")
    for failure in outcome.failures:
        print(f"FAILED {failure}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--meson", default="meson", help="the Meson to call")
    parser.add_argument("--jobs", type=int, default=2, help="test executables at a time")
    parser.add_argument("--suite", action="append", default=[], help="only this suite (repeatable)")
    parser.add_argument("--require-gpu", action="store_true", help="a case skipped for want of a GPU is a failure")
    parser.add_argument("--since", type=float, help="when the whole check began (seconds since 1970): reports the time since then")
    parser.add_argument("--json", type=pathlib.Path, help="also writes the counts, failures and skips here")
    parser.add_argument("--also-passed", action="append", default=[], metavar="CHECK", help="counts a check made before")
    parser.add_argument("--also-failed", action="append", default=[], metavar="CHECK")
    parser.add_argument("--also-skipped", action="append", default=[], metavar="CHECK:REASON")
    parser.add_argument("names", nargs="*", help="only these tests")
    arguments = parser.parse_args()

    outcome, seconds = run(arguments.build.resolve(), arguments.meson.split(), arguments.jobs, arguments.suite,
                           arguments.names)
    if outcome.passed == 0 and not outcome.failures:
        outcome.failures.append("no test case passed at all")
    if arguments.require_gpu:
        wanting = [(case, reason) for case, reason in outcome.skips if NEEDS_GPU.search(reason)]
        outcome.skips = [skip for skip in outcome.skips if skip not in wanting]
        outcome.failures += [f"{case}: skipped on a machine with a GPU: {reason}" for case, reason in wanting]
    outcome.add(Outcome(len(arguments.also_passed), [f"{check}: see above" for check in arguments.also_failed],
                        [tuple(check.split(":", 1)) for check in arguments.also_skipped]))
    print()
    report(outcome)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({
            "passed": outcome.passed, "failed": len(outcome.failures), "skipped": len(outcome.skips),
            "failures": outcome.failures, "skips": outcome.skips, "test_seconds": round(sum(seconds.values()), 1),
            "seconds": dict(sorted(seconds.items(), key=lambda item: -item[1]))}, indent=1) + "\n")
    if arguments.since:
        elapsed = int(time.time() - arguments.since)
        print(f"all in {elapsed // 60} min {elapsed % 60} s")
    print(outcome.last_line())
    return 0 if outcome.ok() else 1


if __name__ == "__main__":
    sys.exit(main())
