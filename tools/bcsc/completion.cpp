#include <string>
#include <utility>
#include <vector>

#include "tools/bcsc/command.hpp"
#include "tools/bcsc/description.hpp"

namespace bcsc::cli {
namespace {

enum class shell : std::uint8_t { bash, zsh, fish };

struct completion_options : output_options {
  const CLI::App* app = nullptr;
  shell for_shell = shell::bash;
};

void replace_each(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

/// Text that is to stand between single quotes.
std::string quoted(std::string text) {
  replace_each(text, "'", "'\\''");
  return "'" + text + "'";
}

std::vector<std::string> names_in(const std::vector<described_option>& options) {
  std::vector<std::string> names;
  for (const described_option& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// --- bash -----------------------------------------------------------------------------------------------------------

constexpr const char* bash_begin = R"(# Completion of bcsc in bash, made by `bcsc completion bash`.
_bcsc() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= word
  local words= options= offer=none list= arguments= argument_words= IFS=$' \t\n'
  # Bash takes --type=fp32 apart.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word != -* ]]; then command=$word; break; fi
  done
)";

constexpr const char* bash_end = R"(  case "$command $prev" in
%VALUES%    *)
      if [[ $cur == -* ]]; then
        offer=words words=$options
      else
        offer=$arguments words=$argument_words
      fi ;;
  esac
  COMPREPLY=()
  # In a list it is the last word that is completed.
  [[ -n $list && $cur == *,* ]] && list=${cur%,*}, || list=
  case $offer in
    words) COMPREPLY=($(compgen -P "$list" -W "$words" -- "${cur##*,}")) ;;
    files) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); compopt -o filenames 2>/dev/null ;;
    folders) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); compopt -o filenames 2>/dev/null ;;
  esac
}
complete -F _bcsc bcsc
)";

std::string offer_name(offered_values offers) {
  switch (offers) {
    case offered_values::none:
      return "none";
    case offered_values::words:
      return "words";
    case offered_values::files:
      return "files";
    case offered_values::folders:
      return "folders";
  }
  return "none";
}

/// What completes a command's arguments: files, if one of them is a file, else words.
described_option argument_of(const std::vector<described_option>& options) {
  described_option offered;
  for (const described_option& option : options) {
    if (!option.is_argument() || offered.offers == offered_values::files) continue;
    offered.offers = option.offers;
    offered.words.insert(offered.words.end(), option.words.begin(), option.words.end());
  }
  return offered;
}

std::string bash_command(const std::string& name, const std::vector<described_option>& options) {
  const described_option argument = argument_of(options);
  return fmt::format("    {})\n      options={}\n      arguments={} argument_words={} ;;\n", quoted(name),
                     quoted(joined(names_in(options), " ")), offer_name(argument.offers),
                     quoted(joined(argument.words, " ")));
}

std::string bash_values(const std::string& command, const std::vector<described_option>& options) {
  std::string text;
  for (const described_option& option : options) {
    if (option.is_argument() || option.is_flag()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) patterns.push_back(quoted(command + " " + name));
    text += fmt::format("    {}) offer={} list={} words={} ;;\n", joined(patterns, "|"), offer_name(option.offers),
                        option.takes_list ? "yes" : "", quoted(joined(option.words, " ")));
  }
  return text;
}

std::string bash_completion(const CLI::App& app) {
  described_option command;
  command.value = "COMMAND";
  command.offers = offered_values::words;
  for (const CLI::App* one : commands_of(app)) command.words.push_back(one->get_name());
  std::vector<described_option> own = described_options(app);
  own.push_back(command);

  std::string commands = bash_command("", own), values;
  for (const CLI::App* one : commands_of(app)) {
    const std::vector<described_option> options = described_options(*one);
    commands += bash_command(one->get_name(), options);
    values += bash_values(one->get_name(), options);
  }
  std::string end = bash_end;
  replace_each(end, "%VALUES%", values);
  return fmt::format("{}  case $command in\n{}  esac\n{}", bash_begin, commands, end);
}

// --- zsh ------------------------------------------------------------------------------------------------------------

/// Within brackets or between colons of a specification of _arguments.
std::string zsh_text(std::string text) {
  for (const char* const special : {"\\", "[", "]", ":"}) replace_each(text, special, std::string("\\") + special);
  return text;
}

std::string zsh_action(const described_option& option) {
  const std::string words = joined(option.words, " ");
  switch (option.offers) {
    case offered_values::none:
      return " ";
    case offered_values::words:
      return option.takes_list ? fmt::format("_values -s , {} {}", option.value, words) : "(" + words + ")";
    case offered_values::files:
      return "_files";
    case offered_values::folders:
      return "_files -/";
  }
  return " ";
}

