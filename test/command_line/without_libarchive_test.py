"""On a machine without libarchive, simulated by a file of that name which is no library: archives are refused in words
that name the package, and everything else works.

    without_libarchive_test.py BCSC
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

MATRIX = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.5\n2 2 -2\n"


def main() -> None:
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "lib").mkdir()
        (folder / "lib" / "libarchive.so.13").write_bytes(b"")
        (folder / "a.mtx").write_text(MATRIX)
        with zipfile.ZipFile(folder / "a.npz", "w") as zipped:
            zipped.writestr("format.npy", b"")
        subprocess.run(["tar", "--create", "--gzip", "--file", "a.tar.gz", "a.mtx"], cwd=folder, check=True)

        def run(*arguments: str, missing: bool = True) -> tuple[int, dict]:
            before = os.environ.get("LD_LIBRARY_PATH", "")
            path = f"{folder / 'lib'}:{before}" if missing else before
            done = subprocess.run([program, *arguments, "--json"], cwd=folder, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=120, env=os.environ | {"LD_LIBRARY_PATH": path})
            return done.returncode, json.loads(done.stdout)

        code, told = run("info", "a.mtx")
        assert code == 0, told
        code, told = run("info", "a.tar.gz", missing=False)
        assert code == 0, told
        for arguments in (["info", "a.tar.gz"], ["info", "a.npz"], ["convert", "a.mtx", "b.npz"]):
            code, told = run(*arguments)
            print(*arguments, "->", code, told.get("error"))
            assert code == 1 and told["error"]["code"] == "unsupported", told
            assert "libarchive13" in told["error"]["message"] and arguments[-1] in told["error"]["message"], told
        assert not (folder / "b.npz").exists()


if __name__ == "__main__":
    main()
