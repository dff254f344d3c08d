#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "bcsc/error.hpp"
#include "bcsc/files.hpp"

/// Reads a matrix file once, fp64 with 32-bit indices, and says how long it took and how large the process became.
/// Run by compare_mtx.py, once for each measurement, so that nothing is warm but the file.
namespace {

std::int64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto in_seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

using reader = std::int64_t (*)(const std::filesystem::path&);
const std::map<std::string, reader> readers{
    {"coo", [](const std::filesystem::path& path) { return bcsc::read_coo<double>(path).nnz(); }},
    {"csr", [](const std::filesystem::path& path) { return bcsc::read_csr<double>(path).nnz(); }}};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || !readers.contains(argv[1])) {
    std::fputs("usage: read_mtx coo|csr FILE\n", stderr);
    return 2;
  }
  try {
    const std::int64_t peak_before = peak_bytes();
    const double cpu_before = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t nnz = readers.at(argv[1])(argv[2]);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    fmt::print("{{\"seconds\": {}, \"cpu_seconds\": {}, \"nnz\": {}, \"peak_bytes\": {}, \"peak_before\": {}}}\n",
               elapsed.count(), cpu_seconds() - cpu_before, nnz, peak_bytes(), peak_before);
  } catch (const bcsc::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
