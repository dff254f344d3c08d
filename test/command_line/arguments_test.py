"""What is asked of every command line alike: values that are empty, numbers that are not decimal, too many threads; and
streams that take no message.

    arguments_test.py BCSC [--without-bench] [--sanitized]
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import traceback

CASES = []  # (name, function, arguments)
PROGRAM = []
EXPLAINED = "--help` lists what there is"


def case(name, *arguments):
    """Makes a case of the function with these arguments; repeated, several."""
    def add(function):
        CASES.append((f"{function.__name__}: {name}", function, arguments))
        return function
    return add


def run(*arguments, streams="", environment=None, addresses=None):
    """`streams`: redirections of a shell. `addresses`: bytes that the process may map."""
    def limit():
        if addresses is not None:
            resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
    return subprocess.run(["sh", "-c", f'exec "$0" "$@" {streams}', *PROGRAM, *arguments], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=300, preexec_fn=limit,
                          env=os.environ | (environment or {}))


def told(done, code=1):
    """The error's message and code, of a command with --json."""
    assert done.returncode == code, done
    error = json.loads(done.stdout)["error"]
    assert error["message"] in done.stderr, done
    return error["message"], error["code"]


def works(*arguments, **how):
    done = run(*arguments, **how)
    assert done.returncode == 0, done
    return done


# --- Streams that take nothing ----------------------------------------------------------------------------------------


@case("closed", "2>&-")
@case("full", "2>/dev/full")
def an_error_nobody_hears_has_its_exit_code(stderr):
    assert run("info", "missing", streams=stderr).returncode == 1
    assert run("info", "--nope", streams=stderr).returncode == 2
    assert run("frobnicate", streams=stderr).returncode == 2
    done = run("info", "missing", "--json", streams=stderr)
    assert done.returncode == 1 and json.loads(done.stdout)["error"]["code"] == "io_error", done
    done = run("info", "--nope", "--json", streams=stderr)
    assert done.returncode == 2 and json.loads(done.stdout)["error"]["code"] == "usage", done
    works("info", "m.mtx", streams=stderr)
    works("info", "m.mtx", "--progress", streams=stderr)


@case("")
def a_warning_nobody_hears_is_no_error():
    pathlib.Path("foreign.txt").write_text("no cache\n")
    works("tune", "m.mtx", "--device", "cpu", "--effort", "check", "--cache", "foreign.txt", streams="2>/dev/full")


@case("")
def no_stream_at_all_is_an_error_of_stdout_alone():
    assert run("--help", streams="<&- >&- 2>&-").returncode == 1
    assert run("info", "m.mtx", streams=">/dev/full 2>/dev/full").returncode == 1
    assert run("info", "missing", "--json", streams=">/dev/full 2>/dev/full").returncode == 1
    assert run("info", "--nope", "--json", streams=">&- 2>&-").returncode in (1, 2)


@case("both", ">&- 2>&-")
@case("stdout", ">&-")
@case("stdin, too", "<&- >&- 2>&-")
def no_message_ends_up_in_a_file(streams):
    """One that is opened while the streams are closed, and would have got their numbers."""
    works("convert", "m.mtx", "right.mtx")
    run("convert", "m.mtx", "written.mtx", streams=streams)
    assert pathlib.Path("written.mtx").read_text() == pathlib.Path("right.mtx").read_text()


# --- Memory and threads -----------------------------------------------------------------------------------------------


@case("")
def info_memory_is_known_before_a_file_is_read():
    """Without it the process is killed where the system lends what it has not."""
    pathlib.Path("huge.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n2000000000 2000000000 1\n1 1 1\n")
    message, code = told(run("info", "huge.mtx", "--json", addresses=1 << 32))
    assert code == "out_of_memory" and "2,000,000,000 columns take 37.3 GiB of memory, " in message, (code, message)


