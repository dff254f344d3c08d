"""Makes header-only packages findable: writes a pkg-config file for each of CLI11, nlohmann_json, fmt and xxHash that lies
in FOLDER/include. For machines on which they cannot be installed.

    header_packages.py FOLDER PKGCONFIG_FOLDER
"""
import pathlib
import re
import sys

# name: (header that proves it, headers that carry the version, how the version is read)
PACKAGES = {
    "CLI11": ("CLI/CLI.hpp", ["CLI/Version.hpp", "CLI/CLI.hpp"], r'CLI11_VERSION\s+"([0-9.]+)"'),
    "nlohmann_json": ("nlohmann/json.hpp", ["nlohmann/detail/abi_macros.hpp", "nlohmann/json.hpp"],
                      r"NLOHMANN_JSON_VERSION_(?:MAJOR|MINOR|PATCH)\s+(\d+)"),
    "fmt": ("fmt/format.h", ["fmt/base.h", "fmt/core.h"], r"FMT_VERSION\s+(\d+)"),
    "libxxhash": ("xxhash.h", ["xxhash.h"], r"#\s*define XXH_VERSION_(?:MAJOR|MINOR|RELEASE)\s+(\d+)"),
}


def version_of(include: pathlib.Path, name: str) -> str:
    _, headers, pattern = PACKAGES[name]
    for header in headers:
        path = include / header
        found = re.findall(pattern, path.read_text(errors="replace")) if path.is_file() else []
        if not found:
            continue
        if name == "fmt":  # 90100 is 9.1.0
            number = int(found[0])
            return f"{number // 10000}.{number // 100 % 100}.{number % 100}"
        return found[0] if len(found) == 1 else ".".join(found[:3])
    raise SystemExit(f"header_packages: no version of {name} found under {include}")


def write_pkgconfig_files(folder: pathlib.Path, out: pathlib.Path) -> list[str]:
    """Returns the names of the packages found in `folder`."""
    include = folder.resolve() / "include"
    if not include.is_dir():
        raise SystemExit(f"header_packages: {include} is not a folder")
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (proof, _, _) in PACKAGES.items():
        if not (include / proof).is_file():
            continue
        (out / f"{name}.pc").write_text(
            f"Name: {name}\nDescription: headers of {name}\nVersion: {version_of(include, name)}\n"
            f"Cflags: -isystem {include}\n")
        written.append(name)
    return written


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print("   found:", ", ".join(write_pkgconfig_files(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))) or "none")
