#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

/// The commands as their parsers describe them: what help, completion and manual pages are made of.
namespace bcsc::cli {

/// What a value may be, as far as its description says.
enum class offered_values : std::uint8_t { none, words, files, folders };

/// An option, or an argument without a name.
struct described_option {
  std::vector<std::string> names;  ///< "--cols", "-n"; of an argument none
  std::string value;               ///< what it takes: "INT", or the argument's name; of a flag empty
  std::string text, group, preset;
  offered_values offers = offered_values::none;
  std::vector<std::string> words;
  bool takes_list = false;  ///< separated by commas
  bool is_repeatable = false;
  bool is_required = false;

  bool is_argument() const { return names.empty(); }
  bool is_flag() const { return !is_argument() && value.empty(); }
};

/// The algorithms of all kernels, and on request the kernels' own names; ascending.
std::vector<std::string> kernel_words(bool with_kernels);
std::vector<described_option> described_options(const CLI::App& parser);
std::vector<const CLI::App*> commands_of(const CLI::App& app);
std::string joined(const std::vector<std::string>& words, const std::string& between);

}  // namespace bcsc::cli
