"""Installs the libraries into an empty folder, builds the program in consumer/ and the example in C against them from
outside of the project, by pkg-config, by CMake or by Meson, and runs both. A build for the CPU must need no CUDA header.

    install_test.py pkgconfig|cmake|meson --meson M --build DIR --prefix P --libdir L --cxx CXX... --cuda yes|no
"""
import argparse
import os
import pathlib
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile

CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
C_EXAMPLE = CONSUMER.parents[1] / "examples" / "c_api.c"
SKIPPED = 77


def run(command: list, **options) -> str:
    """Runs, shows and checks a command; returns what it printed."""
    words = [str(word) for word in command]
    print("+", shlex.join(words), flush=True)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    print(done.stdout, end="", flush=True)
    if done.returncode != 0:
        raise SystemExit(f"exit status {done.returncode}: {shlex.join(words)}")
    return done.stdout


def require(program: str) -> None:
    if shutil.which(program) is None:
        print(f"skipped: {program} is not installed")
        sys.exit(SKIPPED)


def pkgconfig_environment(arguments, stage: pathlib.Path) -> dict:
    require("pkg-config")
    return os.environ | {
        "PKG_CONFIG_SYSROOT_DIR": str(stage),
        "PKG_CONFIG_PATH": f"{stage}{arguments.libdir}/pkgconfig:{os.environ.get('PKG_CONFIG_PATH', '')}"}


def build_with_pkgconfig(arguments, stage: pathlib.Path, work: pathlib.Path) -> None:
    environment = pkgconfig_environment(arguments, stage)

    def flags(package: str, which: str) -> list[str]:
        return run(["pkg-config", which, package], env=environment).split()

    source = CONSUMER / "main.cpp"
    headers = run([*arguments.cxx, "-std=c++20", *flags("bcsc_matrices", "--cflags"), "-M", source])
    if "cuda_runtime" in headers or "/cuda/" in headers:
        raise SystemExit("the public headers pull in a CUDA header")
    run([*arguments.cxx, "-std=c++20", "-Wall", "-Wextra", "-Werror", *flags("bcsc_matrices", "--cflags"), source,
         "-o", work / "consumer", *flags("bcsc_matrices", "--libs")])
    run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *flags("bcsc", "--cflags"), "-c", C_EXAMPLE,
         "-o", work / "c_api.o"])
    run([*arguments.cxx, work / "c_api.o", "-o", work / "consumer_c", *flags("bcsc", "--libs"), "-lm"])


def build_with_cmake(arguments, stage: pathlib.Path, work: pathlib.Path) -> None:
    require("cmake")
    generator = "Ninja" if shutil.which("ninja") else "Unix Makefiles"
    run(["cmake", "-G", generator, "-S", CONSUMER, "-B", work, "-DCMAKE_BUILD_TYPE=Release", f"-DC_EXAMPLE={C_EXAMPLE}",
         f"-DCMAKE_CXX_COMPILER={arguments.cxx[-1]}", f"-DCMAKE_PREFIX_PATH={stage}{arguments.prefix}"])
    run(["cmake", "--build", work])


def require_null_device() -> None:
    """Meson gives compilers /dev/null to read: where a file has taken its place, they read what others wrote there."""
    if not stat.S_ISCHR(os.stat(os.devnull).st_mode):
        print(f"skipped: {os.devnull} is a file on this machine, no device")
        sys.exit(SKIPPED)


def build_with_meson(arguments, stage: pathlib.Path, work: pathlib.Path) -> None:
    require_null_device()
    tree = work / "consumer_tree"
    shutil.copytree(CONSUMER, tree)
    shutil.copy(C_EXAMPLE, tree)
    environment = pkgconfig_environment(arguments, stage) | {"CXX": shlex.join(arguments.cxx)}
    try:
        run([*shlex.split(arguments.meson), "setup", work / "built", tree], env=environment)
    except SystemExit:
        log = work / "built" / "meson-logs" / "meson-log.txt"  # in a temporary folder: the run's own log is all that stays
        print(log.read_text(errors="backslashreplace") if log.exists() else "no log")
        raise
    run([*shlex.split(arguments.meson), "compile", "-C", work / "built"], env=environment)
    for program in ("consumer", "consumer_c"):
        shutil.copy(work / "built" / program, work)


WAYS = {"pkgconfig": build_with_pkgconfig, "cmake": build_with_cmake, "meson": build_with_meson}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--meson", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--libdir", required=True)
    parser.add_argument("--cxx", nargs="+", required=True)
    parser.add_argument("--sanitize", nargs="*", default=[])
    parser.add_argument("--cuda", choices=["yes", "no"], required=True)
    arguments = parser.parse_args()
    require("cc")  # the example is in C
    if set(arguments.sanitize) - {"none"}:
        print("skipped: the library is built with sanitizers")
        sys.exit(SKIPPED)

    with tempfile.TemporaryDirectory() as folder:
        stage, work = pathlib.Path(folder, "stage"), pathlib.Path(folder, "work")
        work.mkdir()
        run([*shlex.split(arguments.meson), "install", "-C", arguments.build, "--no-rebuild", "--quiet", "--destdir", stage])
        WAYS[arguments.way](arguments, stage, work)
        environment = os.environ | {"LD_LIBRARY_PATH": f"{stage}{arguments.libdir}"}
        run([work / "consumer_c", work / "written.mtx"], env=environment)
        said = run([work / "consumer"], env=environment)
        if arguments.cuda == "no" and "no_device" not in said:
            raise SystemExit("a library without CUDA must say that it has no device")


if __name__ == "__main__":
    main()
