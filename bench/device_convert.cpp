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
#include "converters/formats/device_compact.hpp"
#include "core/context_state.hpp"
#include "kernels/forms/fma_tiles/fma_tiles.hpp"
#include "kernels/forms/mma_tiles/mma_tiles.hpp"
#include "kernels/forms/row_stream/row_stream.hpp"

/// How long CSR on the GPU takes to become what a plan for N = 128 reads, and beside it compact BCSC, at the height
/// that the plan chooses (or would for the algorithm `tiled`), beside the plan's own product: `device_convert [--json
/// FILE] [--kernel NAME] MATRIX...`, a file or a generator's specification each; NAME as in
/// plan_options::expert.kernel. The results are compared with the host's, bit for bit; allocation and the last
/// synchronisation are inside the times, the release of the result is not. `update` is plan.update_values() with the
/// same matrix: the conversion once more, and the comparison of the patterns.
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
    [[maybe_unused]] const auto result = work();  // released when the clock has been read
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

/// A conversion, and what came of it.
struct conversion {
  std::string form;
  std::int64_t m_block = 1;
  double seconds = 0;
  std::int64_t bytes = 0;  ///< of the result
  bool equal_to_host = false;
};

template <class X>
bool same_bytes(const core::device_buffer<X>& there, const std::vector<X>& here) {
  const std::vector<X> copy = there.download();
  return same_bytes(std::span<const X>(copy), std::span<const X>(here));
}

conversion to_compact_form(const context& ctx, const csr_matrix<float>& a, const csr_view<float>& given,
                           std::int64_t m_block) {
  conversion c{"compact", m_block};
  c.seconds = median_seconds([&] { return to_compact_on_device(ctx, given, m_block, true); });
  const auto wanted = to_compact(a, {.m_block = m_block, .narrow_columns = true});
  c.bytes = wanted.view().bytes();
  const auto made = download(ctx, to_compact_on_device(ctx, given, m_block, true));
  c.equal_to_host = same(made.view(), wanted.view());
  return c;
}

/// As in plans: by converters that the library keeps to itself, with the context's memory.
template <class Work>
auto with_memory_of(const context& ctx, const Work& work) {
  const core::gpu::pool_guard pool(ctx.state().pool);
  return work(ctx.device().device);
}

conversion to_rows_form(const context& ctx, const csr_matrix<float>& a, const csr_view<float>& given,
                        const kernel_info& kernel) {
  const auto options = forms::cut_for(a.rows(), a.nnz(), cols, kernel.columns_at_once, kernel.teams);
  const auto convert = [&] {
    return with_memory_of(ctx, [&](int device) { return forms::to_row_stream_on_device(device, given, options); });
  };
  conversion c{"rows"};
  c.seconds = median_seconds(convert);
  const auto made = convert();
  const auto wanted = forms::to_row_stream(a.view(), options);
  c.bytes = wanted.bytes();
  c.equal_to_host = made.num_shared == wanted.num_shared && made.num_partials == wanted.num_partials &&
                    same_bytes(made.pieces, wanted.pieces) && same_bytes(made.pairs, wanted.pairs) &&
                    same_bytes(made.heavy_ptr, wanted.heavy_ptr);
  return c;
}

conversion to_mma_tiles_form(const context& ctx, const csr_matrix<float>& a, const csr_view<float>& given,
                             std::int64_t m_block) {
  const auto blocks = to_compact(a, {.m_block = m_block});
  const forms::mma_tiles_options options = forms::mma_cut_for(blocks.nnzc());
  const auto convert = [&] {
    return with_memory_of(ctx, [&](int device) {
      return forms::to_mma_tiles_on_device(device, converters::to_compact_on_device(device, given, m_block).view(),
                                           options);
    });
  };
  conversion c{"mma_tiles", m_block};
  c.seconds = median_seconds(convert);
  const auto made = convert();
  const auto wanted = forms::to_mma_tiles(blocks.view(), options);
  c.bytes = wanted.bytes();
  c.equal_to_host = made.num_slots == wanted.num_slots && same_bytes(made.items, wanted.items) &&
                    same_bytes(made.groups, wanted.groups) && same_bytes(made.col_ind, wanted.col_ind) &&
                    same_bytes(made.tiles, wanted.tiles) && same_bytes(made.masks, wanted.masks) &&
                    same_bytes(made.sums, wanted.sums);
  return c;
}

conversion to_fma_tiles_form(const context& ctx, const csr_matrix<float>& a, const csr_view<float>& given,
                             std::int64_t m_block) {
  const auto convert = [&] {
    return with_memory_of(ctx, [&](int device) {
      return forms::to_fma_tiles_on_device(device, converters::to_compact_on_device(device, given, m_block).view());
    });
  };
  conversion c{"fma_tiles", m_block};
  c.seconds = median_seconds(convert);
  const auto made = convert();
  const auto blocks = to_compact(a, {.m_block = m_block});
  const auto wanted = forms::to_fma_tiles(blocks.view());
  c.bytes = made.bytes();
  c.equal_to_host = same_bytes(made.blocks, wanted.blocks) && same_bytes(made.steps, wanted.steps) &&
                    same_bytes(made.tiles, wanted.tiles) && same_bytes(made.masks, wanted.masks);
  return c;
}

