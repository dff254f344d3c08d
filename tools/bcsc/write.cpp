#include "tools/bcsc/write.hpp"

#include <algorithm>
#include <filesystem>

#include "bcsc/container.hpp"
#include "lib/core/fail.hpp"
#include "tools/bcsc/input.hpp"

namespace bcsc::cli {
namespace {

std::string usual_extensions() {
  std::string list;
  for (const file_format_info& format : file_formats()) {
    if (format.can_write) list += fmt::format("{}.{}", list.empty() ? "" : ", ", format.extensions.front());
  }
  return list;
}

/// What the file holds, by its own header where that is soon read, else by what was written.
file_info written_info(const std::string& path, const any_view& a, const write_options& options, file_format format) {
  if (options.symmetry != file_symmetry::general || format == file_format::container) {
    return read_file_info(path, {.format = format});
  }
  const bool is_pattern = a.element() == value_type::pattern || format == file_format::smtx;
  return {.format = format,
          .rows = a.rows(),
          .cols = a.cols(),
          .stored_entries = a.num_values(),
          .field = is_pattern ? file_field::pattern : options.field};
}

}  // namespace

file_format format_of_output(const std::string& path, std::optional<file_format> asked) {
  const std::optional<file_format> told = asked ? asked : format_of_name(path);
  if (!told) {
    core::fail(errc::invalid_argument, "OUT = \"{}\": its name tells no format: must end in {} (.gz behind), or --to",
               path, usual_extensions());
  }
  const auto formats = file_formats();
  const auto found = std::ranges::find(formats, *told, &file_format_info::format);
  if (found == formats.end() || !found->can_write) {
    core::fail(errc::unsupported, "OUT = \"{}\": {} files are not written; those that end in {} are", path,
               to_string(*told), usual_extensions());
  }
  return *told;
}

void write_and_report(const std::string& path, const any_view& a, write_options options, output& out) {
  options.format = format_of_output(path, options.format);
  {
    progress_bar bar = out.progress("writing");
    options.progress = bar.callback();
    write_matrix(path, a, options);
  }
  const file_info written = written_info(path, a, options, *options.format);
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  nlohmann::ordered_json& json = out.json()["written"] = {{"path", path},
                                                          {"format", to_string(written.format)},
                                                          {"rows", written.rows},
                                                          {"cols", written.cols},
                                                          {"symmetry", to_string(written.symmetry)},
                                                          {"field", to_string(written.field)},
                                                          {"stored_entries", written.stored_entries},
                                                          {"bytes", bytes}};
  std::string what = fmt::format("{} {}", to_string(written.symmetry), to_string(written.field));
  if (written.format == file_format::container) {
    const container_info info = read_container_info(path);
    what = fmt::format("{} of {}", to_string(info.format), to_string(info.element));
    if (info.index_bytes > 0) what += fmt::format(", {}-bit indices", 8 * info.index_bytes);
    json["matrix"] = {
        {"format", to_string(info.format)}, {"type", to_string(info.element)}, {"index_bytes", info.index_bytes}};
  }
  out.line("wrote {}: {}, {} x {}, {}, {} entries, {}", path, to_string(written.format), grouped(written.rows),
           grouped(written.cols), what, grouped(written.stored_entries), as_bytes(bytes));
}

}  // namespace bcsc::cli
