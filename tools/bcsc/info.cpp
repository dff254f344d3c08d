#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/any_matrix.hpp"
#include "bcsc/container.hpp"
#include "bcsc/values.hpp"
#include "core/memory.hpp"
#include "tools/bcsc/advice.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/dense_operand.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/picture.hpp"
#include "tools/bcsc/spool.hpp"

namespace bcsc::cli {
namespace {

constexpr std::array<std::int64_t, 8> shown_m_blocks{1, 4, 8, 16, 32, 64, 128, 256};
constexpr std::size_t label_width = 9;  ///< of "symmetry "

struct info_options : output_options {
  matrix_source source;
  device_options where;
  std::int64_t cols = 32;
  value_type type = value_type::fp32;
  std::string png;
  bool picture = true;
};

void report_pattern(const pattern_statistics& s, output& out) {
  out.prose(label_width, "rows     {} to {} entries, mean {:.2f}, standard deviation {:.2f}", s.row_min, s.row_max,
            s.row_mean, s.row_sd);
  out.prose(label_width, "empty    {} rows, {} columns", core::count_text(s.empty_rows),
            core::count_text(s.empty_cols));
  out.prose(label_width, "band     |i - j| <= {}", core::count_text(s.bandwidth));
  if (s.sectors_per_entry[0] > 0) {
    out.prose(label_width, "near     {:.2f} sectors of 8 columns an entry (side by side 0.125, scattered 1)",
              s.sectors_per_entry[0]);
  }
  out.prose(label_width, "symmetry pattern {}, values {}, diagonal {}", s.pattern_symmetric ? "yes" : "no",
            s.value_symmetric ? "yes" : "no", s.positive_diagonal ? "positive" : "not positive");
  out.json()["pattern"] = {{"row_min", s.row_min},
                           {"row_max", s.row_max},
                           {"row_mean", s.row_mean},
                           {"row_sd", s.row_sd},
                           {"empty_rows", s.empty_rows},
                           {"empty_cols", s.empty_cols},
                           {"bandwidth", s.bandwidth},
                           {"sectors_per_entry", s.sectors_per_entry},
                           {"pattern_symmetric", s.pattern_symmetric},
                           {"value_symmetric", s.value_symmetric},
                           {"positive_diagonal", s.positive_diagonal}};
}

/// What a container says of itself, besides its matrix.
void report_container(const std::string& path, output& out) {
  const container_info info = read_container_info(path);
  const std::string indices = info.index_bytes > 0 ? fmt::format(", {}-bit indices", 8 * info.index_bytes) : "";
  out.prose(2, "container version {}, {} of {}{}, {}", info.version, to_string(info.format), to_string(info.element),
            indices, core::bytes_text(info.file_bytes));
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

/// The values as they are stored, and what `type`, which products are made in, makes of them.
void report_values(const any_view& a, value_type type, output& out) {
  const value_statistics s = analyse_values(a);
  const narrowing_statistics lost = analyse_narrowing(a, type);
  out.prose(label_width, "values   {:g} to {:g}, magnitudes from {:g}, {}; {} zero, {} denormal", s.least, s.greatest,
            s.min_magnitude, to_string(a.element()), core::count_text(s.zero), core::count_text(s.denormal));
  if (!s.finite()) {
    out.prose(label_width, "         not finite: {} NaN, {} +Inf, {} -Inf", core::count_text(s.nan),
              core::count_text(s.plus_infinity), core::count_text(s.minus_infinity));
  }
  if (lost.overflowed + lost.underflowed > 0) {
    out.prose(label_width, "         in {}: {} beyond its range, {} become 0", to_string(type),
              core::count_text(lost.overflowed), core::count_text(lost.underflowed));
  }
  out.json()["values"] = {{"type", to_string(a.element())},
                          {"least", s.least},
                          {"greatest", s.greatest},
                          {"min_magnitude", s.min_magnitude},
                          {"nan", s.nan},
                          {"plus_infinity", s.plus_infinity},
                          {"minus_infinity", s.minus_infinity},
                          {"zero", s.zero},
                          {"denormal", s.denormal},
                          {"narrowed_to", to_string(type)},
                          {"overflowed", lost.overflowed},
                          {"underflowed", lost.underflowed}};
}

void report_values(const loaded_matrix<double>& loaded, const info_options& options, output& out) {
  if (loaded.file && loaded.file->field == file_field::pattern) return;
  if (loaded.file && loaded.file->format == file_format::container) {
    // The structure has been checked, and the file need not be as fp64 here.
    const container_read_options again{.check = trust::trusted, .map = options.source.reading.map_containers};
    const mapped_matrix mapped(loaded.path, again);
    report_values(mapped.view(), options.type, out);
  } else {
    report_values(loaded.a.view(), options.type, out);
  }
}

/// What the formats take, BCSC at each block height beside CSR; plans on a GPU keep few columns in two bytes each.
template <number T>
void report_blocks(const context& ctx, const csr_matrix<T>& a, output& out) {
  constexpr value_type type = value_type_of<T>;
  const int column_bytes = ctx.kind() == backend::cuda && a.cols() <= 65536 ? 2 : 0;
  const std::int64_t csr_bytes = footprint::csr(a.rows(), a.nnz(), type);
  out.json()["csr_bytes"] = csr_bytes;
  auto& blocks = out.json()["blocks"] = nlohmann::ordered_json::array();
  table shown({"m_block", "row blocks", "nnzc", "nnz/nnzc", "skew", "bytes", "of CSR's"});
  for (const block_statistics& s : analyse_blocks(a.view(), shown_m_blocks)) {
    const std::int64_t bytes = footprint::compact_bcsc(a.rows(), s.m_block, s.nnzc, a.nnz(), type, 4, column_bytes);
    const double over_csr = static_cast<double>(bytes) / static_cast<double>(csr_bytes);
    shown.add({std::to_string(s.m_block), core::count_text(s.num_row_blocks), core::count_text(s.nnzc),
               fmt::format("{:.2f}", s.reuse), fmt::format("{:.2f}", s.skew), core::bytes_text(bytes),
               fmt::format("{:.2f}x", over_csr)});
    blocks.push_back({{"m_block", s.m_block},
                      {"num_row_blocks", s.num_row_blocks},
                      {"nnzc", s.nnzc},
                      {"reuse", s.reuse},
                      {"max_block_nnz", s.max_block_nnz},
                      {"skew", s.skew},
                      {"max_block_nnzc", s.max_block_nnzc},
                      {"bytes", bytes},
                      {"bytes_over_csr", over_csr}});
  }
  out.line();
  out.prose(2, "BCSC in {} by the height of its row blocks; CSR takes {}", to_string(type),
            core::bytes_text(csr_bytes));
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
    write_pattern_png(writable_path(options.png), a.view());
    out.line("picture written to {}", options.png);
    out.json()["png"] = options.png;
  }
}

/// The matrix in the type of the products; what does not fit has been told of.
template <number T>
csr_matrix<T> in_type(const csr_matrix<double>& a) {
  any_matrix made =
      convert(any_view(a.view()), matrix_format::csr,
              {.element = value_type_of<T>, .overflow = overflow_policy::infinity, .indices = index_type::int32});
  return std::move(*made.get_if<csr_matrix<T>>());
}

/// That the host has room for what is counted of each row and column, however few entries there are.
void require_room(std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t bytes_of_row = 12, bytes_of_col = 8;
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(core::saturating_product(rows, bytes_of_row), core::saturating_product(cols, bytes_of_col),
                             &bytes)) {
    bytes = std::numeric_limits<std::int64_t>::max();
  }
  require_host_memory(
      fmt::format("what is counted of {} rows and {} columns", core::count_text(rows), core::count_text(cols)), bytes);
}

template <number T>
int show_info(const info_options& options, output& out) {
  const context ctx = make_context(options.where);
  if (!options.png.empty()) begin_file("--png", options.png, out);
  const loaded_matrix<double> loaded = load<double>(options.source, out, require_room);
  out.prose(2, "{}", describe_line(options.source, loaded));
  out.json() = {{"command", "info"}, {"matrix", describe(options.source, loaded)}};
  if (loaded.file && loaded.file->format == file_format::container) report_container(loaded.path, out);
  report_values(loaded, options, out);
  report_pattern(analyse_pattern(loaded.a.view()), out);
  {
    const csr_matrix<T> multiplied = in_type<T>(loaded.a);
    report_blocks(ctx, multiplied, out);
    report_advice(ctx, multiplied, options.cols, out);
  }
  report_picture(loaded.a, options, out);
  return exit_ok;
}

int run_info(const info_options& options, output& out) {
  return with_number_type(options.type, [&](auto t) { return show_info<decltype(t)>(options, out); });
}

}  // namespace

command add_info(CLI::App& app) {
  auto [cmd, options] = make_command<info_options>(
      app, "info", "Size, symmetry, pattern, bytes at each block height, and what a plan would choose",
      "  bcsc info matrix.mtx.gz\n"
      "  bcsc info matrix.mtx --cols 128 --type fp16\n"
      "  bcsc info elasticity:10,10,10 --png pattern.png\n"
      "  bcsc info matrix.mtx --json --no-picture\n"
      "  bcsc info archive.tar.gz --member archive/archive_b.mtx",
      run_info);
  add_source(*cmd.parser, options->source);
  cmd.parser->add_option("-n,--cols", options->cols, "Columns of B and C to advise for")
      ->check(at_least(1))
      ->capture_default_str();
  add_number_type(*cmd.parser, options->type);
  add_device(*cmd.parser, options->where);
  cmd.parser->add_option("--png", options->png, "Write a picture of the pattern to this file, - for standard output")
      ->type_name("FILE");
  cmd.parser->add_flag("!--no-picture", options->picture, "No picture in the terminal");
  return cmd;
}

}  // namespace bcsc::cli
