#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

/// Streams among the files: what can be read only once, and what is written to standard output.
namespace bcsc::cli {

/// Whether `name`, as the user gives it, means standard output.
bool is_standard_output(const std::string& name);
/// The path of a file to be written: `name`, or standard output's for "-".
std::string writable_path(const std::string& name);

/// Whether `name`, as the user gives it, is something to be read: "-" for standard input, or a path that exists.
bool is_readable(const std::string& name);
/// A path under which the content may be opened as often as need be: `name` itself, or, of a pipe or the like, one of a
/// copy in memory, which stays as long as the process. Throws error{io_error | out_of_memory}.
std::string rereadable_path(const std::string& name);
/// That no two of them, each a parameter and its name, are the same open stream: it can be read only once. Throws
/// error{invalid_argument}.
void require_separate_streams(std::initializer_list<std::pair<std::string_view, std::string_view>> inputs);

}  // namespace bcsc::cli
