#pragma once

#include <charconv>
#include <exception>
#include <map>
#include <string>
#include <string_view>

#include "bcsc/context.hpp"
#include "core/context_state.hpp"

namespace bcsc::tuning {

/// Runs what uses a cache: its faults are reported in the log, and nowhere else.
template <class Use>
void use_cache(const context& ctx, Use use) {
  try {
    use();
  } catch (const std::exception& problem) {
    ctx.state().say(problem.what());
  }
}

/// A cache entry's value, "name=value name=value ...".
class fields {
 public:
  explicit fields(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string_view field = text.substr(at, end - at);
      const std::size_t equals = std::min(field.find('='), field.size());
      values_.emplace(field.substr(0, equals), field.substr(std::min(equals + 1, field.size())));
      at = end + 1;
    }
  }

  /// Empty where there is none.
  std::string get(std::string_view name) const {
    const auto found = values_.find(name);
    return found != values_.end() ? found->second : std::string();
  }
  /// False, and `to` as it was, where there is none or it is no such number.
  template <class Number>
  bool get(std::string_view name, Number& to) const {
    const std::string text = get(name);
    Number number{};
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || status != std::errc{} || end != text.data() + text.size()) return false;
    to = number;
    return true;
  }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace bcsc::tuning
