#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "bench/harness/results.hpp"

/// A run as JSON (docs/benchmark.md lists the keys), and how files are written.
namespace bcsc::bench {

inline constexpr const char* json_schema = "bcsc-bench-1";
/// JSON above this size is compressed.
inline constexpr std::size_t gzip_above_bytes = std::size_t{2} << 20;

std::string to_json_text(const run_result& run);

/// Writes the JSON as a core::new_file. Above gzip_above_bytes, or if `path` ends in ".gz", it is gzip, and ".gz" is
/// added to a path without it; a pipe or a device gets text. Returns the path written. Throws error{io_error}.
std::filesystem::path write_json(const run_result& run, const std::filesystem::path& path);
/// The same with any text.
std::filesystem::path write_text(std::string_view text, const std::filesystem::path& path);

}  // namespace bcsc::bench
