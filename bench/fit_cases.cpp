#include "bench/fit_cases.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <tuple>
#include <utility>

#include "bench/harness/read_results.hpp"
#include "core/cpu_caches.hpp"
#include "core/fail.hpp"
#include "lib/choice/choice.hpp"
#include "lib/choice/registry.hpp"

namespace bcsc::bench {

using json = nlohmann::json;

namespace {

value_type type_of(const std::string& name) {
  const auto* const found = std::ranges::find(types, name, [](value_type type) { return to_string(type); });
  if (found == std::end(types)) core::fail(errc::invalid_argument, "\"{}\" is no type that products have", name);
  return *found;
}

/// How many multiprocessors, or threads, were at work, as the document describes its machine: "cuda: NVIDIA H200
/// (sm_90, 132 SMs, ...)", "cpu: 2 threads, avx512".
int number_of(const char* units, const json& document) {
  const auto machine = document.at("machine").get<std::string>();
  std::smatch found;
  if (!std::regex_search(machine, found, std::regex(std::string("\\b([1-9][0-9]{0,5}) ") + units + "?\\b"))) {
    core::fail(errc::invalid_argument, "\"machine\": \"{}\" does not say how many {}", machine, units);
  }
  return std::stoi(found[1]);
}

/// The vector instructions of the CPU that the document was measured on: "cpu: 2 threads, avx512".
core::cpu_isa isa_of(const json& document) {
  const auto machine = document.at("machine").get<std::string>();
  for (const core::cpu_isa isa : {core::cpu_isa::avx512, core::cpu_isa::avx2, core::cpu_isa::baseline}) {
    if (machine.ends_with(core::to_string(isa))) return isa;
  }
  core::fail(errc::invalid_argument, "\"machine\": \"{}\" does not say which vector instructions", machine);
}

/// Adds another measurement of `known`. Other load on a machine only ever adds to a time, so the least one counts;
/// documents of kernels that have since been replaced by slower ones therefore have to go.
void add_times(timed_case& known, const timed_case& again) {
  const auto same = [](const choice::product_shape& p) {
    return std::tuple(p.rows, p.inner, p.nnz, p.shared_nnzc, p.longest_row, p.multiprocessors);
  };
  if (same(known.shape) != same(again.shape)) {
    core::fail(errc::invalid_argument, "{}: two documents have different matrices or GPUs of this name", known.matrix);
  }
  for (const timing& t : again.timings) {
    const auto before = std::ranges::find(known.timings, t.config, &timing::config);
    if (before == known.timings.end()) {
      known.timings.push_back(t);
    } else {
      before->us = std::min(before->us, t.us);
    }
  }
  known.fastest = tuning::fastest_config(known).us;
  known.rival = std::min(known.rival, again.rival);
}

/// Plans for a CPU do not count the columns of higher blocks.
constexpr std::int64_t max_analysed_height = 64;

}  // namespace

std::vector<json> read_documents(const std::vector<std::string>& files) {
  std::vector<json> documents;
  for (const std::string& file : files) documents.push_back(json::parse(read_text(file)));
  return documents;
}

std::vector<timed_case> read_cases(const std::vector<json>& documents, backend where,
                                   const std::vector<std::string>& algorithms, operand b) {
  std::map<std::pair<value_type, std::string>, const choice::registered_kernel*> known;
  for (const choice::registered_kernel& config : choice::registry()) {
    if (config.info.where == where && std::ranges::count(algorithms, config.info.algorithm) > 0) {
      known[{config.info.type, config.info.name}] = &config;
    }
  }
  // Files of before November 28, 2026, say nothing of sectors, or by one lane alone, which other files may add to.
  std::map<std::string, sectors_by_lanes> sectors;
  for (const json& document : documents) {
    for (const json& m : document.at("matrices")) {
      const json& s = m.at("statistics");
      if (!s.contains("sectors_per_entry")) continue;
      if (const json& told = s["sectors_per_entry"]; told.is_array()) {
        sectors[m.at("name")] = told;
      } else {
        sectors.try_emplace(m.at("name"), sectors_by_lanes{told.get<double>()});
      }
    }
  }
  // Told apart by their caches.
  using cpu = std::tuple<core::cpu_isa, int, std::int64_t, std::int64_t, std::int64_t>;
  std::map<std::tuple<std::string, value_type, std::int64_t, cpu>, timed_case> cases;
  for (const json& document : documents) {
    if (document.value("in_place", false) != (b == operand::in_place)) continue;
    const int multiprocessors = where == backend::cuda ? number_of("SMs", document) : 0;
    core::cpu_caches caches;
    core::cpu_isa isa{};
    int threads = 0;
    if (where == backend::cpu) {
      isa = isa_of(document);
      threads = number_of("threads", document);
      const json& c = document.at("cpu_caches");
      caches = {c.at("l1"), c.at("l2"), c.at("l3")};
    }
    for (const json& m : document.at("matrices")) {
      std::map<std::int64_t, block_statistics> by_height;
      for (const json& s : m.at("statistics").at("blocks")) {
        block_statistics b{.m_block = s.at("m_block"), .num_row_blocks = s.at("num_row_blocks"), .nnzc = s.at("nnzc")};
        b.max_block_nnz = s.at("max_block_nnz");
        b.skew = s.at("skew");
        // Files written before November 28, 2026 lack it: the skew of non-zeros is the best that they tell.
        const double mean =
            static_cast<double>(b.nnzc) / static_cast<double>(std::max<std::int64_t>(1, b.num_row_blocks));
        const std::int64_t by_skew = std::min(std::llround(mean * b.skew), static_cast<long long>(b.max_block_nnz));
        b.max_block_nnzc = s.value("max_block_nnzc", by_skew);
        by_height[b.m_block] = b;
      }
      for (const json& c : m.at("cases")) {
        timed_case one{.matrix = m.at("name"),
                       .cols = c.at("cols"),
                       .type = type_of(c.at("type")),
                       .isa = isa,
                       .threads = threads,
                       .shape = {},
                       .timings = {}};
        const auto value_bytes = static_cast<std::int64_t>(size_of(one.type));
        one.shape = {m.at("rows"),
                     m.at("cols"),
                     m.at("nnz"),
                     one.cols,
                     value_bytes,
                     by_height.at(16).nnzc,
                     by_height.at(1).max_block_nnz,
                     /*pads_b=*/b == operand::in_place,
                     b == operand::in_place,
                     sectors[m.at("name")],
                     multiprocessors,
                     {},
                     caches};
        if (where == backend::cpu) {
          for (const auto& [height, s] : by_height) {
            if (height <= max_analysed_height) one.shape.read_by_height.push_back({height, s.nnzc});
          }
        }
        // "rows" in files written before November 24, 2026.
        const json& times = c.contains("configs") ? c["configs"] : c.at("rows");
        for (const auto& [name, us] : times.items()) {
          const auto config = known.find({one.type, name});
          if (config == known.end() || !us.is_number()) continue;
          const kernel_info& kernel = config->second->info;
          const int tile_cols = b == operand::in_place ? kernel.strided_cols : kernel.n_tile;
          if (tile_cols == 0) continue;  // it could when that was measured
          if (where == backend::cpu && choice::takes_a_detour(kernel, one.cols, kernel.m_tile)) continue;
          const bool in_place = b == operand::in_place;
          if (!choice::suits_columns(*config->second, one.cols, in_place)) continue;
          if (choice::is_passed_over(*config->second, one.cols, in_place)) continue;
          one.timings.push_back(
              {&kernel, cost_terms_of(one.shape, kernel, tile_cols, by_height.at(kernel.m_tile)), us});
        }
        if (one.timings.empty()) continue;
        if (where == backend::cpu) tuning::share_times_of_equals(one);
        one.fastest = tuning::fastest_config(one).us;
        for (const auto& [name, us] : c.at("rivals").items()) {
          if (!name.starts_with("cusparse") || !us.is_number()) continue;
          one.rival = std::min(one.rival, us.get<double>());
        }
        const auto [place, is_new] =
            cases.try_emplace({one.matrix, one.type, one.cols, {isa, threads, caches.l1, caches.l2, caches.l3}}, one);
        if (!is_new) add_times(place->second, one);
      }
    }
  }
  std::vector<timed_case> all;
  for (auto& [key, one] : cases) all.push_back(std::move(one));
  return all;
}

}  // namespace bcsc::bench
