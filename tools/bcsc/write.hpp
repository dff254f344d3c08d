#pragma once

#include <string>

#include "bcsc/any_matrix.hpp"
#include "bcsc/files.hpp"
#include "tools/bcsc/output.hpp"

namespace bcsc::cli {

/// The format that OUT, a path or "-" for standard output, is to have: `asked`, else what its name tells. If it is
/// standard output, text goes elsewhere from here on. Throws error{invalid_argument} for a name that tells none,
/// error{unsupported} for a format that is not written, and what require_output() throws.
file_format begin_output(const std::string& name, std::optional<file_format> asked, output& out);

/// Writes a matrix there as options.format, shows the progress, and says what was written. Throws what the writer
/// throws.
void write_and_report(const std::string& name, const any_view& a, write_options options, output& out);

}  // namespace bcsc::cli
