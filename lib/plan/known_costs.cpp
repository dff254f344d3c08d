#include "lib/plan/known_costs.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <mutex>

#include "bcsc/tuning_cache.hpp"
#include "bcsc/version.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/this_machine.hpp"
#include "core/whole_file.hpp"
#include "lib/plan/registry.hpp"

namespace bcsc::plan {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view what = "costs file";
constexpr std::string_view title = "bcsc costs 1 ";
constexpr value_type types[] = {value_type::fp32, value_type::fp64, value_type::fp16, value_type::bf16};

/// A table with what it refers to.
struct owned_costs {
  cost_table table;
  std::vector<measured_config> configs, configs_in_place;
  std::vector<cpu_family> families;
  std::vector<measured_case> cases;
  kept_costs kept;  // the residuals that cases refer to
};

/// Each with a space before it.
template <class Numbers>
std::string listed(const Numbers& numbers, int digits) {
  std::string text;
  for (const double x : numbers) text += core::format(" {:.{}g}", x, digits);
  return text;
}

/// Everything that places in a file refer to: a file of other tables is of no use.
std::string tables_of(backend where) {
  const cost_table& all = built_in_costs(where);
  std::string names;
  for (const measured_config& c : all.configs) names += core::format("{} {}\n", to_string(c.type), c.name);
  for (const cpu_family& f : all.families) names += core::format("{} {}\n", f.algorithm, f.m_tile);
  for (const cpu_config& c : all.cpu_configs) {
    names += core::format("{} {} {} {}\n", to_string(c.type), c.algorithm, c.m_tile, c.n_tile);
  }
  return core::checksum_of(names);
}

std::string made_for(const context& ctx) {
  return core::format("library {} tables {}", version, tables_of(ctx.kind()));
}

std::size_t num_places(backend where) {
  const cost_table& all = built_in_costs(where);
  return where == backend::cpu ? all.families.size() : all.configs.size();
}

std::size_t num_residuals(backend where, value_type type) {
  const cost_table& all = built_in_costs(where);
  const auto count = [&](const auto& configs) {
    return static_cast<std::size_t>(
        std::ranges::count_if(configs, [&](const auto& config) { return config.type == type; }));
  };
  return where == backend::cpu ? count(all.cpu_configs) : count(all.configs);
}

/// The words of a line, taken one after the other.
class words {
 public:
  explicit words(std::string_view line) : left_(line) {}

  std::string_view next() {
    const std::size_t end = std::min(left_.find(' '), left_.size());
    const std::string_view word = left_.substr(0, end);
    left_.remove_prefix(std::min(end + 1, left_.size()));
    return word;
  }
  template <class Number>
  Number number() {
    const std::string_view word = next();
    Number value{};
    const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool is_whole = status == std::errc{} && end == word.data() + word.size() && !word.empty();
    if (!is_whole || !(std::isfinite(static_cast<double>(value)))) {
      core::fail(errc::invalid_format, "\"{}\" is no number", word);
    }
    return value;
  }
  /// One that costs and constants may have.
  double amount() {
    const auto value = number<double>();
    if (value < 0) core::fail(errc::invalid_format, "{} is negative", value);
    return value;
  }

