#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/tuning_cache.hpp"
#include "tools/bcsc/effort.hpp"

namespace bcsc::cli {

/// Whether the tuning cache takes what is measured: it fails nobody's work, and may be another's file, or one that
/// cannot be written. Made before the work; tells of what is wrong as tell_of_cache() does.
class cache_witness {
 public:
  cache_witness(context ctx, progress_bar& bar, const std::string& named) : cache_(named), before_(entries()) {
    ctx.set_log([this, &bar](std::string_view line) { is_faulty_ = tell_of_cache(line, bar) || is_faulty_; });
  }
  cache_witness(const cache_witness&) = delete;
  cache_witness& operator=(const cache_witness&) = delete;

  const tuning_cache& cache() const { return cache_; }
  /// Not every fault keeps an entry from it: damaged lines are replaced.
  bool has_kept() const {
    const auto is_same = [](const cache_entry& a, const cache_entry& b) {
      return a.key == b.key && a.value == b.value;
    };
    return !cache_.is_off() && !(is_faulty_ && std::ranges::equal(before_, entries(), is_same));
  }
  std::string outcome() const {
    if (cache_.is_off()) return "not remembered: the cache is off";
    return has_kept() ? "remembered in " + cache_.file() : "not remembered: " + cache_.file() + " does not take it";
  }

 private:
  std::vector<cache_entry> entries() const {
    try {
      return cache_.entries();
    } catch (const error&) {  // the log says what
      return {};
    }
  }

  tuning_cache cache_;
  std::vector<cache_entry> before_;
  bool is_faulty_ = false;
};

}  // namespace bcsc::cli
