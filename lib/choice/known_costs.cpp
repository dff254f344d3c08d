#include "lib/choice/known_costs.hpp"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <mutex>
#include <string_view>
#include <tuple>
#include <vector>

#include "bcsc/tuning_cache.hpp"
#include "bcsc/version.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/new_file.hpp"
#include "core/this_machine.hpp"
#include "core/whole_file.hpp"
#include "lib/choice/built_in_costs.hpp"

namespace bcsc::choice {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view what = "costs file";

/// A table with what it refers to.
struct owned_costs {
  cost_table table;
  std::vector<measured_config> configs, configs_in_place;
  std::vector<cpu_family> families;
  std::vector<measured_case> cases;
};

/// Whether residuals of `kept` stand where those of `built_in` do.
bool has_configs_of(const kept_costs& kept, const cost_table& built_in) {
  const auto config_key = [](const measured_config& c) { return std::tie(c.type, c.name); };
  const auto family_key = [](const cpu_family& f) { return std::tie(f.algorithm, f.m_tile); };
  const auto tile_key = [](const cpu_config& c) { return std::tie(c.type, c.algorithm, c.m_tile, c.n_tile); };
  return std::ranges::equal(kept.configs, built_in.configs, {}, config_key, config_key) &&
         std::ranges::equal(kept.families, built_in.families, {}, family_key, family_key) &&
         std::ranges::equal(kept.cpu_configs, built_in.cpu_configs, {}, tile_key, tile_key);
}

/// Costs that were found on the machine of `ctx`, by this library.
void require_ours(const context& ctx, const kept_costs& kept) {
  if (kept.machine != machine_name(ctx)) core::fail(errc::invalid_format, "of another machine");
  if (kept.library != version) core::fail(errc::invalid_format, "made by another version of the library");
  if (kept.has_costs() && !has_configs_of(kept, built_in_costs(ctx.kind()))) {
    core::fail(errc::invalid_format, "of other configs than the library has");
  }
}

/// A whole H200: of a part of one (MPS, MIG) only the name is the same.
bool is_what_was_measured(const device_info& gpu) {
  return gpu.name.find("H200") != gpu.name.npos && gpu.num_multiprocessors == h200_constants.multiprocessors;
}

void scale(std::vector<measured_config>& configs, const gpu_scales& by) {
  cost_terms factors{};
  const auto set = [&](double factor, std::initializer_list<cost_term> terms) {
    for (const cost_term term : terms) factors[static_cast<std::size_t>(term)] = factor;
  };
  set(by.launch, {cost_term::once, cost_term::split});
  // Half the multiprocessors gather half as fast, even where L2's bandwidth is three quarters (docs/history, 136).
  const double gathering = std::max(by.cache, by.multiprocessors);
  set(gathering, {cost_term::gathered, cost_term::shared, cost_term::padded, cost_term::idle});
  set(by.memory, {cost_term::far, cost_term::dense});
  set(by.multiprocessors, {cost_term::begun, cost_term::steps, cost_term::idle_steps});
  set(1, {cost_term::chain});
  for (measured_config& config : configs) {
    config.min_us *= by.launch;
    for (std::size_t i = 0; i < num_cost_terms; ++i) config.us[i] *= factors[i];
  }
}

/// Puts what was measured here in the place of what is built in.
void take_over(owned_costs& own, const kept_costs& kept) {
  const cost_table base = own.table;
  own.families.assign(base.families.begin(), base.families.end());
  // Not calibrated, but compared with what is.
  for (measured_config& config : own.configs_in_place) {
    config.min_us *= kept.scale;
    for (double& us : config.us) us *= kept.scale;
  }
  gpu_scales& dense = own.table.scales;
  for (double* const factor : {&dense.launch, &dense.cache, &dense.memory, &dense.multiprocessors})
    *factor *= kept.scale;
  for (measured_config& config : own.configs) {
    const auto found = std::ranges::find_if(
        kept.configs, [&](const measured_config& c) { return c.type == config.type && c.name == config.name; });
    if (found != kept.configs.end()) config = *found;
  }
  for (cpu_family& family : own.families) {
    const auto found = std::ranges::find_if(kept.families, [&](const cpu_family& f) {
      return f.algorithm == family.algorithm && f.m_tile == family.m_tile;
    });
    if (found != kept.families.end()) family = *found;
  }
  own.cases.assign(base.cases.begin(), base.cases.end());
  own.cases.insert(own.cases.end(), kept.cases.begin(), kept.cases.end());
  own.table.families = own.families;
  own.table.cases = own.cases;
}

}  // namespace

