#include "bcsc/generate.hpp"

#include <optional>
#include <string>

#include "tools/bcsc/command.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/write.hpp"

namespace bcsc::cli {
namespace {

struct generate_options : output_options {
  std::string specification;
  std::string out;
  std::optional<file_format> to;
  bool symmetric = false;
  bool list = false;
};

int list_catalogue(output& out) {
  out.json()["catalogue"] = nlohmann::ordered_json::array();
  table shown({"name", "kind", "specification"});
  for (const auto& entry : generate::catalogue()) {
    shown.add({entry.name, entry.kind, entry.specification});
    out.json()["catalogue"].push_back(
        {{"name", entry.name}, {"kind", entry.kind}, {"specification", entry.specification}});
  }
  shown.print(out);
  out.line();
  out.line("families; what stands in [] may be left out:");
  out.json()["families"] = nlohmann::ordered_json::array();
  for (const std::string& form : generate::forms()) {
    out.line("  {}", form);
    out.json()["families"].push_back(form);
  }
  return exit_ok;
}

int run_generate(const generate_options& options, output& out) {
  out.json()["command"] = "generate";
  if (options.list) return list_catalogue(out);
  out.json()["specification"] = options.specification;
  require_generator("SPEC", options.specification);
  const file_format to = begin_output(options.out, options.to, out);
  const csr_matrix<double> a = [&] {
    const busy_note note = out.busy("generating " + options.specification);
    return generate::from_specification<double>(options.specification);
  }();
  write_and_report(options.out, a,
                   {.symmetry = options.symmetric ? file_symmetry::symmetric : file_symmetry::general,
                    .comment = "bcsc generate " + options.specification,
                    .format = to},
                   out);
  return exit_ok;
}

}  // namespace

command add_generate(CLI::App& app) {
  auto [cmd, options] = make_command<generate_options>(app, "generate", "Make a matrix and write it as a file",
                                                       "  bcsc generate --list\n"
                                                       "  bcsc generate elasticity:20,20,20 beam.mtx.gz --symmetric\n"
                                                       "  bcsc generate uniform:2048,2048,0.9,seed=3 layer.mtx\n"
                                                       "  bcsc generate nm:4096,4096,2,4 pruned.mtx.gz\n"
                                                       "  bcsc generate spd:10000,1e6 conditioned.mtx --symmetric\n"
                                                       "The families and their parameters: bcsc generate --list",
                                                       run_generate);
  CLI::Option* specification = cmd.parser->add_option("SPEC", options->specification,
                                                      "Generator or catalogue name, such as banded:1000,8,seed=1");
  CLI::Option* out = cmd.parser->add_option(
      "OUT", options->out, "File to write: .mtx, .bcsc ... (`bcsc formats`), .gz may follow; - for standard output");
  add_file_format(*cmd.parser, "--to", options->to, "Its format, if its name does not tell",
                  [](const file_format_info& format) { return format.can_write; });
  cmd.parser->add_flag("--symmetric", options->symmetric,
                       "Write the lower triangle only; an error if A is not symmetric");
  cmd.parser->add_flag("--list", options->list, "Show the catalogue")->excludes(specification)->excludes(out);
  cmd.parser->callback([given = options] {
    if (given->list) return;
    if (given->specification.empty()) throw CLI::RequiredError("SPEC");
    if (given->out.empty()) throw CLI::RequiredError("OUT");
  });
  return cmd;
}

}  // namespace bcsc::cli
