"""Links each room with the rooms it may call and nothing else, undefined symbols forbidden; and one room without those it
needs, which must not link (or the test would prove nothing).

    link_test.py --meson M --build DIR --breach TARGET TARGET...
"""
import argparse
import shlex
import subprocess
import sys


def links(meson: list[str], build: str, target: str) -> tuple[bool, str]:
    done = subprocess.run([*meson, "compile", "-C", build, target], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, stdin=subprocess.DEVNULL)
    return done.returncode == 0, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--meson", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--breach", required=True, help="a target that must fail for undefined symbols")
    parser.add_argument("targets", nargs="+")
    arguments = parser.parse_args()
    meson, failed = shlex.split(arguments.meson), False
    for target in arguments.targets:
        good, said = links(meson, arguments.build, target)
        print(f"{target}: {'links' if good else 'calls what it may not call:'}")
        if not good:
            print("\n".join(line for line in said.splitlines() if "undefined reference" in line) or said)
            failed = True
    good, said = links(meson, arguments.build, arguments.breach)
    if good or "undefined reference" not in said:
        print(f"{arguments.breach} was to fail for undefined symbols, but {'links' if good else 'fails otherwise:'}")
        print("" if good else said)
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
