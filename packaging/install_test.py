"""Installs the library into an empty folder, builds the program in consumer/ against it from outside of the project, by
pkg-config or by CMake, and runs it. A build for the CPU must need no CUDA header.

    install_test.py pkgconfig|cmake --meson M --build DIR --prefix P --libdir L --cxx CXX... --cuda yes|no
"""
import argparse
import os
import pathlib
import shlex
import shutil
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


def build_with_pkgconfig(arguments, stage: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    require("pkg-config")
    environment = os.environ | {
        "PKG_CONFIG_SYSROOT_DIR": str(stage),
        "PKG_CONFIG_PATH": f"{stage}{arguments.libdir}/pkgconfig:{os.environ.get('PKG_CONFIG_PATH', '')}"}
    flags = run(["pkg-config", "--cflags", "bcsc"], env=environment).split()
    libs = run(["pkg-config", "--libs", "bcsc"], env=environment).split()
    source = CONSUMER / "main.cpp"
    headers = run([*arguments.cxx, "-std=c++20", *flags, "-M", source])
    if "cuda_runtime" in headers or "/cuda/" in headers:
        raise SystemExit("the public headers pull in a CUDA header")
    program = work / "consumer"
    run([*arguments.cxx, "-std=c++20", "-Wall", "-Wextra", "-Werror", *flags, source, "-o", program, *libs])
    build_in_c(arguments, flags, libs, stage, work)
    return program


def build_in_c(arguments, flags: list, libs: list, stage: pathlib.Path, work: pathlib.Path) -> None:
    """The example in C, against the installed headers alone; C++ only links it. Run here, for it has a file to write."""
    if shutil.which("cc") is None:
        print("no C program is built: cc is not installed")
        return
    compiled, program = work / "c_api.o", work / "c_api"
    run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *flags, "-c", C_EXAMPLE, "-o", compiled])
    run([*arguments.cxx, compiled, "-o", program, *libs, "-lm"])
    run([program, work / "written.mtx"], env=os.environ | {"LD_LIBRARY_PATH": f"{stage}{arguments.libdir}"})


def build_with_cmake(arguments, stage: pathlib.Path, work: pathlib.Path) -> pathlib.Path:
    require("cmake")
    generator = "Ninja" if shutil.which("ninja") else "Unix Makefiles"
    run(["cmake", "-G", generator, "-S", CONSUMER, "-B", work, "-DCMAKE_BUILD_TYPE=Release",
         f"-DCMAKE_CXX_COMPILER={arguments.cxx[-1]}", f"-DCMAKE_PREFIX_PATH={stage}{arguments.prefix}"])
    run(["cmake", "--build", work])
    return work / "consumer"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=["pkgconfig", "cmake"])
    parser.add_argument("--meson", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--libdir", required=True)
    parser.add_argument("--cxx", nargs="+", required=True)
    parser.add_argument("--sanitize", nargs="*", default=[])
    parser.add_argument("--cuda", choices=["yes", "no"], required=True)
    arguments = parser.parse_args()
    if set(arguments.sanitize) - {"none"}:
        print("skipped: the library is built with sanitizers")
        sys.exit(SKIPPED)

    with tempfile.TemporaryDirectory() as folder:
        stage, work = pathlib.Path(folder, "stage"), pathlib.Path(folder, "work")
        work.mkdir()
        run([*shlex.split(arguments.meson), "install", "-C", arguments.build, "--no-rebuild", "--quiet", "--destdir", stage])
        build = build_with_pkgconfig if arguments.way == "pkgconfig" else build_with_cmake
        program = build(arguments, stage, work)
        said = run([program], env=os.environ | {"LD_LIBRARY_PATH": f"{stage}{arguments.libdir}"})
        if arguments.cuda == "no" and "no_device" not in said:
            raise SystemExit("a library without CUDA must say that it has no device")


if __name__ == "__main__":
    main()
