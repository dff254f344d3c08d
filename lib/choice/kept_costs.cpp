#include "lib/choice/kept_costs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/fail.hpp"
#include "core/gzip.hpp"
#include "lib/choice/residual_code.hpp"

namespace bcsc::choice {

namespace {

constexpr std::string_view title = "bcsc costs 6";
constexpr value_type types[] = {value_type::fp32, value_type::fp64, value_type::fp16, value_type::bf16};

/// Each with a space before it.
std::string listed(const cost_terms& numbers, int digits) {
  std::string text;
  for (const double x : numbers) text += core::format(" {:.{}g}", x, digits);
  return text;
}

std::string lines_of(std::string_view key, std::span<const measured_config> configs) {
  constexpr int digits = 3;  // no fit is better, and what a fourth takes is room for cases
  std::string text;
  for (const measured_config& c : configs) {
    text +=
        core::format("{} {} {} {:.{}g}{}\n", key, to_string(c.type), c.name, c.min_us, digits, listed(c.us, digits));
  }
  return text;
}

/// How lines begin that say where cases lie, and those with all residuals of a type, coded.
struct case_keys {
  std::string_view at, residuals;
  bool in_place;
};
constexpr case_keys row_major{"case", "residuals", false}, in_place{"case-in-place", "residuals-in-place", true};

/// The third feature, the size of B, grows with the first, N. Told without that growth it is the same for every N of a
/// matrix, which compresses well.
float growth_of(const features& at, const features& weights) { return at[0] * weights[2] / weights[0]; }

/// Features apart from residuals, and "=" for one that is the last case's: so they compress better.
std::string lines_of(const case_keys& keys, std::span<const measured_case> cases, bool on_gpu) {
  const int decimals = on_gpu ? 1 : 2;  // a GPU has too many cases for a second decimal to fit
  std::string text;
  std::array<std::string, std::tuple_size_v<features>> last;
  std::map<value_type, std::pair<std::string, std::size_t>> residuals;  // and how many each case has
  for (const measured_case& c : cases) {
    text += core::format("{} {}", keys.at, to_string(c.type));
    features told = c.at;
    told[2] -= growth_of(c.at, weights_of(on_gpu, keys.in_place));
    for (std::size_t i = 0; i < last.size(); ++i) {
      std::string at = core::format("{:.{}f}", told[i], decimals);
      if (at.find_first_not_of("-0.") == std::string::npos) at.erase(0, at.find('0'));  // no "-0.0"
      text += at == last[i] ? " =" : " " + at;
      last[i] = std::move(at);
    }
    text += '\n';
    auto& [all, width] = residuals[c.type];
    all += c.residuals;
    width = c.residuals.size();
  }
  for (const auto& [type, some] : residuals) {
    const std::string code = encode_residuals(some.first, some.second);
    text += core::format("{} {} {}\n{}\n", keys.residuals, to_string(type), code.size(), code);
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
  /// Whether the next is this one, which then is taken.
  bool skip(std::string_view word) {
    words rest = *this;
    if (rest.next() != word) return false;
    *this = rest;
    return true;
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

/// Reads what lines_of() writes.
class case_reader {
 public:
  explicit case_reader(const case_keys& keys) : keys_(keys) {}

  /// Whether `key` is one of its own. `behind`: what follows the line, which a code is taken from.
  bool reads(std::string_view key, words& line, std::string_view& behind) {
    if (key == keys_.residuals) {
      std::string_view& code = residuals_[line.type()];
      if (!code.empty()) core::fail(errc::invalid_format, "{} twice", key);
      const auto size = line.number<std::size_t>();
      if (size >= behind.size() || behind[size] != '\n') {
        core::fail(errc::invalid_format, "no line ends behind the {} bytes of {}", size, key);
      }
      code = behind.substr(0, size);
      behind.remove_prefix(size + 1);
      return true;
    }
    if (key != keys_.at) return false;
    const value_type type = line.type();
    for (float& at : told_) {
      if (cases_.empty() || !line.skip("=")) at = line.number<float>();
    }
    cases_.push_back({type, told_, {}});
    return true;
  }

  /// All cases, each with a residual for every one of the `configs` of its type.
  template <class Config>
  std::vector<measured_case> cases(std::span<const Config> configs) {
    std::map<value_type, std::size_t> num_configs, num_cases;
    for (const Config& config : configs) ++num_configs[config.type];
    for (const measured_case& c : cases_) ++num_cases[c.type];
    std::map<value_type, std::string> residuals;
    std::map<value_type, std::string_view> left_of;
    for (const auto& [type, code] : residuals_) {
      if (num_cases[type] == 0) core::fail(errc::invalid_format, "residuals of no case in {}", to_string(type));
      residuals[type] = decode_residuals(code, num_configs[type], num_configs[type] * num_cases[type]);
      left_of[type] = residuals[type];
    }
    constexpr bool on_gpu = std::is_same_v<Config, measured_config>;
    const features& weights = weights_of(on_gpu, keys_.in_place);
    for (measured_case& c : cases_) {
      c.at[2] += growth_of(c.at, weights);
      std::string_view& left = left_of[c.type];
      if (left.empty()) core::fail(errc::invalid_format, "a case in {} has no residuals", to_string(c.type));
      c.residuals = left.substr(0, num_configs[c.type]);
      left.remove_prefix(c.residuals.size());
      if (!std::ranges::all_of(c.residuals, is_residual)) {
        core::fail(errc::invalid_format, "\"{}\" are no residuals", c.residuals);
      }
    }
    return std::move(cases_);
  }

 private:
  const case_keys& keys_;
  features told_{};  ///< of the last case
  std::vector<measured_case> cases_;
  std::map<value_type, std::string_view> residuals_;  ///< of each type's cases, coded
};

/// So many thousandths of them, and of every stretch of a type's cases the same share, since multiples of the golden
/// ratio fall evenly into [0, 1).
std::vector<measured_case> thinned(std::span<const measured_case> cases, int thousandths) {
  constexpr double golden_ratio = 0.6180339887498949;
  std::map<value_type, std::size_t> seen;
  std::vector<measured_case> some;
  for (const measured_case& c : cases) {
    const double at = golden_ratio * static_cast<double>(seen[c.type]++);
    if (1000 * (at - std::floor(at)) < thousandths) some.push_back(c);
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
    text += core::format("family {} {} {:.4g}{}\n", f.algorithm, f.m_tile, f.min_us, listed(f.us, 4));
  }
  for (const cpu_config& c : kept.cpu_configs) {
    text += core::format("tile {} {} {} {}\n", to_string(c.type), c.algorithm, c.m_tile, c.n_tile);
  }
  const bool on_gpu = kept.families.empty();
  return text + lines_of(row_major, kept.cases, on_gpu) + lines_of(in_place, kept.cases_in_place, on_gpu);
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
  case_reader of_row_major(row_major), of_in_place(in_place);
  while (!text.empty()) {
    words left(line());
    const std::string_view key = left.next();
    if (of_row_major.reads(key, left, text) || of_in_place.reads(key, left, text)) {
      // taken
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
  kept.cases = kept.families.empty() ? of_row_major.cases<measured_config>(kept.configs)
                                     : of_row_major.cases<cpu_config>(kept.cpu_configs);
  kept.cases_in_place = of_in_place.cases<measured_config>(kept.configs_in_place);
  return kept;
}

std::string file_of(const kept_costs& all, std::size_t max_bytes) {
  std::string file = core::gzipped(text_of(all));
  if (file.size() <= max_bytes) return file;
  // Cases in place are fewer, and each tells more: of them twice the share is kept.
  kept_costs some = all;
  const auto with = [&](int thousandths) {
    some.cases = thinned(all.cases, thousandths);
    some.cases_in_place = thinned(all.cases_in_place, std::min(1000, 2 * thousandths));
    return core::gzipped(text_of(some));
  };
  int fits = 0, too_many = 1000;
  file = with(fits);
  while (too_many - fits > 1) {
    const int share = std::midpoint(fits, too_many);
    std::string larger = with(share);
    const bool is_better = larger.size() <= max_bytes;
    (is_better ? fits : too_many) = share;
    if (is_better) file = std::move(larger);
  }
  return file;
}

kept_costs read_file(std::string_view file) {
  constexpr std::size_t max_text_bytes = std::size_t{1} << 20;
  return parse_costs(core::gunzipped(file, max_text_bytes));
}

}  // namespace bcsc::choice