 private:
  std::string_view left_;
};

kept_costs::fitted_cost parse_cost(words line, backend where) {
  kept_costs::fitted_cost cost{.place = line.number<std::size_t>()};
  if (cost.place >= num_places(where)) core::fail(errc::invalid_format, "there is no config {}", cost.place);
  cost.min_us = line.amount();
  for (double& us : cost.us) us = line.amount();
  return cost;
}

kept_costs::seen_case parse_case(words line, backend where) {
  kept_costs::seen_case one;
  const std::string_view type = line.next();
  const auto* const found = std::ranges::find(types, type, [](value_type t) { return to_string(t); });
  if (found == std::end(types)) core::fail(errc::invalid_format, "\"{}\" is no type", type);
  one.type = *found;
  for (float& at : one.at) at = line.number<float>();
  one.residuals = line.next();
  const bool printable = std::ranges::all_of(one.residuals, [](char c) { return c > ' ' && c <= '~'; });
  if (!printable || one.residuals.size() != num_residuals(where, one.type)) {
    core::fail(errc::invalid_format, "a case has {} residuals, not {}", one.residuals.size(),
               num_residuals(where, one.type));
  }
  return one;
}

void scale(std::vector<measured_config>& configs, const gpu_scales& by) {
  cost_terms factors{};
  const auto set = [&](double factor, std::initializer_list<cost_term> terms) {
    for (const cost_term term : terms) factors[static_cast<std::size_t>(term)] = factor;
  };
  set(by.launch, {cost_term::once, cost_term::split});
  set(by.cache, {cost_term::gathered, cost_term::shared, cost_term::padded, cost_term::idle});
  set(by.memory, {cost_term::far, cost_term::dense});
  set(by.multiprocessors, {cost_term::begun, cost_term::steps, cost_term::idle_steps});
  set(1, {cost_term::chain});
  for (measured_config& config : configs) {
    config.min_us *= by.launch;
    for (std::size_t i = 0; i < num_cost_terms; ++i) config.us[i] *= factors[i];
  }
}

/// Puts what was measured here in the place of what is built in.
void take_over(owned_costs& own, const kept_costs& kept, backend where) {
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
  own.kept = kept;
  for (const kept_costs::fitted_cost& cost : own.kept.costs) {
    const auto take = [&](auto& one) {
      one.min_us = cost.min_us;
      one.us = cost.us;
    };
    if (where == backend::cpu) {
      take(own.families[cost.place]);
    } else {
      take(own.configs[cost.place]);
    }
  }
  own.cases.assign(base.cases.begin(), base.cases.end());
  for (const kept_costs::seen_case& c : own.kept.cases) own.cases.push_back({c.type, c.at, c.residuals});
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

std::string text_of(const context& ctx, kept_costs kept) {
  for (;;) {
    std::string text = core::format("machine {}\n{}\n", machine_name(ctx), made_for(ctx));
    if (!kept.date.empty()) text += core::format("date {}\n", kept.date);
    if (kept.launch_seconds > 0) {
      text += core::format("constants {:.4g} {:.4g} {:.4g}\n", kept.launch_seconds, kept.cache_bandwidth,
                           kept.memory_bandwidth);
    }
    if (!kept.costs.empty()) text += core::format("scale {:.4g}\n", kept.scale);
    for (const kept_costs::fitted_cost& cost : kept.costs) {
      text += core::format("cost {} {:.4g}{}\n", cost.place, cost.min_us, listed(cost.us, 4));
    }
    for (const kept_costs::seen_case& c : kept.cases) {
      text += core::format("case {}{} {}\n", to_string(c.type), listed(c.at, 4), c.residuals);
    }
    text = core::format("{}{}\n{}", title, core::checksum_of(text), text);
    if (text.size() <= max_kept_bytes || kept.cases.empty()) return text;
    for (std::size_t i = 0; i < kept.cases.size(); ++i) {
      kept.cases.erase(kept.cases.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

kept_costs parse_costs(const context& ctx, std::string_view text) {
  const auto line = [&text] {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view found = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return found;
  };
  const std::string_view first = line();
  if (!first.starts_with(title)) core::fail(errc::invalid_format, "no costs, or of another version");
  if (first.substr(title.size()) != core::checksum_of(text)) core::fail(errc::invalid_format, "damaged");
  if (line() != core::format("machine {}", machine_name(ctx))) core::fail(errc::invalid_format, "of another machine");
  if (line() != made_for(ctx)) core::fail(errc::invalid_format, "made by another version of the library");
  kept_costs kept;
  while (!text.empty()) {
    words left(line());
    const std::string_view key = left.next();
    if (key == "date") {
      kept.date = left.next();
    } else if (key == "constants") {
      kept.launch_seconds = left.amount();
      kept.cache_bandwidth = left.amount();
      kept.memory_bandwidth = left.amount();
    } else if (key == "scale") {
      kept.scale = left.amount();
    } else if (key == "cost") {
      kept.costs.push_back(parse_cost(left, ctx.kind()));
    } else if (key == "case") {
      kept.cases.push_back(parse_case(left, ctx.kind()));
    } else {
      core::fail(errc::invalid_format, "\"{}\" is not known", key);
    }
  }
  return kept;
}

std::string costs_file(const context& ctx, const std::string& named) {
  const std::string cache = core::tuning_file(named);
  if (cache.empty()) return {};
  return fs::path(cache)
      .replace_filename(core::format("bcsc-costs-{}.txt", core::checksum_of(machine_name(ctx))))
      .string();
}

std::optional<kept_costs> read_costs(const context& ctx, const std::string& named) {
  const std::string file = costs_file(ctx, named);
  if (file.empty()) return std::nullopt;
  try {
    const std::string text = core::read_whole(what, file, max_kept_bytes);
    if (text.empty() && !fs::exists(file)) return std::nullopt;
    return parse_costs(ctx, text);
  } catch (const std::exception& problem) {
    ctx.state().say(core::format("costs file {} is ignored: {}", file, problem.what()));
    return std::nullopt;
  }
}

void keep_costs(const context& ctx, const std::string& named, const kept_costs& kept) {
  const std::string file = costs_file(ctx, named);
  if (!file.empty()) core::replace_whole(what, core::behind_links(file), text_of(ctx, kept));
}

std::shared_ptr<const cost_table> costs_from(backend where, const device_info& gpu,
                                             const std::optional<kept_costs>& kept, int threads) {
  const auto own = std::make_shared<owned_costs>();
  own->table = built_in_costs(where, threads);
  if (where == backend::cuda) {
    own->configs.assign(own->table.configs.begin(), own->table.configs.end());
    own->configs_in_place.assign(own->table.configs_in_place.begin(), own->table.configs_in_place.end());
    if (gpu.name.find("H200") == gpu.name.npos) {
      gpu_constants here{.peak_bandwidth = gpu.peak_bandwidth, .multiprocessors = gpu.num_multiprocessors};
      if (kept) {
        here.launch_seconds = kept->launch_seconds;
        here.cache_bandwidth = kept->cache_bandwidth;
        here.memory_bandwidth = kept->memory_bandwidth;
      }
      own->table.scales = scales_from(here);
      own->table.origin = "an H200's costs, scaled by this GPU's constants";
      scale(own->configs, own->table.scales);
      scale(own->configs_in_place, own->table.scales);
    }
    own->table.configs = own->configs;
    own->table.configs_in_place = own->configs_in_place;
  }
  if (kept && !kept->costs.empty()) {
    take_over(*own, *kept, where);
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

}  // namespace bcsc::plan
