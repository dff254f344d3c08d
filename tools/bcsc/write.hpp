#pragma once

#include <string>

#include "bcsc/files.hpp"
#include "tools/bcsc/output.hpp"

namespace bcsc::cli {

/// Writes a matrix and says what was written. `path` must end in .mtx or .mtx.gz.
/// Throws error{invalid_argument} for another ending, and what the writer throws.
void write_and_report(const std::string& path, const csr_matrix<double>& a, const write_options& options, output& out);

}  // namespace bcsc::cli
