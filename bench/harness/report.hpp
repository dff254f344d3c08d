#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

#include "bench/harness/results.hpp"

/// A run as JSON (docs/benchmark.md lists the keys) and as a table.
namespace bcsc::bench {

inline constexpr const char* json_schema = "bcsc-bench-1";
/// JSON above this size is compressed.
inline constexpr std::size_t gzip_above_bytes = std::size_t{2} << 20;

std::string to_json_text(const run_result& run);

/// Writes the JSON beside `path` and renames it. Above gzip_above_bytes, or if `path` ends in ".gz", it is gzip, and
/// ".gz" is added to a path without it. Returns the path written. Throws error{io_error}.
std::filesystem::path write_json(const run_result& run, const std::filesystem::path& path);
/// The same with any text.
std::filesystem::path write_text(std::string_view text, const std::filesystem::path& path);

/// Prints a line for each case as it comes, and what follows from all of them at the end.
class table_printer {
 public:
  explicit table_printer(std::ostream& out) : out_(out) {}
  void print_case(const run_result& run, const case_result& c);
  void print_summary(const run_result& run);

 private:
  void print_header(const run_result& run);
  std::ostream& out_;
  bool header_done_ = false;
};

/// "matrix N=128 fp32", which names a case in summaries.
std::string name_of(const run_result& run, const case_result& c);

}  // namespace bcsc::bench
