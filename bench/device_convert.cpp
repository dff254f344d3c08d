#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bcsc/convert.hpp"
#include "bcsc/device.hpp"
#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/plan.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/stage.hpp"

/// How long CSR takes to become compact BCSC on the GPU, at the height that a plan chooses for N = 128, beside the
/// plan's own product: `device_convert [--json FILE] MATRIX...`, a file or a generator's specification each. The result
/// is compared with the host's, bit for bit; allocation and the last synchronisation are inside the time,
/// the release of the result is not.
namespace {

using namespace bcsc;

constexpr std::int64_t cols = 128;
constexpr int samples = 15;

/// Seconds until `work` has returned its result, the median of `samples` after two runs to warm up.
template <class Work>
double median_seconds(const Work& work) {
  std::vector<double> seconds;
  for (int run = -2; run < samples; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    const auto result = work();
    if (run >= 0) {
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  }
  std::ranges::nth_element(seconds, seconds.begin() + samples / 2);
  return seconds[samples / 2];
}

template <class Array>
bool same_bytes(const Array& a, const Array& b) {
  return a.size() == b.size() && a.size_bytes() == b.size_bytes() &&
         (a.size_bytes() == 0 || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

bool same(const compact_bcsc_view<float>& a, const compact_bcsc_view<float>& b) {
  return same_bytes(a.brow_ptr, b.brow_ptr) && same_bytes(a.entry_ptr, b.entry_ptr) &&
         same_bytes(a.col_ind, b.col_ind) && same_bytes(a.col_ind16, b.col_ind16) &&
         same_bytes(a.col_count, b.col_count) && same_bytes(a.row_in_block, b.row_in_block) &&
         same_bytes(a.values, b.values);
}

nlohmann::ordered_json measure(const context& ctx, bench::stage& where, const std::string& name,
                               double copy_bandwidth) {
  const csr_matrix<float> a = std::filesystem::exists(name) ? read_csr<float>(name, {.pattern_seed = 1})
                                                            : generate::from_specification<float>(name);
  const auto given = upload(ctx, a);
  const spmm_plan<float> plan(ctx, a, {.cols = cols});
  const std::int64_t m_block = plan.facts().m_block;

  const auto b = upload(ctx, dense_matrix<float>(a.cols(), cols));
  const auto c = upload(ctx, dense_matrix<float>(a.rows(), cols));
  constexpr int products = 20;
  const auto start = [&] { plan.run(1.0f, b.view(), 0.0f, c.view(), {.stream = where.stream()}); };
  (void)where.seconds(start, 3);
  const double product = where.seconds(start, products) / products;
  const double conversion = median_seconds([&] { return to_compact_on_device(ctx, given.view(), m_block, true); });

  const auto made = to_compact_on_device(ctx, given.view(), m_block, true);
  const auto wanted = to_compact(a, {.m_block = m_block, .narrow_columns = true});
  const std::int64_t csr_bytes = footprint::csr(a.rows(), a.nnz(), value_type::fp32);
  const std::int64_t bytes = csr_bytes + wanted.view().bytes();
  const double limit = std::max(300e-6, 10 * product);
  return {{"matrix", name},
          {"rows", a.rows()},
          {"nnz", a.nnz()},
          {"m_block", m_block},
          {"nnzc", wanted.nnzc()},
          {"bytes_over_csr", static_cast<double>(wanted.view().bytes()) / static_cast<double>(csr_bytes)},
          {"convert_seconds", conversion},
          {"product_seconds", product},
          {"kernel", plan.facts().kernel.name},
          {"limit_seconds", limit},
          {"within_limit", conversion <= limit},
          {"share_of_copy_bandwidth", static_cast<double>(bytes) / conversion / copy_bandwidth},
          {"equal_to_host", same(download(ctx, made).view(), wanted.view())}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  std::string json_path;
  if (names.size() >= 2 && names[0] == "--json") {
    json_path = names[1];
    names.erase(names.begin(), names.begin() + 2);
  }
  if (names.empty()) {
    fmt::print("usage: device_convert [--json FILE] MATRIX...\n");
    return 2;
  }
  try {
    const context ctx = context::cuda();
    const auto where = bench::make_stage(ctx);
    const double copy_bandwidth = where->measure_copy_bandwidth();
    bench::machine_facts machine = bench::describe_machine(ctx);
    where->describe(machine);
    nlohmann::ordered_json results{{"machine", machine.context},   {"git_hash", machine.git_hash},
                                   {"clocks", machine.gpu_clocks}, {"versions", machine.versions},
                                   {"date", machine.date},         {"copy_bandwidth", copy_bandwidth}};
    fmt::print("{}, copies {:.2f} TB/s (read and written)\n", ctx.describe(), copy_bandwidth * 1e-12);
    fmt::print("{:<36}{:>10}{:>8}{:>10}{:>11}{:>11}{:>9}{:>8}  {}\n", "matrix", "nnz", "m_block", "of CSR",
               "convert us", "product us", "of copy", "limit", "equal");
    bool all_well = true;
    for (const std::string& name : names) {
      try {
        auto r = measure(ctx, *where, name, copy_bandwidth);
        fmt::print("{:<36}{:>10}{:>8}{:>9.2f}x{:>11.1f}{:>11.1f}{:>8.1f}%{:>8}  {}\n",
                   std::filesystem::path(name).filename().string(), r["nnz"].get<std::int64_t>(),
                   r["m_block"].get<std::int64_t>(), r["bytes_over_csr"].get<double>(),
                   r["convert_seconds"].get<double>() * 1e6, r["product_seconds"].get<double>() * 1e6,
                   r["share_of_copy_bandwidth"].get<double>() * 100,
                   r["within_limit"].get<bool>() ? "within" : "BEYOND", r["equal_to_host"].get<bool>() ? "yes" : "NO");
        all_well = all_well && r["equal_to_host"].get<bool>() && r["within_limit"].get<bool>();
        results["results"].push_back(std::move(r));
      } catch (const bcsc::error& e) {
        fmt::print("{:<36} {}\n", name, e.what());
        results["passed_over"].push_back({{"matrix", name}, {"why", e.what()}});
      }
    }
    if (!json_path.empty()) std::ofstream(json_path) << results.dump(1) << '\n';
    return all_well ? 0 : 3;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
