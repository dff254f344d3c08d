#include <string>

#include "bcsc/any_matrix.hpp"
#include "bcsc/files.hpp"
#include "tools/bcsc/command.hpp"

namespace bcsc::cli {
namespace {

const char* yes_or_no(bool is_so) { return is_so ? "yes" : "no"; }

void list_files(output& out) {
  auto& listed = out.json()["files"] = nlohmann::ordered_json::array();
  table shown({"files", "read", "written", "told by", "extensions"});
  for (const file_format_info& format : file_formats()) {
    std::string extensions;
    for (const std::string_view extension : format.extensions) {
      extensions += fmt::format("{}.{}", extensions.empty() ? "" : " ", extension);
    }
    shown.add({std::string(format.name), yes_or_no(format.can_read), yes_or_no(format.can_write),
               format.has_mark ? "content" : "name", extensions});
    listed.push_back({{"name", format.name},
                      {"read", format.can_read},
                      {"written", format.can_write},
                      {"has_mark", format.has_mark},
                      {"extensions", format.extensions}});
  }
  shown.print(out);
  out.line("any of them gzipped; the first extension tells what to write");
}

void list_matrices(output& out) {
  auto& listed = out.json()["matrices"] = nlohmann::ordered_json::array();
  table shown({"matrices in .bcsc files", "elements"});
  for (const matrix_format format : all_matrix_formats) {
    auto elements = nlohmann::ordered_json::array();
    std::string text;
    for (const value_type element :
         {value_type::fp32, value_type::fp64, value_type::fp16, value_type::bf16, value_type::pattern}) {
      if (!can_hold(format, element)) continue;
      elements.push_back(to_string(element));
      text += fmt::format("{}{}", text.empty() ? "" : " ", to_string(element));
    }
    shown.add({std::string(to_string(format)), text});
    listed.push_back({{"name", to_string(format)}, {"elements", elements}});
  }
  out.line();
  shown.print(out);
}

int run_formats(const output_options&, output& out) {
  out.json() = {{"command", "formats"}};
  list_files(out);
  list_matrices(out);
  return exit_ok;
}

}  // namespace

command add_formats(CLI::App& app) {
  return make_command<output_options>(app, "formats", "Formats of files and of matrices: what is read, what is written",
                                      "  bcsc formats\n"
                                      "  bcsc formats --json",
                                      run_formats)
      .first;
}

}  // namespace bcsc::cli
