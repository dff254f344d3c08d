#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/context.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

/// A remembered measurement. Neither part holds a tab or a line break.
struct cache_entry {
  std::string key;    ///< of a choice: library, device, pattern, what the plan was made for
  std::string value;  ///< "name=value ..."
};

/// What is remembered of measurements: a text file that any number of processes may use at once. A line that is damaged
/// counts as absent, a file that is no tuning cache is never written to, and beyond max_entries the oldest entries are
/// dropped.
class tuning_cache {
 public:
  static constexpr std::size_t max_entries = 2048;

  /// `named`: a file, or "off" for none. Empty: BCSC_TUNING_CACHE, which says the same, else
  /// XDG_CACHE_HOME/bcsc/tuning-1.txt, else HOME/.cache/bcsc/tuning-1.txt; no cache if none of these is set. Touches no
  /// file.
  explicit tuning_cache(const std::string& named = {});

  bool is_off() const { return file_.empty(); }
  const std::string& file() const { return file_; }

  /// All of them, last written last; none where there is no file. Throws error{io_error} where it cannot be read,
  /// error{invalid_format} if it is no tuning cache.
  std::vector<cache_entry> entries() const;
  /// The value last written for `key`. Throws as entries().
  std::optional<std::string> find(std::string_view key) const;
  /// Adds or renews entries under a lock; the file is replaced as a whole, so that readers need none. Throws
  /// error{io_error} where that fails, which leaves the file as it was; error{invalid_format} if it is no tuning cache;
  /// error{invalid_argument} for a tab or a line break.
  void put(std::span<const cache_entry> added) const;
  /// Forgets everything. Throws as put().
  void clear() const;

 private:
  std::string file_;
};

/// How a cache names the machine that `ctx` computes on: the GPU and its driver, or the CPU and the number of threads.
std::string machine_name(const context& ctx);

}  // namespace bcsc
#pragma GCC visibility pop
