#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/container.hpp"
#include "tools/bcsc/advice.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/picture.hpp"

namespace bcsc::cli {
namespace {

constexpr std::array<std::int64_t, 8> shown_m_blocks{1, 4, 8, 16, 32, 64, 128, 256};

struct info_options : output_options {
  matrix_source source;
  value_type type = value_type::fp32;
  std::string png;
  bool picture = true;
};

void report_pattern(const pattern_statistics& s, output& out) {
  out.line("rows     {} to {} entries, mean {:.2f}, standard deviation {:.2f}", s.row_min, s.row_max, s.row_mean,
           s.row_sd);
  out.line("empty    {} rows, {} columns", grouped(s.empty_rows), grouped(s.empty_cols));
  out.line("band     |i - j| <= {}", grouped(s.bandwidth));
  out.line("symmetry pattern {}, values {}, diagonal {}", s.pattern_symmetric ? "yes" : "no",
           s.value_symmetric ? "yes" : "no", s.positive_diagonal ? "positive" : "not positive");
  out.json()["pattern"] = {{"row_min", s.row_min},
                           {"row_max", s.row_max},
                           {"row_mean", s.row_mean},
                           {"row_sd", s.row_sd},
                           {"empty_rows", s.empty_rows},
                           {"empty_cols", s.empty_cols},
                           {"bandwidth", s.bandwidth},
                           {"pattern_symmetric", s.pattern_symmetric},
                           {"value_symmetric", s.value_symmetric},
                           {"positive_diagonal", s.positive_diagonal}};
}

/// What a container says of itself, beside its matrix.
void report_container(const std::string& path, output& out) {
  const container_info info = read_container_info(path);
  const std::string indices = info.index_bytes > 0 ? fmt::format(", {}-bit indices", 8 * info.index_bytes) : "";
  out.line("container version {}, {} of {}{}, {}", info.version, to_string(info.format), to_string(info.element),
           indices, as_bytes(info.file_bytes));
  for (const auto& [key, value] : info.metadata) out.line("  {} = {}", key, value);
  auto sections = nlohmann::ordered_json::array();
  for (const container_section& section : info.sections) {
    sections.push_back({{"name", section.name},
                        {"type", section.type},
                        {"count", section.count},
                        {"offset", section.offset},
                        {"bytes", section.bytes}});
  }
  out.json()["container"] = {{"version", info.version},
                             {"format", to_string(info.format)},
                             {"type", to_string(info.element)},
                             {"index_bytes", info.index_bytes},
                             {"bytes", info.file_bytes},
                             {"metadata", info.metadata},
                             {"sections", sections}};
}

/// What the formats weigh, BCSC at each block height beside CSR.
template <value T>
void report_blocks(const csr_matrix<T>& a, output& out) {
  constexpr value_type type = value_type_of<T>;
  const std::int64_t csr_bytes = footprint::csr(a.rows(), a.nnz(), type);
  out.json()["csr_bytes"] = csr_bytes;
  auto& blocks = out.json()["blocks"] = nlohmann::ordered_json::array();
  table shown({"m_block", "row blocks", "nnzc", "nnz/nnzc", "skew", "bytes", "of CSR's"});
  for (const block_statistics& s : analyse_blocks(a.view(), shown_m_blocks)) {
    const std::int64_t bytes =
        footprint::compact_bcsc(a.rows(), s.m_block, s.nnzc, a.nnz(), type, 4, a.cols() <= 65536 ? 2 : 0);
    const double over_csr = static_cast<double>(bytes) / static_cast<double>(csr_bytes);
    shown.add({std::to_string(s.m_block), grouped(s.num_row_blocks), grouped(s.nnzc), fmt::format("{:.2f}", s.reuse),
               fmt::format("{:.2f}", s.skew), as_bytes(bytes), fmt::format("{:.2f}x", over_csr)});
    blocks.push_back({{"m_block", s.m_block},
                      {"num_row_blocks", s.num_row_blocks},
                      {"nnzc", s.nnzc},
                      {"reuse", s.reuse},
                      {"max_block_nnz", s.max_block_nnz},
                      {"skew", s.skew},
                      {"bytes", bytes},
                      {"bytes_over_csr", over_csr}});
  }
  out.line();
  out.line("BCSC in {} by the height of its row blocks; CSR takes {}", to_string(type), as_bytes(csr_bytes));
  shown.print(out);
}

template <value T>
void report_picture(const csr_matrix<T>& a, const info_options& options, output& out) {
  if (options.picture) {
    const std::vector<std::string> lines = draw_pattern(a.view());
    out.line();
    for (const std::string& line : lines) out.line("{}", line);
    out.json()["picture"] = lines;
  }
  if (!options.png.empty()) {
    write_pattern_png(options.png, a.view());
    out.line("picture written to {}", options.png);
    out.json()["png"] = options.png;
  }
}

template <value T>
int show_info(const info_options& options, output& out) {
  const loaded_matrix<T> loaded = load<T>(options.source, out);
  out.line("{}", describe_line(options.source, loaded));
  out.json() = {{"command", "info"}, {"matrix", describe(options.source, loaded)}};
  if (loaded.file && loaded.file->format == file_format::container) report_container(options.source.name, out);
  report_pattern(analyse_pattern(loaded.a.view()), out);
  report_blocks(loaded.a, out);
  report_advice(loaded.a, 32, out);
  report_picture(loaded.a, options, out);
  return exit_ok;
}

int run_info(const info_options& options, output& out) {
  return with_type(options.type, [&](auto t) { return show_info<decltype(t)>(options, out); });
}

}  // namespace

command add_info(CLI::App& app) {
  auto [cmd, options] =
      make_command<info_options>(app, "info", "Size, symmetry, pattern, and what BCSC makes of it at each block height",
                                 "  bcsc info matrix.mtx.gz\n"
                                 "  bcsc info elasticity:10,10,10 --png pattern.png\n"
                                 "  bcsc info matrix.mtx --json --no-picture\n"
                                 "  bcsc info archive.tar.gz --member archive/archive_b.mtx",
                                 run_info);
  add_source(*cmd.parser, options->source);
  add_type(*cmd.parser, options->type);
  cmd.parser->add_option("--png", options->png, "Write a picture of the pattern there");
  cmd.parser->add_flag("!--no-picture", options->picture, "No picture in the terminal");
  return cmd;
}

}  // namespace bcsc::cli
