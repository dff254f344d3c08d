#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "bench/harness/read_results.hpp"

/// The report that is looked at: one HTML page with everything in it, of the records that the JSON holds.
namespace bcsc::bench {

/// The page: HTML that is well-formed XML, without a reference to anything outside of it. `sources`: where the run's
/// records come from, at least one. Equal records give equal bytes.
std::string page_of(const run_result& run, std::span<const results_source> sources);
/// Of the current run.
std::string page_of(const run_result& run);

/// Writes the page to a file beside `path` and renames it. Throws error{io_error}.
void write_page(const std::string& page, const std::filesystem::path& path);

}  // namespace bcsc::bench