gpu_scales scales_from(const gpu_constants& here, const gpu_constants& measured) {
  const auto ratio = [](double of, double to, double otherwise) { return of > 0 && to > 0 ? of / to : otherwise; };
  gpu_scales scales;
  scales.multiprocessors = ratio(measured.multiprocessors, here.multiprocessors, 1);
  scales.launch = ratio(here.launch_seconds, measured.launch_seconds, 1);
  scales.cache = ratio(measured.cache_bandwidth, here.cache_bandwidth, scales.multiprocessors);
  scales.memory = ratio(measured.memory_bandwidth, here.memory_bandwidth,
                        ratio(measured.peak_bandwidth, here.peak_bandwidth, scales.multiprocessors));
  return scales;
}

std::string costs_file(const context& ctx, const std::string& named) {
  const std::string cache = core::tuning_file(named);
  if (cache.empty()) return {};
  return fs::path(cache)
      .replace_filename(core::format("bcsc-costs-{}.gz", core::checksum_of(machine_name(ctx))))
      .string();
}

std::optional<kept_costs> read_costs(const context& ctx, const std::string& named) {
  const std::string file = costs_file(ctx, named);
  if (file.empty()) return std::nullopt;
  try {
    const std::string content = core::read_whole(what, file, max_kept_bytes);
    if (content.empty() && !fs::exists(file)) return std::nullopt;
    kept_costs kept = read_file(content);
    require_ours(ctx, kept);
    return kept;
  } catch (const std::exception& problem) {
    ctx.state().say(core::format("costs file {} is ignored: {}", file, problem.what()));
    return std::nullopt;
  }
}

void keep_costs(const context& ctx, const std::string& named, kept_costs kept) {
  const std::string file = costs_file(ctx, named);
  if (file.empty()) return;
  kept.machine = machine_name(ctx);
  kept.library = version;
  core::replace_whole(what, core::behind_links(file), file_of(kept));
}

std::shared_ptr<const cost_table> costs_from(backend where, const device_info& gpu,
                                             const std::optional<kept_costs>& kept, int threads) {
  const auto own = std::make_shared<owned_costs>();
  own->table = built_in_costs(where, threads);
  if (where == backend::cuda) {
    own->configs.assign(own->table.configs.begin(), own->table.configs.end());
    own->configs_in_place.assign(own->table.configs_in_place.begin(), own->table.configs_in_place.end());
    if (!is_what_was_measured(gpu)) {
      gpu_constants here{.peak_bandwidth = gpu.peak_bandwidth, .multiprocessors = gpu.num_multiprocessors};
      if (kept) {
        here.launch_seconds = kept->constants.launch_seconds;
        here.cache_bandwidth = kept->constants.cache_bandwidth;
        here.memory_bandwidth = kept->constants.memory_bandwidth;
      }
      own->table.scales = scales_from(here);
      own->table.origin = "an H200's costs, scaled by this GPU's constants";
      scale(own->configs, own->table.scales);
      scale(own->configs_in_place, own->table.scales);
    }
    own->table.configs = own->configs;
    own->table.configs_in_place = own->configs_in_place;
  }
  if (kept && kept->has_costs()) {
    take_over(*own, *kept);
    own->table.origin = core::format("costs of this machine, calibrated on {}", kept->date);
  }
  return {own, &own->table};
}

const cost_table& costs_on(const context& ctx) {
  core::context_state& state = ctx.state();
  std::call_once(state.costs_found,
                 [&] { state.costs = costs_from(ctx.kind(), ctx.device(), read_costs(ctx), ctx.threads()); });
  return *state.costs;
}

}  // namespace bcsc::choice
