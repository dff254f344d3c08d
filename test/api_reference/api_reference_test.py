"""Makes the API reference; a warning of doxygen's is a failure.

    api_reference_test.py DOXYFILE
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def main() -> int:
    if shutil.which("doxygen") is None:
        print("doxygen is not here")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(sys.argv[1]).read_text() + f"OUTPUT_DIRECTORY = {folder}\n"
        done = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True)
        pages = {page.name for page in pathlib.Path(folder, "html").glob("*.html")}
        print(done.stderr, end="")
        if done.returncode != 0 or "warning:" in done.stderr:
            return 1
        # A class whose documentation users need has a page: an empty reference has no warnings either.
        missing = {"classbcsc_1_1spmm__plan.html", "structbcsc_1_1plan__options.html", "namespacebcsc.html"} - pages
        if missing:
            print(f"no {', '.join(sorted(missing))} among {len(pages)} pages")
            return 1
        print(f"{len(pages)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
