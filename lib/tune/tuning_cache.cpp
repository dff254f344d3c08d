#include "bcsc/tuning_cache.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/fail.hpp"
#include "core/this_machine.hpp"
#include "lib/tune/store.hpp"

namespace bcsc {
namespace {

namespace fs = std::filesystem;

/// The last entry of each key, in the order of writing.
std::vector<cache_entry> newest(std::vector<cache_entry> entries) {
  std::map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < entries.size(); ++i) last[entries[i].key] = i;
  std::vector<cache_entry> kept;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (last[entries[i].key] == i) kept.push_back(entries[i]);
  }
  return kept;
}

}  // namespace

tuning_cache::tuning_cache(const std::string& named) : file_(core::tuning_file(named)) {}

std::vector<cache_entry> tuning_cache::entries() const {
  return is_off() ? std::vector<cache_entry>() : newest(tuning::read_store(file_).entries);
}

std::optional<std::string> tuning_cache::find(std::string_view key) const {
  if (is_off()) return std::nullopt;
  if (std::string value = tuning::find_in_store(file_, key); !value.empty()) return value;
  return std::nullopt;
}

void tuning_cache::put(std::span<const cache_entry> added) const {
  for (const cache_entry& entry : added) {
    for (const std::string& part : {entry.key, entry.value}) {
      if (part.empty() || part.find_first_of("\t\r\n") != part.npos) {
        core::fail(errc::invalid_argument, "tuning_cache::put: \"{}\": empty, or with a tab or a line break", part);
      }
    }
  }
  if (is_off()) return;
  tuning::change_store(file_, [&](std::vector<cache_entry>& all) {
    all.insert(all.end(), added.begin(), added.end());
    all = newest(std::move(all));
    if (all.size() > max_entries) all.erase(all.begin(), all.end() - max_entries);
  });
}

void tuning_cache::clear() const {
  if (is_off()) return;
  std::error_code unknown;
  if (!fs::exists(file_, unknown)) return;
  tuning::change_store(file_, [](std::vector<cache_entry>& all) { all.clear(); });
}

}  // namespace bcsc
