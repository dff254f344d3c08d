#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "bcsc/container.hpp"
#include "bcsc/context.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "bcsc/plan.hpp"

/// Gets the CSR of a file, plans its product on the CPU and runs it once; says how long each took. Run by
/// compare_container.py, once for each measurement, so that nothing is warm but the file.
namespace {

constexpr std::int64_t num_cols = 32;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// `open` gives the matrix, or what holds it mapped.
template <class Open>
void measure(Open&& open) {
  const double cpu_before = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  const auto matrix = open();
  const double ready = seconds_since(start), cpu = cpu_seconds() - cpu_before;

  // The context and the operands are not what is measured: both ways need the same.
  const auto ctx = bcsc::context::cpu();
  bcsc::csr_view<double> a = [&] {
    if constexpr (requires { matrix.template as<bcsc::csr_view<double>>(); }) {
      return matrix.template as<bcsc::csr_view<double>>();
    } else {
      return matrix.view();
    }
  }();
  bcsc::dense_matrix<double> b(a.cols, num_cols), c(a.rows, num_cols);
  std::fill_n(b.data(), a.cols * num_cols, 1.0);

  const auto planned = std::chrono::steady_clock::now();
  const bcsc::spmm_plan<double> plan(ctx, a, {.cols = num_cols, .check = bcsc::trust::trusted});
  const double plan_seconds = seconds_since(planned);
  const auto run = std::chrono::steady_clock::now();
  plan.run(1.0, b, 0.0, c);
  const double product = seconds_since(run);

  double sum = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) sum += c(i, 0);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{{\"ready\": {}, \"cpu\": {}, \"plan\": {}, \"product\": {}, \"nnz\": {}, \"sum\": {}, \"peak_bytes\": {}}}\n",
      ready, cpu, plan_seconds, product, a.nnz(), sum, std::int64_t{usage.ru_maxrss} * 1024);
}

int measure_named(std::string_view way, const std::filesystem::path& path) {
  using bcsc::mapped_matrix;
  using bcsc::trust;
  if (way == "parse") {
    measure([&] { return bcsc::read_csr<double>(path); });
  } else if (way == "map") {
    measure([&] { return mapped_matrix(path); });
  } else if (way == "map-checksums") {
    measure([&] { return mapped_matrix(path, {.check = trust::trusted}); });
  } else if (way == "map-structure") {
    measure([&] { return mapped_matrix(path, {.verify_checksums = false}); });
  } else if (way == "map-trusted") {
    measure([&] { return mapped_matrix(path, {.verify_checksums = false, .check = trust::trusted}); });
  } else if (way == "copy") {
    measure([&] { return bcsc::read_csr<double>(path); });
  } else {
    std::fputs("usage: read_container parse|map|map-checksums|map-structure|map-trusted|copy FILE\n", stderr);
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return measure_named(argc == 3 ? argv[1] : "", argc == 3 ? argv[2] : "");
  } catch (const bcsc::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
