#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/results.hpp"

/// Results of earlier runs, from the files that they left (docs/benchmark.md lists the keys).
namespace bcsc::bench {

/// The text of a file, gzipped or not. Throws error{io_error}, error{corrupt_compression}, error{decompression_limit}
/// beyond 1 GiB.
std::string read_text(const std::filesystem::path& path);

/// Reads a file of `bcsc bench --out`, gzipped or not, of this version or an earlier one: what an earlier one did not
/// write is empty. Besides what read_text() throws: error{parse_error} for what is not JSON or lacks a key,
/// error{invalid_format} for JSON of another schema; the message names the file and the key.
run_result read_results(const std::filesystem::path& path);

/// The files of one report: one run, in which of a case that is in more than one the last counts. Throws
/// error{invalid_argument} for none, or where machine, main rival or compute class differ, besides what read_results()
/// throws.
struct results_source {
  std::string name;  ///< of the file, without its folder; empty for the current run
  machine_facts machine;
  double seconds = 0;
};
struct merged_results {
  run_result run;  ///< its machine is that of the last file
  std::vector<results_source> sources;
};
merged_results merge_results(std::span<const std::filesystem::path> paths);

}  // namespace bcsc::bench
