#include "bcsc/generate.hpp"

#include <string>

#include "tools/bcsc/command.hpp"
#include "tools/bcsc/write.hpp"

namespace bcsc::cli {
namespace {

struct generate_options : output_options {
  std::string specification;
  std::string out;
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
  return exit_ok;
}

int run_generate(const generate_options& options, output& out) {
  out.json()["command"] = "generate";
  if (options.list) return list_catalogue(out);
  const csr_matrix<double> a = generate::from_specification<double>(options.specification);
  out.json()["specification"] = options.specification;
  write_and_report(options.out, a,
                   {.symmetry = options.symmetric ? file_symmetry::symmetric : file_symmetry::general,
                    .comment = "bcsc generate " + options.specification},
                   out);
  return exit_ok;
}

}  // namespace

command add_generate(CLI::App& app) {
  auto [cmd, options] = make_command<generate_options>(app, "generate", "Make a matrix and write it as a file",
                                                       "  bcsc generate --list\n"
                                                       "  bcsc generate elasticity:20,20,20 beam.mtx.gz --symmetric\n"
                                                       "  bcsc generate uniform:2048,2048,0.9,seed=3 layer.mtx",
                                                       run_generate);
  CLI::Option* specification = cmd.parser->add_option("SPEC", options->specification,
                                                      "Generator or catalogue name, such as banded:1000,8,seed=1");
  CLI::Option* out =
      cmd.parser->add_option("OUT", options->out, "File to write: .mtx, .bcsc ... (`bcsc formats`), .gz behind it");
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