std::string zsh_options(const std::vector<described_option>& options) {
  std::string text;
  int place = 0;
  for (const described_option& option : options) {
    const std::string value = option.is_flag() ? "" : fmt::format(":{}:{}", zsh_text(option.value), zsh_action(option));
    if (option.is_argument()) {
      text += " \\\n        " + quoted((option.is_repeatable ? "*" : std::to_string(++place)) + value);
    }
    for (const std::string& name : option.names) {
      const bool is_long = name.starts_with("--");
      text += " \\\n        " + quoted(fmt::format("{}{}{}[{}]{}", option.is_repeatable ? "*" : "", name,
                                                   option.is_flag() ? ""
                                                   : is_long        ? "="
                                                                    : "+",
                                                   zsh_text(option.text), value));
    }
  }
  return text;
}

std::string zsh_completion(const CLI::App& app) {
  std::string text =
      "#compdef bcsc\n# Completion of bcsc in zsh, made by `bcsc completion zsh`.\n_bcsc() {\n"
      "  local curcontext=$curcontext state line\n  typeset -A opt_args\n  local -a commands=(\n";
  for (const CLI::App* one : commands_of(app)) {
    text += fmt::format("    {}\n", quoted(one->get_name() + ":" + zsh_text(one->get_description())));
  }
  text += fmt::format("  )\n  _arguments -C{} \\\n        '1:command:->command' '*::argument:->argument'\n",
                      zsh_options(described_options(app)));
  text += "  case $state in\n  command) _describe command commands ;;\n  argument)\n    case $words[1] in\n";
  for (const CLI::App* one : commands_of(app)) {
    text += fmt::format("    {})\n      _arguments{} ;;\n", one->get_name(), zsh_options(described_options(*one)));
  }
  // Autoloaded from $fpath this text is the function's body; sourced, it only defines the function.
  return text +
         "    esac ;;\n  esac\n}\nif [[ $funcstack[1] == _bcsc ]]; then _bcsc \"$@\"; else compdef _bcsc bcsc; fi\n";
}

// --- fish -----------------------------------------------------------------------------------------------------------

std::string fish_quoted(std::string text) {
  replace_each(text, "\\", "\\\\");
  replace_each(text, "'", "\\'");
  return "'" + text + "'";
}

std::string fish_value(const described_option& option) {
  switch (option.offers) {
    case offered_values::none:
      return option.is_flag() ? "" : " -x";
    case offered_values::words:
      return " -x -a " + fish_quoted(joined(option.words, " "));
    case offered_values::files:
      return option.is_argument() ? " -F" : " -r -F";
    case offered_values::folders:
      return " -x -a '(__fish_complete_directories)'";
  }
  return "";
}

std::string fish_options(const std::string& when, const std::vector<described_option>& options) {
  std::string text;
  for (const described_option& option : options) {
    if (option.is_argument() && option.offers == offered_values::none) continue;
    text += fmt::format("complete -c bcsc -n {}", fish_quoted(when));
    for (const std::string& name : option.names) {
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    text += fish_value(option);
    if (!option.is_argument()) text += " -d " + fish_quoted(option.text);
    text += '\n';
  }
  return text;
}

std::string fish_completion(const CLI::App& app) {
  std::string text = "# Completion of bcsc in fish, made by `bcsc completion fish`.\ncomplete -c bcsc -f\n";
  text += fish_options("__fish_use_subcommand", described_options(app));
  for (const CLI::App* one : commands_of(app)) {
    text += fmt::format("complete -c bcsc -n __fish_use_subcommand -a {} -d {}\n", one->get_name(),
                        fish_quoted(one->get_description()));
    text += fish_options("__fish_seen_subcommand_from " + one->get_name(), described_options(*one));
  }
  return text;
}

// --------------------------------------------------------------------------------------------------------------------

int run_completion(const completion_options& options, output& out) {
  const auto make = options.for_shell == shell::bash  ? bash_completion
                    : options.for_shell == shell::zsh ? zsh_completion
                                                      : fish_completion;
  const std::string script = make(*options.app);
  out.text(script);
  out.json() = {{"command", "completion"}, {"script", script}};
  return exit_ok;
}

}  // namespace

command add_completion(CLI::App& app) {
  auto [cmd, options] = make_command<completion_options>(app, "completion", "Write the completion script for a shell",
                                                         "  source <(bcsc completion bash)\n"
                                                         "  bcsc completion zsh >~/.zfunc/_bcsc\n"
                                                         "  bcsc completion fish >~/.config/fish/completions/bcsc.fish",
                                                         run_completion);
  options->app = &app;
  add_choice<shell>(*cmd.parser, "SHELL", options->for_shell,
                    {{"bash", shell::bash}, {"zsh", shell::zsh}, {"fish", shell::fish}}, "The shell")
      ->required();
  return cmd;
}

}  // namespace bcsc::cli
