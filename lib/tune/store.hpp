#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/tuning_cache.hpp"

/// The file of a tuning cache: a header, then a line `checksum key value` for each entry, separated by tabs. The
/// checksum is the CRC-32 of what stands behind it.
namespace bcsc::tuning {

/// What a cache's file holds.
struct stored_entries {
  std::vector<cache_entry> entries;  ///< as they stand there; of one key, the last counts
  std::int64_t num_damaged = 0;      ///< lines whose checksum is not theirs
};

/// Of a file that is not there: nothing. Throws error{io_error | invalid_format}.
stored_entries read_store(const std::filesystem::path& file);

/// The value of `key`, found without looking at the other lines; empty if there is none or it is damaged.
std::string find_in_store(const std::filesystem::path& file, std::string_view key);

/// Replaces the file by what `change` makes of its entries, while no other process may. Throws error{io_error |
/// invalid_format}, which leaves the file as it was.
void change_store(const std::filesystem::path& file, const std::function<void(std::vector<cache_entry>&)>& change);

}  // namespace bcsc::tuning
