#pragma once

#include <string>

#include "bcsc/any_matrix.hpp"
#include "bcsc/files.hpp"
#include "tools/bcsc/output.hpp"

namespace bcsc::cli {

/// The format that OUT shall have: `asked`, else what its name tells.
/// Throws error{invalid_argument} for a name that tells none, error{unsupported} for a format that is not written.
file_format format_of_output(const std::string& path, std::optional<file_format> asked);

/// Writes a matrix, shows the progress, and says what was written. Throws what format_of_output() and the writer throw.
void write_and_report(const std::string& path, const any_view& a, write_options options, output& out);

}  // namespace bcsc::cli
