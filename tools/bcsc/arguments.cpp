#include "tools/bcsc/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "tools/bcsc/description.hpp"

namespace bcsc::cli {
namespace {

/// Why `given` is no decimal number that a Whole holds; empty if it is one. Written without leading zeros, so that
/// nobody takes it for octal.
template <class Whole>
std::string make_decimal(std::string& given) {
  Whole number{};
  const bool is_negative = given.starts_with('-');
  const std::string_view digits = std::string_view(given).substr(is_negative ? 1 : 0);
  if (digits.empty() || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
    return fmt::format("must be a whole number, not {}", given);
  }
  if (is_negative && !std::is_signed_v<Whole>) return fmt::format("must be at least 0, not {}", given);
  const auto status = std::from_chars(given.data(), given.data() + given.size(), number).ec;
  if (status != std::errc()) {
    return fmt::format("must fit {} bits, not {}", std::is_signed_v<Whole> ? 63 : 64, given);
  }
  given = std::to_string(number);
  return {};
}

/// First among the checks of an option, which then see what it has written.
void require_decimal_number(CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.starts_with("INT")) option.transform(CLI::Validator(make_decimal<std::int64_t>, ""));
  if (type.starts_with("UINT")) option.transform(CLI::Validator(make_decimal<std::uint64_t>, ""));
}

/// What an option is given, as far as it can be seen from its word.
struct option_word {
  std::string name;
  const CLI::Option* takes_value = nullptr;  ///< null: a flag, an argument, a number, or unknown
  bool has_equals = false, is_empty = false;
};
option_word read_word(const CLI::App& command, const std::string& word) {
  option_word read;
  if (word.size() < 2 || word.front() != '-') return read;
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
  read.name = word.substr(0, equals);
  read.has_equals = equals != std::string::npos;
  read.is_empty = read.has_equals && equals + 1 == word.size();
  const CLI::Option* const option = command.get_option_no_throw(read.name);
  if (option != nullptr && option->get_items_expected_max() > 0) read.takes_value = option;
  return read;
}

[[noreturn]] void refuse_empty(const std::string& name) { throw CLI::ValidationError(name, "needs a value"); }

}  // namespace

const CLI::App* command_named(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) return nullptr;
  for (const CLI::App* command : commands_of(app)) {
    if (command->get_name() == argv[1]) return command;
  }
  return nullptr;
}

void require_decimal_numbers(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) require_decimal_number(*option);
  }
}

void require_values(const CLI::App& app, int argc, char** argv) {
  const CLI::App* const command = command_named(app, argc, argv);
  if (command == nullptr) return;
  option_word last;  // takes the words that follow
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return;
    if (word.empty() && last.takes_value != nullptr) refuse_empty(last.name);
    option_word read = read_word(*command, word);
    if (read.takes_value != nullptr && read.is_empty) refuse_empty(read.name);
    const bool takes_another = last.takes_value != nullptr && last.takes_value->get_items_expected_max() > 1;
    if (read.name.empty() && takes_another) continue;
    last = read.has_equals ? option_word() : read;
  }
}

}  // namespace bcsc::cli
