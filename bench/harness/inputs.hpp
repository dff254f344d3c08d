#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/files.hpp"
#include "bcsc/formats.hpp"

namespace bcsc::bench {

/// A matrix that is asked for, before it is read or made.
struct input {
  std::string name;    ///< file name without folder and suffixes, catalogue name, or specification
  std::string source;  ///< path, or specification
  std::string kind;    ///< of the catalogue; empty otherwise
  bool is_file = false;
  bool from_folder = false;  ///< found in a folder, not named: what cannot be read as real is then passed over
  std::optional<std::uint64_t> checksum;  ///< that a manifest promises
};

/// Expands what the user names: a file of any format that is read; a folder (every .mtx and .mtx.gz in it, by name); a
/// name of the catalogue; "catalogue" (all of it); a manifest (a .json file: {"matrices": [{"specification",
/// "checksum"}, ...]}, such as bench/large.json); a specification for generate::from_specification. Throws
/// error{io_error} for a folder without such files, error{parse_error} for a malformed manifest.
std::vector<input> expand_inputs(std::span<const std::string> names);

struct loaded_matrix {
  input from;
  csr_matrix<double> a;
  bool seeded_values = false;  ///< a pattern file: its values were drawn
  std::uint64_t checksum = 0;
  std::int64_t max_row = 0;   ///< non-zeros of the longest row
  std::string pattern_class;  ///< classify_pattern()
  double load_seconds = 0;
};

/// Reads (as `reading` says) or makes it. Pattern files get values drawn from `seed`.
/// Throws what read_csr and from_specification throw, and error{invalid_format} where a manifest's checksum differs.
loaded_matrix load(const input& from, std::uint64_t seed, const read_options& reading = {});

/// The same, but a file found in a folder that is no real matrix gives none, and `why` says so.
std::optional<loaded_matrix> load_or_pass_over(const input& from, std::uint64_t seed, std::string& why);

/// FNV-1a, 64 bits, over row_ptr and col_ind as 64-bit and the values as fp64, all little-endian.
std::uint64_t checksum(const csr_view<double, std::int32_t>& a);

/// A coarse class by the pattern alone: "dense" (at least 1 % of the entries), "skewed" (the longest row at least 8
/// times the mean), "hypersparse" (less than 3 a row), else "regular".
std::string_view classify_pattern(std::int64_t rows, std::int64_t cols, std::int64_t nnz, std::int64_t max_row);

}  // namespace bcsc::bench