@case("info", "info")
@case("spmm", "spmm")
@case("solve", "solve")
def threads_have_a_bound(command):
    for threads in ("50000000", "99999999999"):
        message, code = told(run(command, "stencil5:9,9", "--device", "cpu", "--threads", threads, "--json"), 2)
        assert code == "usage" and message.startswith("--threads: must be at most ") and threads in message, message
    works(command, "elasticity:6,6,6", "--device", "cpu", environment={"OMP_NUM_THREADS": "100000"})


# --- Numbers ----------------------------------------------------------------------------------------------------------


@case("leading zeros", "032", 32)
@case("a digit beyond octal's", "09", 9)
@case("zero", "00", None)
def numbers_are_decimal(given, meant):
    done = run("spmm", "m.mtx", "--device", "cpu", "--cols", given, "--json")
    if meant is None:
        assert told(done, 2)[0] == "--cols: must be at least 1, not 0"
    else:
        assert json.loads(done.stdout)["cols"] == meant, done


@case("list", ["tune", "m.mtx", "--device", "cpu", "--effort", "check", "--cache", "off", "--cols", "010,7"], "N = 10:")
@case("short", ["solve", "m.mtx", "--device", "cpu", "-k", "010"], "10 right-hand sides")
@case("bound", ["fetch", "--list", "--max-rows", "011"], "2904 matrices")
def every_whole_number_is_decimal(arguments, words):
    plain = [word.replace("010", "10").replace("011", "11") for word in arguments]
    if "fetch" in arguments:
        assert works(*arguments).stdout == works(*plain).stdout
    else:
        assert words in works(*arguments).stdout


@case("hexadecimal", "0x10", "must be a whole number, not 0x10")
@case("negative", "-1", "must be at least 0, not -1")
@case("beyond 64 bits", "18446744073709551616", "must fit 64 bits, not 18446744073709551616")
@case("a fraction", "1.5", "must be a whole number, not 1.5")
def seeds_that_are_none_are_refused(seed, words):
    assert told(run("info", "m.mtx", "--seed", seed, "--json"), 2)[0] == f"--seed: {words}"
    works("info", "m.mtx", "--seed", "18446744073709551615")


# --- Empty values -----------------------------------------------------------------------------------------------------


@case("png", ["info", "m.mtx"], "--png")
@case("alpha", ["spmm", "m.mtx"], "--alpha")
@case("b", ["spmm", "m.mtx"], "--b")
@case("c", ["spmm", "m.mtx"], "--c")
@case("kernel", ["spmm", "m.mtx"], "--kernel")
@case("seed", ["info", "m.mtx"], "--seed")
@case("vectors", ["eigs", "m.mtx"], "--vectors")
@case("cache", ["tune", "m.mtx"], "--cache")
@case("cols", ["tune", "m.mtx"], "--cols")
@case("out", ["bench", "m.mtx"], "--out")
@case("report", ["bench", "m.mtx"], "--report")
def an_empty_value_is_none(arguments, option):
    before = sorted(os.listdir())
    for given in ([option, ""], [f"{option}="], [f"{option}=", "--progress"]):
        message, code = told(run(*arguments, *given, "--json"), 2)
        assert (message, code) == (f"{option}: needs a value", "usage"), (given, message)
        done = run(*arguments, *given)
        assert done.returncode == 2 and f"bcsc {arguments[0]} {EXPLAINED}" in done.stderr, done
    assert sorted(os.listdir()) == before


@case("")
def what_is_not_empty_is_a_value():
    works("spmm", "m.mtx", "--device", "cpu", "--beta", "-1", "--alpha=-2")
    works("convert", "m.mtx", "o.bcsc", "--meta=key=")
    assert told(run("spmm", "m.mtx", "-n", "", "--json"), 2)[0] == "-n: needs a value"


@case("bench")
def an_empty_second_value_is_none():
    assert told(run("bench", "--compare", "a", "", "--json"), 2)[0] == "--compare: needs a value"


# --- What commands say of themselves ----------------------------------------------------------------------------------

