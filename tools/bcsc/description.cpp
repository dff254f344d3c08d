#include "tools/bcsc/description.hpp"

#include <algorithm>
#include <set>

#include "bcsc/generate.hpp"
#include "bcsc/registry.hpp"

namespace bcsc::cli {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// CLI11 keeps the words of IsMember in the name of the type alone: "TEXT:{row,col}".
std::vector<std::string> members_in(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return split(type.substr(open + 1, close - open - 1), ',');
}

void offer(described_option& option, const std::string& type) {
  const auto is = [&](std::string_view name) { return option.value == name; };
  option.words = members_in(type);
  if (is("KERNEL") || is("ALGORITHM")) option.words = kernel_words(is("KERNEL"));
  if (is("SPEC")) {
    for (const auto& entry : generate::catalogue()) option.words.push_back(entry.name);
  }
  if (!option.words.empty()) option.offers = offered_values::words;
  if (is("FILE") || is("OUT") || is("MATRIX")) option.offers = offered_values::files;
  if (is("FOLDER")) option.offers = offered_values::folders;
}

described_option described(const CLI::Option& option) {
  described_option made;
  for (const std::string& name : option.get_lnames()) made.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) made.names.push_back("-" + name);
  const std::string type = option.get_type_size() == 0 ? "" : option.get_type_name();
  made.value = option.get_positional() ? option.get_name(true) : type.substr(0, type.find(':'));
  made.text = option.get_description();
  made.group = option.get_group();
  made.preset = option.get_default_str();
  made.takes_list = option.get_delimiter() != '\0';
  made.is_repeatable = option.get_items_expected_max() > 1;
  made.is_required = option.get_required();
  offer(made, type);
  return made;
}

}  // namespace

std::vector<std::string> kernel_words(bool with_kernels) {
  std::set<std::string> words;
  for (const kernel_info& kernel : kernel_table()) {
    words.insert(kernel.algorithm);
    if (with_kernels) words.insert(kernel.name);
  }
  return {words.begin(), words.end()};
}

std::vector<described_option> described_options(const CLI::App& parser) {
  std::vector<described_option> options;
  for (const CLI::Option* option : parser.get_options()) options.push_back(described(*option));
  return options;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

}  // namespace bcsc::cli
