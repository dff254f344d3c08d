#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <vector>

#include "bcsc/version.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/description.hpp"

namespace bcsc::cli {
namespace {

struct man_options : output_options {
  const CLI::App* app = nullptr;
  std::string command;
};

/// Text of a line of roff: its special characters as those that a reader can copy.
std::string roff(std::string_view text) {
  std::string made;
  if (!text.empty() && (text.front() == '.' || text.front() == '\'')) made = "\\&";
  for (const char c : text) {
    switch (c) {
      case '\\':
        made += "\\(rs";
        break;
      case '-':
        made += "\\-";
        break;
      case '\'':
        made += "\\(aq";
        break;
      case '`':
        made += "\\(ga";
        break;
      case '^':
        made += "\\(ha";
        break;
      case '~':
        made += "\\(ti";
        break;
      case '"':
        made += "\\(dq";
        break;
      default:
        made += c;
    }
  }
  return made;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string page_name(const CLI::App& app, const CLI::App& parser) {
  return &app == &parser ? app.get_name() : app.get_name() + "-" + parser.get_name();
}

std::string page_head(const CLI::App& app, const CLI::App& parser) {
  const std::string name = page_name(app, parser);
  std::string capitals = name;
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  // No date: the same version makes the same page.
  return fmt::format(".TH {} 1 \"\" \"bcsc {}\" \"bcsc\"\n.SH NAME\n{} \\- {}\n", roff(capitals), version, roff(name),
                     roff(parser.get_description()));
}

std::string synopsis_of(const described_option& argument) {
  const std::string shown = italic(argument.value) + (argument.is_repeatable ? "..." : "");
  return argument.is_required ? " " + shown : " [" + shown + "]";
}

std::string item_of(const described_option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(bold(name));
  const std::string value = option.is_flag() ? "" : italic(option.value) + (option.is_repeatable ? " ..." : "");
  std::string text = ".TP\n" + joined(names, ", ") + (names.empty() || value.empty() ? "" : " ") + value + "\n";
  text += roff(option.text);
  // The kernels are many, and another command's to list.
  if (option.offers == offered_values::words && option.value == "TEXT") {
    text += "\n.br\nOne of " + roff(joined(option.words, ", ")) + ".";
  }
  if (!option.preset.empty()) text += "\n.br\nDefault: " + roff(option.preset) + ".";
  return text + "\n";
}

/// Every option under the heading of its group, in the order of the parser.
std::string options_section(const std::vector<described_option>& options) {
  std::vector<std::string> groups;
  for (const described_option& option : options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  std::string text = ".SH OPTIONS\n";
  for (const std::string& group : groups) {
    if (group != "Options") text += ".SS " + roff(group) + "\n";
    for (const described_option& option : options) {
      if (option.group == group) text += item_of(option);
    }
  }
  return text;
}

/// The lines that are indented are to be typed, the others say something.
std::string examples_section(const std::string& footer) {
  std::istringstream lines(footer);
  std::string text = ".SH EXAMPLES\n";
  bool typed = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Examples:") continue;
    const bool is_typed = line.starts_with("  ");
    if (is_typed != typed) text += is_typed ? ".nf\n" : ".fi\n.PP\n";
    typed = is_typed;
    text += roff(is_typed ? line.substr(2) : line) + "\n";
  }
  return text + (typed ? ".fi\n" : "");
}

std::string last_sections(const CLI::App& app, const CLI::App& parser) {
  std::string text = ".SH EXIT STATUS\n" + roff(exit_codes) + ".\n.SH SEE ALSO\n";
  if (&app == &parser) {
    for (const CLI::App* one : commands_of(app)) text += fmt::format(".BR {} (1)\n", roff(page_name(app, *one)));
    return text;
  }
  return text + fmt::format(".BR {} (1)\n", roff(app.get_name()));
}

std::string program_page(const CLI::App& app) {
  std::string text = page_head(app, app);
  text += fmt::format(".SH SYNOPSIS\n{0} {1} [{2} ...]\n.br\n{0} {3} | {4}\n", bold(app.get_name()), italic("COMMAND"),
                      italic("OPTION"), bold("--help"), bold("--version"));
  text += ".SH COMMANDS\n";
  for (const CLI::App* one : commands_of(app)) {
    text += ".TP\n" + bold(one->get_name()) + "\n" + roff(one->get_description()) + "\n";
  }
  return text + options_section(described_options(app)) + last_sections(app, app);
}

std::string command_page(const CLI::App& app, const CLI::App& parser) {
  const std::vector<described_option> options = described_options(parser);
  std::string text = page_head(app, parser);
  text += fmt::format(".SH SYNOPSIS\n{} {} [{} ...]", bold(app.get_name()), bold(parser.get_name()), italic("OPTION"));
  for (const described_option& option : options) {
    if (option.is_argument()) text += synopsis_of(option);
  }
  return text + "\n" + options_section(options) + examples_section(parser.get_footer()) + last_sections(app, parser);
}

int run_man(const man_options& options, output& out) {
  const CLI::App& app = *options.app;
  const std::string page =
      options.command.empty() ? program_page(app) : command_page(app, *app.get_subcommand(options.command));
  out.text(page);
  out.json() = {{"command", "man"}, {"page", page}};
  return exit_ok;
}

}  // namespace

command add_man(CLI::App& app) {
  auto [cmd, options] = make_command<man_options>(app, "man", "Write the manual page of bcsc or of one of its commands",
                                                  "  bcsc man | man -l -\n"
                                                  "  bcsc man spmm >bcsc-spmm.1",
                                                  run_man);
  options->app = &app;
  std::vector<std::string> names;
  for (const CLI::App* one : commands_of(app)) names.push_back(one->get_name());
  // The words stand in the validator's description, where completion looks for them.
  cmd.parser->add_option("COMMAND", options->command, "The command; else the program")
      ->check(known("command", [names] { return names; }).description("{" + joined(names, ",") + "}"));
  return cmd;
}

}  // namespace bcsc::cli
