# shellcheck shell=bash
# What quickstart and check share: says what it does, installs what is missing, finds Meson and nvcc. Sourced, not run.
# Made for Debian 12 and Ubuntu 24.04, as root or with sudo; elsewhere it says what must be there and goes on.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

build_packages=(g++ pkg-config git python3 python3-venv ca-certificates zlib1g-dev libarchive-dev libxxhash-dev
  libcurl4-openssl-dev libssl-dev libfmt-dev libcli11-dev nlohmann-json3-dev libpng-dev libbenchmark-dev libeigen3-dev
  liblapack3)
test_packages=(libgtest-dev libmpfr-dev cmake doxygen abigail-tools zsh fish)
format_packages=(clang-format-14)
tidy_packages=(clang-tidy-14)
thorough_packages=(clang libomp-dev)

meson_range='meson>=1.4,<2'
ninja_range='ninja>=1.10,<2'
codespell_range='codespell>=2.2,<3'
disassembler=('nvidia-cuda-cuobjdump>=13,<14' 'nvidia-cuda-nvdisasm>=13,<14')

say() { printf '\n== %s\n' "$*"; }
note() { printf '   %s\n' "$*"; }
die() {
  printf '\nerror: %s\n' "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=2 -o Acquire::http::Timeout=30 \
    -o Dpkg::Use-Pty=0 "$@"
}

# install_missing PACKAGE...: only those that dpkg does not know. What cannot be had is named, and the configuration
# decides then whether the build can do without it.
install_missing() {
  local package missing=() available=()
  if ! command -v dpkg-query >/dev/null; then
    note "no dpkg here: these must be present under your system's names: $*"
    return
  fi
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    note "all packages are there"
    return
  fi
  note "missing: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    note "neither root nor sudo: cannot install them; going on without"
    return
  fi
  local log
  log=$(mktemp)
  note "apt-get update"
  apt_get update >"$log" 2>&1 || note "apt-get update failed: $(grep -m1 -E '^(E|W|Err)' "$log" || tail -n 1 "$log")"
  for package in "${missing[@]}"; do
    if apt-cache show "$package" >/dev/null 2>&1; then
      available+=("$package")
    else
      note "apt knows no package $package: going on without"
    fi
  done
  if [ ${#available[@]} -gt 0 ]; then
    note "apt-get install ${available[*]}"
    if ! apt_get install -y --no-install-recommends "${available[@]}" >"$log" 2>&1; then
      grep -E '^(E|W|Err)' "$log" | head -n 5 || true
      note "apt-get install failed: going on without"
    fi
  fi
  rm -f "$log"
}

# at_least HAVE WANTED: versions compared part by part.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# find_meson BUILD: puts meson >= 1.4 and ninja into PATH: those present, else from PyPI in BUILD/venv.
find_meson() {
  local venv=$1/venv
  if [ -x "$venv/bin/meson" ]; then PATH=$venv/bin:$PATH; fi
  if ! { command -v meson >/dev/null && at_least "$(meson --version)" 1.4 && command -v ninja >/dev/null; }; then
    note "python virtual environment $(relative "$venv") with $meson_range and $ninja_range"
    mkdir -p "$1"
    python3 -m venv "$venv" || die "python3 -m venv failed: is python3-venv installed?"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$meson_range" "$ninja_range" ||
      die "Meson >= 1.4 is neither present nor installable from the Python package index"
    PATH=$venv/bin:$PATH
  fi
  export PATH
  note "meson $(meson --version), ninja $(ninja --version)"
}

# find_cuda: nvcc also where the toolkit installs it; says which backend the build will have, and why.
find_cuda() {
  local gpu=
  if ! command -v nvcc >/dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then
    export PATH=$PATH:/usr/local/cuda/bin
  fi
  if command -v nvidia-smi >/dev/null; then
    gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1) || gpu=
  fi
  if command -v nvcc >/dev/null; then
    note "nvcc $(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p'); ${gpu:-no GPU that works here}"
  elif [ -n "$gpu" ]; then
    note "THIS MACHINE HAS A GPU ($gpu) BUT NO CUDA COMPILER: the build is for the CPU only."
    note "Install the CUDA toolkit (12.4 or later; nvcc in PATH or in /usr/local/cuda/bin) and run this again."
  else
    note "no nvcc, no GPU: the build is for the CPU only"
  fi
}

# find_disassembler BUILD: cuobjdump where the toolkit has none, from PyPI in BUILD/venv. With it a test sees what the
# compiler made of the kernels (test/sass); without it that is skipped.
find_disassembler() {
  local venv=$1/venv
  if ! command -v nvcc >/dev/null || command -v cuobjdump >/dev/null; then return; fi
  note "python virtual environment $(relative "$venv") with ${disassembler[*]}"
  if [ ! -x "$venv/bin/pip" ] && ! python3 -m venv "$venv"; then
    note "python3 -m venv failed: going on without"
  elif ! "$venv/bin/pip" install --quiet --disable-pip-version-check "${disassembler[@]}"; then
    note "not installable from the Python package index: going on without"
  fi
}

# use_header_packages BUILD FOLDER: CLI11, nlohmann-json, fmt and xxHash from FOLDER/include, for machines without packages.
use_header_packages() {
  note "header packages from $2"
  python3 "$root/tools/header_packages.py" "$2" "$1/header-packages" || die "$2 cannot be used"
  export PKG_CONFIG_PATH=$1/header-packages${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
}

# configure BUILD OPTION...: sets the build folder up, or brings an existing one to these options.
configure() {
  local build=$1
  shift
  if [ -f "$build/build.ninja" ]; then
    meson setup --reconfigure "$build" "$root" "$@"
  else
    meson setup "$build" "$root" "$@"
  fi
}

relative() { realpath --relative-to="$PWD" "$1" 2>/dev/null || printf '%s' "$1"; }
