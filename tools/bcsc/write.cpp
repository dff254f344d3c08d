#include "tools/bcsc/write.hpp"

#include <filesystem>

#include "lib/core/fail.hpp"
#include "tools/bcsc/input.hpp"

namespace bcsc::cli {

void write_and_report(const std::string& path, const csr_matrix<double>& a, const write_options& options, output& out) {
  if (!path.ends_with(".mtx") && !path.ends_with(".mtx.gz")) {
    core::fail(errc::invalid_argument, "OUT = \"{}\": must end in .mtx or .mtx.gz", path);
  }
  write_matrix_market(path, a, options);
  const file_info written = read_file_info(path);
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  out.line("wrote {}: {} x {}, {} {}, {} entries, {}", path, grouped(written.rows), grouped(written.cols),
           to_string(written.symmetry), to_string(written.field), grouped(written.stored_entries), as_bytes(bytes));
  out.json()["written"] = {{"path", path},
                           {"rows", written.rows},
                           {"cols", written.cols},
                           {"symmetry", to_string(written.symmetry)},
                           {"field", to_string(written.field)},
                           {"stored_entries", written.stored_entries},
                           {"bytes", bytes}};
}

}  // namespace bcsc::cli