/// One entry for each conversion: compact BCSC and, if the plan's kernel reads one of these, row stream, FMA tiles or
/// MMA tiles.
std::vector<nlohmann::ordered_json> measure(const context& ctx, bench::stage& where, const std::string& name,
                                            const std::string& kernel, double copy_bandwidth) {
  const csr_matrix<float> a = std::filesystem::exists(name) ? read_csr<float>(name, {.pattern_seed = 1})
                                                            : generate::from_specification<float>(name);
  const auto given = upload(ctx, a);
  spmm_plan<float> plan(ctx, a, {.cols = cols, .expert = {.kernel = kernel}});
  const kernel_info chosen = plan.facts().kernel;
  const std::int64_t m_block = plan.facts().m_block;

  const auto b = upload(ctx, dense_matrix<float>(a.cols(), cols));
  const auto c = upload(ctx, dense_matrix<float>(a.rows(), cols));
  constexpr int products = 20;
  const auto start = [&] { plan.run(1.0f, b.view(), 0.0f, c.view(), {.stream = where.stream()}); };
  (void)where.seconds(start, 3);
  const double product = where.seconds(start, products) / products;
  const double update = median_seconds([&] {
    plan.update_values(given.view());
    return 0;
  });

  std::vector<conversion> conversions;
  const bool reads_compact = chosen.any_m_block;
  conversions.push_back(to_compact_form(
      ctx, a, given.view(),
      reads_compact ? m_block
                    : spmm_plan<float>(ctx, a, {.cols = cols, .expert = {.kernel = "tiled"}}).facts().m_block));
  if (chosen.algorithm == "rowwise") {
    conversions.push_back(to_rows_form(ctx, a, given.view(), chosen));
  } else if (chosen.algorithm == "fma") {
    conversions.push_back(to_fma_tiles_form(ctx, a, given.view(), m_block));
  } else if (chosen.algorithm == "mma") {
    conversions.push_back(to_mma_tiles_form(ctx, a, given.view(), m_block));
  }
  const std::int64_t csr_bytes = footprint::csr(a.rows(), a.nnz(), value_type::fp32);
  const double limit = std::max(300e-6, 10 * product);
  std::vector<nlohmann::ordered_json> results;
  for (const conversion& done : conversions) {
    results.push_back(
        {{"matrix", name},
         {"rows", a.rows()},
         {"nnz", a.nnz()},
         {"form", done.form},
         {"m_block", done.m_block},
         {"bytes_over_csr", static_cast<double>(done.bytes) / static_cast<double>(csr_bytes)},
         {"convert_seconds", done.seconds},
         {"product_seconds", product},
         {"update_seconds", update},
         {"kernel", chosen.name},
         {"limit_seconds", limit},
         {"within_limit", done.seconds <= limit},
         {"share_of_copy_bandwidth", static_cast<double>(csr_bytes + done.bytes) / done.seconds / copy_bandwidth},
         {"equal_to_host", done.equal_to_host}});
  }
  return results;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  std::string json_path, kernel;
  while (names.size() >= 2 && (names[0] == "--json" || names[0] == "--kernel")) {
    (names[0] == "--json" ? json_path : kernel) = names[1];
    names.erase(names.begin(), names.begin() + 2);
  }
  if (names.empty()) {
    fmt::print("usage: device_convert [--json FILE] [--kernel NAME] MATRIX...\n");
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
    fmt::print("{:<36}{:>10}{:>11}{:>8}{:>10}{:>11}{:>11}{:>11}{:>9}{:>8}  {}\n", "matrix", "nnz", "form", "m_block",
               "of CSR", "convert us", "product us", "update us", "of copy", "limit", "equal");
    bool all_well = true;
    for (const std::string& name : names) {
      try {
        for (auto& r : measure(ctx, *where, name, kernel, copy_bandwidth)) {
          fmt::print("{:<36}{:>10}{:>11}{:>8}{:>9.2f}x{:>11.1f}{:>11.1f}{:>11.1f}{:>8.1f}%{:>8}  {}\n",
                     std::filesystem::path(name).filename().string(), r["nnz"].get<std::int64_t>(),
                     r["form"].get<std::string>(), r["m_block"].get<std::int64_t>(), r["bytes_over_csr"].get<double>(),
                     r["convert_seconds"].get<double>() * 1e6, r["product_seconds"].get<double>() * 1e6,
                     r["update_seconds"].get<double>() * 1e6, r["share_of_copy_bandwidth"].get<double>() * 100,
                     r["within_limit"].get<bool>() ? "within" : "BEYOND",
                     r["equal_to_host"].get<bool>() ? "yes" : "NO");
          all_well = all_well && r["equal_to_host"].get<bool>() && r["within_limit"].get<bool>();
          results["results"].push_back(std::move(r));
        }
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
