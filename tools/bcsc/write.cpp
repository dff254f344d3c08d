#include "tools/bcsc/write.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "bcsc/container.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "core/new_file.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/process.hpp"
#include "tools/bcsc/spool.hpp"

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

void write_showing_progress(const std::string& path, const any_view& a, write_options options, const output& out) {
  progress_bar bar = out.progress("writing");
  options.progress = bar.callback();
  std::optional<ends_by_itself> removes_what_is_half_written;
  if (!core::is_written_directly(path)) removes_what_is_half_written.emplace();
  write_matrix(path, a, options);
}

}  // namespace

file_format begin_output(const std::string& name, std::optional<file_format> asked, output& out) {
  const std::optional<file_format> told = asked ? asked : format_of_name(name);
  if (!told) {
    core::fail(errc::invalid_argument,
               "OUT = \"{}\": its name tells no format: must end in {} (.gz may follow), or --to FORMAT", name,
               usual_extensions());
  }
  const auto formats = file_formats();
  const auto found = std::ranges::find(formats, *told, &file_format_info::format);
  if (found == formats.end() || !found->can_write) {
    core::fail(errc::unsupported, "OUT = \"{}\": {} files are not written; those that end in {} are", name,
               to_string(*told), usual_extensions());
  }
  begin_file("OUT", name, out);
  return *told;
}

void write_and_report(const std::string& name, const any_view& a, write_options options, output& out) {
  const std::string path = writable_path(name);
  write_showing_progress(path, a, options, out);
  nlohmann::ordered_json& json = out.json()["written"] = {{"path", name}, {"format", to_string(*options.format)}};
  if (core::is_written_directly(path)) {  // and cannot be read back
    out.line("wrote {}: {}, {} x {}", name, to_string(*options.format), core::count_text(a.rows()),
             core::count_text(a.cols()));
    return;
  }
  const file_info written = written_info(path, a, options, *options.format);
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  json.update({{"rows", written.rows},
               {"cols", written.cols},
               {"symmetry", to_string(written.symmetry)},
               {"field", to_string(written.field)},
               {"stored_entries", written.stored_entries},
               {"bytes", bytes}});
  std::string what = fmt::format("{} {}", to_string(written.symmetry), to_string(written.field));
  if (written.format == file_format::container) {
    const container_info info = read_container_info(path);
    what = fmt::format("{} of {}", to_string(info.format), to_string(info.element));
    if (info.index_bytes > 0) what += fmt::format(", {}-bit indices", 8 * info.index_bytes);
    json["matrix"] = {
        {"format", to_string(info.format)}, {"type", to_string(info.element)}, {"index_bytes", info.index_bytes}};
  }
  out.line("wrote {}: {}, {} x {}, {}, {} entries, {}", name, to_string(written.format), core::count_text(written.rows),
           core::count_text(written.cols), what, core::count_text(written.stored_entries), core::bytes_text(bytes));
}

}  // namespace bcsc::cli