TUNE = ["tune", "m.mtx", "--device", "cpu", "--effort", "check"]
CALIBRATE = ["calibrate", "--quick", "--device", "cpu"]


@case("tune", TUNE)
@case("calibrate", CALIBRATE)
def what_no_cache_takes_is_not_remembered(arguments):
    pathlib.Path("foreign.txt").write_text("no cache\n")
    for file in ("foreign.txt", "/proc/no/such/folder"):
        said = works(*arguments, "--cache", file).stdout
        assert f"not remembered: {file} does not take it" in said and "\nremembered" not in said, said
        assert json.loads(works(*arguments, "--cache", file, "--json").stdout)["cache"] is None
    for _ in range(2):  # the second finds it there
        assert "\nremembered in cache.txt" in works(*arguments, "--cache", "cache.txt").stdout
        assert json.loads(works(*arguments, "--cache", "cache.txt", "--json").stdout)["cache"] == "cache.txt"
    assert pathlib.Path("foreign.txt").read_text() == "no cache\n"


@case("")
def a_cache_is_exported_to_a_file_named_off():
    works(*TUNE, "--cache", "cache.txt")
    works("cache", "export", "off", "--cache", "cache.txt")
    assert pathlib.Path("off").read_text().startswith("bcsc tuning cache")
    works("cache", "import", "off", "--cache", "other.txt")
    assert "1 entry in other.txt" in works("cache", "show", "--cache", "other.txt").stdout


BENCH = ["bench", "m.mtx", "--device", "cpu", "--seconds", "0.001", "--cols"]


@case("bench")
def bench_says_which_kernels_do_not_run_here():
    said = works(*BENCH, "8", "--kernel", "rowwise,rows-m1-n32,plan").stdout
    assert "not measured: rowwise does not run on cpu\n" in said and said.count("does not run") == 1, said
    assert json.loads(works(*BENCH, "8", "--kernel", "rowwise", "--json").stdout)["kernels_left_out"]
    assert "kernels_left_out" not in json.loads(works(*BENCH, "8", "--kernel", "plan", "--json").stdout)


@case("bench")
def bench_compares_nothing_with_nothing():
    works(*BENCH, "8", "--kernel", "plan", "--out", "a.json")
    works(*BENCH, "16", "--kernel", "plan", "--out", "b.json")
    message, code = told(run("bench", "--compare", "a.json", "b.json", "--json"))
    assert code == "invalid_argument" and "nothing can be compared" in message, message
    works("bench", "--compare", "a.json", "a.json")


# --- Running them -----------------------------------------------------------------------------------------------------


def is_left_out(name, arguments, given):
    needs_bench = "bench" in name or (arguments and arguments[0][:1] == ["bench"])
    return (given.without_bench and needs_bench) or (given.sanitized and "info_memory" in name)


def failure_of(function, arguments):
    """What went wrong in a case, run in a folder of its own; empty if nothing did."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            works("generate", "stencil5:8,8", "m.mtx")
            function(*arguments)
            return ""
        except Exception:
            return traceback.format_exc()
        finally:
            os.chdir("/")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--without-bench", action="store_true")
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    PROGRAM.append(str(pathlib.Path(given.program).resolve()))
    # No case is about a GPU, and starting one takes longer than most cases.
    os.environ.update(CUDA_VISIBLE_DEVICES="", OMP_WAIT_POLICY="passive")
    chosen = [one for one in CASES if given.only in one[0] and not is_left_out(one[0], one[2], given)]
    failures = {name: failure_of(function, arguments) for name, function, arguments in chosen}
    for name, failure in failures.items():
        if failure:
            print(f"FAILED   {name}\n{failure}", flush=True)
    failed = sum(failure != "" for failure in failures.values())
    print(f"{len(failures) - failed} passed, {failed} failed")
    return 1 if failed or not failures else 0


if __name__ == "__main__":
    sys.exit(main())
