#include "lib/plan/kept_costs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "core/fail.hpp"
#include "core/gzip.hpp"

namespace bcsc::plan {

namespace {

constexpr std::string_view title = "bcsc costs 2";
constexpr value_type types[] = {value_type::fp32, value_type::fp64, value_type::fp16, value_type::bf16};

/// Each with a space before it.
std::string listed(const cost_terms& numbers) {
  std::string text;
  for (const double x : numbers) text += core::format(" {:.4g}", x);
  return text;
}

std::string lines_of(std::string_view key, std::span<const measured_config> configs) {
  std::string text;
  for (const measured_config& c : configs) {
    text += core::format("{} {} {} {:.4g}{}\n", key, to_string(c.type), c.name, c.min_us, listed(c.us));
  }
  return text;
}

/// A feature is "=" where it is the last case's: that compresses better.
std::string lines_of(std::string_view key, std::span<const measured_case> cases) {
  std::string text;
  std::array<std::string, std::tuple_size_v<features>> last;
  for (const measured_case& c : cases) {
    text += core::format("{} {}", key, to_string(c.type));
    for (std::size_t i = 0; i < last.size(); ++i) {
      std::string at = core::format("{:.2f}", c.at[i]);
      text += at == last[i] ? " =" : " " + at;
      last[i] = std::move(at);
    }
    text += core::format(" {}\n", c.residuals);
  }
  return text;
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
  /// Whether the next is this character, which then is taken.
  bool skip(char c) {
    const bool is_next = left_.size() > 1 && left_[0] == c && left_[1] == ' ';
    if (is_next) left_.remove_prefix(2);
    return is_next;
  }
  /// All that are left.
  std::string rest() { return std::string(std::exchange(left_, {})); }
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
  value_type type() {
    const std::string_view word = next();
    const auto* const found = std::ranges::find(types, word, [](value_type t) { return to_string(t); });
    if (found == std::end(types)) core::fail(errc::invalid_format, "\"{}\" is no type", word);
    return *found;
  }
  cost_terms costs() {
    cost_terms us{};
    for (double& term : us) term = amount();
    return us;
  }
  void end() const {
    if (!left_.empty()) core::fail(errc::invalid_format, "\"{}\" is left over", left_);
  }

 private:
  std::string_view left_;
};

measured_config parse_config(words& line) {
  measured_config config{.type = line.type(), .name = std::string(line.next()), .min_us = line.amount(), .us = {}};
  config.us = line.costs();
  return config;
}

cpu_family parse_family(words& line) {
  cpu_family family{std::string(line.next()), line.number<int>(), line.amount(), {}};
  family.us = line.costs();
  return family;
}

void parse_case(words& line, std::vector<measured_case>& cases) {
  measured_case one{.type = line.type(), .at = cases.empty() ? features{} : cases.back().at, .residuals = {}};
  for (float& at : one.at) {
    if (!line.skip('=')) at = line.number<float>();
  }
  one.residuals = line.next();
  cases.push_back(std::move(one));
}

/// Every case has a residual for each of the `configs` of its type.
template <class Config>
void require_whole(std::span<const measured_case> cases, std::span<const Config> configs) {
  std::map<value_type, std::size_t> of_type;
  for (const Config& config : configs) ++of_type[config.type];
  for (const measured_case& c : cases) {
    const std::size_t num = of_type[c.type];
    const bool known = std::ranges::all_of(c.residuals, is_residual);
    if (!known || c.residuals.size() != num) {
      core::fail(errc::invalid_format, "a case has {} residuals, not {}", known ? c.residuals.size() : 0, num);
    }
  }
}

/// At most so many of each type; of every stretch of its cases the same share, since multiples of the golden ratio fall
/// evenly into [0, 1).
std::vector<measured_case> thinned(std::span<const measured_case> cases, std::size_t most) {
  constexpr double golden_ratio = 0.6180339887498949;
  std::map<value_type, std::size_t> all, seen;
  for (const measured_case& c : cases) ++all[c.type];
  std::vector<measured_case> some;
  for (const measured_case& c : cases) {
    const double at = golden_ratio * static_cast<double>(seen[c.type]++);
    if ((at - std::floor(at)) * static_cast<double>(all[c.type]) < static_cast<double>(most)) some.push_back(c);
  }
  return some;
}

}  // namespace

std::string text_of(const kept_costs& kept) {
  std::string text = core::format("{}\n", title);
  const std::pair<std::string_view, const std::string&> said[] = {
      {"machine", kept.machine}, {"library", kept.library}, {"date", kept.date}, {"from", kept.from}};
  for (const auto& [key, value] : said) {
    if (!value.empty()) text += core::format("{} {}\n", key, value);
  }
  if (const machine_constants& c = kept.constants; c.launch_seconds > 0) {
    text += core::format("constants {:.4g} {:.4g} {:.4g}\n", c.launch_seconds, c.cache_bandwidth, c.memory_bandwidth);
  }
  if (kept.scale != 1) text += core::format("scale {:.4g}\n", kept.scale);
  text += lines_of("config", kept.configs) + lines_of("config-in-place", kept.configs_in_place);
  for (const cpu_family& f : kept.families) {
    text += core::format("family {} {} {:.4g}{}\n", f.algorithm, f.m_tile, f.min_us, listed(f.us));
  }
  for (const cpu_config& c : kept.cpu_configs) {
    text += core::format("tile {} {} {} {}\n", to_string(c.type), c.algorithm, c.m_tile, c.n_tile);
  }
  return text + lines_of("case", kept.cases) + lines_of("case-in-place", kept.cases_in_place);
}

kept_costs parse_costs(std::string_view text) {
  const auto line = [&text] {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view found = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return found;
  };
  if (line() != title) core::fail(errc::invalid_format, "no costs, or of another version");
  kept_costs kept;
  while (!text.empty()) {
    words left(line());
    const std::string_view key = left.next();
    if (key == "case") {
      parse_case(left, kept.cases);
    } else if (key == "case-in-place") {
      parse_case(left, kept.cases_in_place);
    } else if (key == "config") {
      kept.configs.push_back(parse_config(left));
    } else if (key == "config-in-place") {
      kept.configs_in_place.push_back(parse_config(left));
    } else if (key == "family") {
      kept.families.push_back(parse_family(left));
    } else if (key == "tile") {
      kept.cpu_configs.push_back({left.type(), std::string(left.next()), left.number<int>(), left.number<int>()});
    } else if (key == "machine") {
      kept.machine = left.rest();
    } else if (key == "library") {
      kept.library = left.rest();
    } else if (key == "date") {
      kept.date = left.rest();
    } else if (key == "from") {
      kept.from = left.rest();
    } else if (key == "constants") {
      kept.constants = {left.amount(), left.amount(), left.amount()};
    } else if (key == "scale") {
      kept.scale = left.amount();
    } else {
      core::fail(errc::invalid_format, "\"{}\" is not known", key);
    }
    left.end();
  }
  if (kept.families.empty()) {
    require_whole<measured_config>(kept.cases, kept.configs);
  } else {
    require_whole<cpu_config>(kept.cases, kept.cpu_configs);
  }
  require_whole<measured_config>(kept.cases_in_place, kept.configs_in_place);
  return kept;
}

std::string file_of(const kept_costs& all, std::size_t max_bytes) {
  std::string file = core::gzipped(text_of(all));
  if (file.size() <= max_bytes) return file;
  kept_costs some = all;
  const auto with = [&](std::size_t most) {
    some.cases = thinned(all.cases, most);
    some.cases_in_place = thinned(all.cases_in_place, most);
    return core::gzipped(text_of(some));
  };
  std::size_t fits = 0, too_many = std::max(all.cases.size(), all.cases_in_place.size());
  file = with(fits);
  while (too_many - fits > 1) {
    const std::size_t most = std::midpoint(fits, too_many);
    std::string larger = with(most);
    const bool is_better = larger.size() <= max_bytes;
    (is_better ? fits : too_many) = most;
    if (is_better) file = std::move(larger);
  }
  return file;
}

kept_costs read_file(std::string_view file) {
  constexpr std::size_t max_text_bytes = std::size_t{1} << 20;
  return parse_costs(core::gunzipped(file, max_text_bytes));
}

}  // namespace bcsc::plan
