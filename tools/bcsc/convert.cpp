#include <string>

#include "tools/bcsc/command.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/write.hpp"

namespace bcsc::cli {
namespace {

/// The field of the file written: one of Matrix Market's, or whatever the input has.
enum class field_choice : std::uint8_t { same, real, integer, pattern };

struct convert_options : output_options {
  matrix_source source;
  std::string out;
  bool symmetric = false;
  field_choice field = field_choice::same;
};

file_field chosen_field(field_choice choice, const loaded_matrix<double>& loaded) {
  switch (choice) {
    case field_choice::same:
      return loaded.file ? loaded.file->field : file_field::real;
    case field_choice::real:
      return file_field::real;
    case field_choice::integer:
      return file_field::integer;
    case field_choice::pattern:
      return file_field::pattern;
  }
  return file_field::real;
}

int run_convert(const convert_options& options, output& out) {
  const loaded_matrix<double> loaded = load<double>(options.source, out);
  out.line("{}", describe_line(options.source, loaded));
  out.json() = {{"command", "convert"}, {"matrix", describe(options.source, loaded)}};
  write_and_report(options.out, loaded.a,
                   {.symmetry = options.symmetric ? file_symmetry::symmetric : file_symmetry::general,
                    .field = chosen_field(options.field, loaded)},
                   out);
  return exit_ok;
}

}  // namespace

command add_convert(CLI::App& app) {
  auto [cmd, options] = make_command<convert_options>(app, "convert", "Matrix Market in, Matrix Market out",
                                                      "  bcsc convert matrix.mtx.gz matrix.mtx\n"
                                                      "  bcsc convert full.mtx half.mtx.gz --symmetric\n"
                                                      "  bcsc convert graph.mtx weighted.mtx --field real --seed 7",
                                                      run_convert);
  add_source(*cmd.parser, options->source);
  cmd.parser->add_option("OUT", options->out, "File to write; .mtx or .mtx.gz")->required();
  cmd.parser->add_flag("--symmetric", options->symmetric,
                       "Write the lower triangle only; an error if A is not symmetric");
  add_choice<field_choice>(*cmd.parser, "--field", options->field,
                           {{"same", field_choice::same},
                            {"real", field_choice::real},
                            {"integer", field_choice::integer},
                            {"pattern", field_choice::pattern}},
                           "Values written; a pattern file that becomes real gets random ones (--seed)");
  return cmd;
}

}  // namespace bcsc::cli
