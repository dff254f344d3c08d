#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/types.hpp"
#include "bcsc_config.h"
#include "tools/bcsc/output.hpp"
#include "tools/bcsc/usage.hpp"

namespace bcsc::cli {

/// The process's exit codes; part of the interface. 128 + signal if INT, TERM or HUP ended it.
enum exit_code : int {
  exit_ok = 0,
  exit_error = 1,    ///< something went wrong, said on stderr
  exit_usage = 2,    ///< the command line makes no sense
  exit_not_met = 3,  ///< it ran, but a check failed or a solver did not converge
};

inline constexpr const char* exit_codes =
    "0 all is well, 1 an error, 2 a usage error, 3 a check failed or a solver did not converge, "
    "128 "
    "+ signal if INT, TERM or HUP ended it";

/// A subcommand: its parser, and what it does once its options are read.
struct command {
  CLI::App* parser = nullptr;
  std::shared_ptr<output_options> shown;
  std::function<int(output&)> run;
};

/// A subcommand whose options are an Options, which derives from output_options; `run` gets them when they are read.
template <class Options>
std::pair<command, std::shared_ptr<Options>> make_command(CLI::App& app, const std::string& name,
                                                          const std::string& description, const std::string& examples,
                                                          int (*run)(const Options&, output&)) {
  auto options = std::make_shared<Options>();
  CLI::App* parser = app.add_subcommand(name, description);
  parser->footer("Examples:\n" + examples);
  parser->add_flag("--json", options->json, "One JSON object on stdout, and nothing else");
  parser->add_flag("--progress", options->progress, "Progress bars on stderr even if it is not a terminal");
  return {command{parser, options, [options, run](output& out) { return run(*options, out); }}, options};
}

/// An option that takes one of a few words; of two that mean the same, the first is the usual one.
template <class Value>
CLI::Option* add_choice(CLI::App& parser, const std::string& name, Value& target,
                        const std::vector<std::pair<std::string, Value>>& choices, const std::string& description) {
  std::vector<std::string> words;
  std::string chosen;
  for (const auto& [word, value] : choices) {
    words.push_back(word);
    if (value == target && chosen.empty()) chosen = word;
  }
  const auto assign = [&target, choices](const std::string& given) {
    for (const auto& [word, value] : choices) {
      if (word == given) target = value;
    }
  };
  return parser.add_option_function<std::string>(name, assign, description)
      ->check(CLI::IsMember(words))
      ->default_str(chosen);
}

inline CLI::Option* add_type(CLI::App& parser, value_type& target) {
  return add_choice<value_type>(parser, "--type", target, {{"fp32", value_type::fp32}, {"fp64", value_type::fp64}},
                                "Type of the values");
}

/// The same for the types of products.
inline CLI::Option* add_number_type(CLI::App& parser, value_type& target) {
  return add_choice<value_type>(
      parser, "--type", target,
      {{"fp32", value_type::fp32}, {"fp64", value_type::fp64}, {"fp16", value_type::fp16}, {"bf16", value_type::bf16}},
      "Type of the values; fp16 and bf16 are summed in fp32");
}

/// Calls `body` with a T{} of the type.
template <class Body>
auto with_number_type(value_type type, Body body) {
  if (type == value_type::fp16) return body(half{});
  if (type == value_type::bf16) return body(bfloat16{});
  return type == value_type::fp32 ? body(float{}) : body(double{});
}
template <class Body>
auto with_type(value_type type, Body body) {
  return type == value_type::fp32 ? body(float{}) : body(double{});
}

command add_info(CLI::App& app);
command add_convert(CLI::App& app);
command add_generate(CLI::App& app);
command add_fetch(CLI::App& app);
command add_formats(CLI::App& app);
command add_spmm(CLI::App& app);
command add_solve(CLI::App& app);
command add_eigs(CLI::App& app);
command add_tune(CLI::App& app);
command add_cache(CLI::App& app);
command add_calibrate(CLI::App& app);
command add_devices(CLI::App& app);
command add_kernels(CLI::App& app);
/// These two describe all the commands that `app` has by the time they run.
command add_completion(CLI::App& app);
command add_man(CLI::App& app);

}  // namespace bcsc::cli
