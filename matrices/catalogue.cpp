#include "bcsc/catalogue.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

#include "core/fail.hpp"
#include "matrices/catalogue_table.hpp"

namespace bcsc::suitesparse {
namespace {

/// Not std::tolower: that depends on the locale.
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A filter's pattern, made ready for thousands of names.
class name_pattern {
 public:
  explicit name_pattern(std::string_view pattern)
      : text_(lower(pattern)),
        is_glob_(text_.find_first_of("*?[") != std::string::npos),
        names_group_(text_.find('/') != std::string::npos) {}

  bool matches(const entry& e) const {
    if (text_.empty()) return true;
    const std::string full = lower(e.full_name());
    if (!is_glob_) return contains(full, text_);
    const char* const subject = names_group_ ? full.c_str() : full.c_str() + e.group.size() + 1;
    return fnmatch(text_.c_str(), subject, 0) == 0;
  }

 private:
  std::string text_;
  bool is_glob_, names_group_;
};

bool inside(std::int64_t number, const range& limits) { return number >= limits.least && number <= limits.most; }

void require_range(const range& limits, std::string_view what) {
  if (limits.least > limits.most) {
    core::fail(errc::invalid_argument, "{}: from {} to {} there is nothing", what, limits.least, limits.most);
  }
}

std::vector<entry> select(const std::function<bool(const entry&)>& wanted) {
  std::vector<entry> found;
  std::ranges::copy_if(catalogue(), std::back_inserter(found), wanted);
  return found;
}

/// The matrices that a name refers to; if any is spelt exactly so, only those.
std::vector<entry> called(std::string_view name) {
  const bool full = name.find('/') != std::string_view::npos;
  const auto spelling = [full](const entry& e) { return full ? e.full_name() : std::string(e.name); };
  auto found = select([&](const entry& e) { return spelling(e) == name; });
  if (found.empty()) {
    const std::string wanted = lower(name);
    found = select([&](const entry& e) { return lower(spelling(e)) == wanted; });
  }
  return found;
}

/// "17" or "#17", or nothing.
std::optional<std::int64_t> as_number(std::string_view text) {
  if (text.starts_with('#')) text.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Least number of letters to insert, drop or change to turn `a` into `b`. Source: Wagner and Fischer 1974.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({changed, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

/// Up to five names that `name` may have been meant to be.
std::string alike(std::string_view name) {
  constexpr std::size_t longest_name = 100, most = 5, far = 3;
  if (name.size() > longest_name) return {};
  const std::string wanted = lower(name.substr(name.find('/') == std::string_view::npos ? 0 : name.find('/') + 1));
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const entry& e : catalogue()) {
    const std::string candidate = lower(e.name);
    const bool part = wanted.size() >= far && contains(candidate, wanted);
    const std::size_t distance = part ? 1 : edit_distance(wanted, candidate);
    if (distance < std::min(far, wanted.size())) near.emplace_back(distance, e.full_name());
  }
  std::ranges::stable_sort(near, {}, &std::pair<std::size_t, std::string>::first);
  std::string text;
  for (std::size_t k = 0; k < std::min(near.size(), most); ++k) text += (k == 0 ? "" : ", ") + near[k].second;
  return text;
}

}  // namespace

std::span<const entry> catalogue() noexcept { return embedded_table(); }

std::vector<entry> search(const filter& wanted) {
  require_range(wanted.rows, "rows");
  require_range(wanted.cols, "cols");
  require_range(wanted.nnz, "nnz");
  const name_pattern pattern(wanted.pattern);
  const std::string kind = lower(wanted.kind);
  return select([&](const entry& e) {
    return inside(e.rows, wanted.rows) && inside(e.cols, wanted.cols) && inside(e.nnz, wanted.nnz) &&
           e.positive_definite == wanted.positive_definite.value_or(e.positive_definite) &&
           e.symmetry == wanted.symmetry.value_or(e.symmetry) && e.field == wanted.field.value_or(e.field) &&
           contains(lower(e.kind), kind) && pattern.matches(e);
  });
}

entry find(std::string_view name) {
  const std::vector<entry> found = called(name);
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    std::string candidates;
    for (const entry& e : found) candidates += (candidates.empty() ? "" : ", ") + e.full_name();
    core::fail(errc::invalid_argument, "name = \"{}\": several matrices have this name: {}", name, candidates);
  }
  const auto all = catalogue();
  if (const auto number = as_number(name)) {
    if (*number >= 1 && *number <= std::ssize(all)) return all[static_cast<std::size_t>(*number - 1)];
    core::fail(errc::invalid_argument, "number = {}: the catalogue goes from 1 to {}", *number, all.size());
  }
  const std::string near = alike(name);
  core::fail(errc::invalid_argument, "name = \"{}\": the SuiteSparse collection has no such matrix{}", name,
             near.empty() ? "" : "; perhaps " + near);
}

}  // namespace bcsc::suitesparse
