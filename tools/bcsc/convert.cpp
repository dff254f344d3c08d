#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/any_matrix.hpp"
#include "bcsc/container.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
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
  std::optional<file_format> to;
  std::optional<matrix_format> format;
  std::optional<std::int64_t> m_block;
  std::optional<std::pair<std::int64_t, std::int64_t>> block;
  std::optional<layout> order;
  std::optional<value_type> type;
  std::optional<index_type> indices;
  overflow_policy overflow = overflow_policy::refuse;
  bool symmetric = false, general = false;
  field_choice field = field_choice::same;
  int out_index_base = 1;
  std::string comment;
  std::vector<std::string> words;  ///< KEY=VALUE

  bool reblocks() const { return m_block || block || order; }
};

// --- What is to be written ------------------------------------------------------------------------------------------

file_field chosen_field(const convert_options& options, const loaded_any& loaded) {
  const file_field held = loaded.file ? loaded.file->field : file_field::real;
  const bool is_pattern = options.type == value_type::pattern;
  switch (options.field) {
    case field_choice::real:
    case field_choice::integer:
      if (is_pattern) core::fail(errc::invalid_argument, "--type pattern: has no values for --field");
      return options.field == field_choice::real ? file_field::real : file_field::integer;
    case field_choice::pattern:
      if (options.type && !is_pattern) {
        core::fail(errc::invalid_argument, "--field pattern: has no values of --type {}", to_string(*options.type));
      }
      return file_field::pattern;
    case field_choice::same:
      break;
  }
  if (is_pattern) return file_field::pattern;
  const bool loses_it = held == file_field::complex || (held == file_field::pattern && options.type.has_value());
  return loses_it ? file_field::real : held;
}

value_type chosen_element(const convert_options& options, file_field field, value_type held) {
  if (field == file_field::pattern) return value_type::pattern;
  return options.type.value_or(held == value_type::pattern ? value_type::fp64 : held);
}

matrix_format chosen_format(const convert_options& options, file_format to, matrix_format held) {
  const bool may_be_dense = to == file_format::matrix_market;  // array form
  if (to == file_format::container) return options.format.value_or(held);
  if (!options.format) return held == matrix_format::dense && may_be_dense ? held : matrix_format::csr;
  if (*options.format == matrix_format::csr || (*options.format == matrix_format::dense && may_be_dense)) {
    return *options.format;
  }
  core::fail(errc::invalid_argument, "--format {}: a {} file cannot hold that; a .bcsc file can",
             to_string(*options.format), to_string(to));
}

/// How a matrix is blocked, so that its blocks are kept.
struct blocking {
  conversion_options options;
  std::vector<std::int64_t> boundaries;  ///< what options.blocks.boundaries shows
};

blocking blocking_of(const any_view& a) {
  blocking own;
  a.visit([&]<matrix_view View>(const View& view) {
    constexpr matrix_format format = format_of<View>;
    if constexpr (format == matrix_format::bsr) {
      own.options.row_block = view.row_block;
      own.options.col_block = view.col_block;
    } else if constexpr (format == matrix_format::ell) {
      own.options.ell_block = view.block;
    } else if constexpr (format == matrix_format::dense) {
      own.options.order = view.order;
    } else if constexpr (format == matrix_format::bcsc) {
      own.options.blocks.m_block = view.m_block;
    } else if constexpr (format == matrix_format::compact_bcsc) {
      own.options.blocks.m_block = view.m_block;
      own.options.blocks.narrow_columns = !view.col_ind16.empty();
      own.boundaries.assign(view.block_row.begin(), view.block_row.end());
    }
  });
  return own;
}

void apply_blocks(const convert_options& options, matrix_format format, blocking& chosen) {
  const auto refuse = [&](const char* option) {
    core::fail(errc::invalid_argument, "{}: --format {} has no such thing", option, to_string(format));
  };
  if (options.m_block) {
    if (format != matrix_format::bcsc && format != matrix_format::compact_bcsc) refuse("--m-block");
    chosen.options.blocks.m_block = *options.m_block;
    chosen.boundaries.clear();
  }
  if (options.block) {
    const auto [row_block, col_block] = *options.block;
    if (format != matrix_format::bsr && format != matrix_format::ell) refuse("--block");
    if (format == matrix_format::ell && row_block != col_block) {
      core::fail(errc::invalid_argument, "--block {}x{}: the blocks of ell are square", row_block, col_block);
    }
    chosen.options.row_block = row_block;
    chosen.options.col_block = col_block;
    chosen.options.ell_block = row_block;
  }
  if (options.order) {
    if (format != matrix_format::dense) refuse("--layout");
    chosen.options.order = *options.order;
  }
}

/// What is left of the symmetry that the file was read with, in a file of such a field: a hermitian matrix has lost its
/// imaginary parts, a pattern its signs.
file_symmetry chosen_symmetry(const convert_options& options, const loaded_any& loaded, file_field field) {
  if (options.symmetric) return file_symmetry::symmetric;
  const file_symmetry held = loaded.file && !options.general ? loaded.file->symmetry : file_symmetry::general;
  const bool keeps_signs = held == file_symmetry::skew_symmetric && field != file_field::pattern;
  return held == file_symmetry::general || keeps_signs ? held : file_symmetry::symmetric;
}

/// Converts, and says what the narrower type has made of the values. Throws error{value_out_of_range}, with what can be
/// done about it.
any_matrix narrowed(any_matrix a, const convert_options& options, matrix_format format,
                    const conversion_options& chosen, output& out) {
  const std::string_view type = to_string(*chosen.element);
  const narrowing_statistics lost = analyse_narrowing(a, *chosen.element);
  try {
    a = convert(std::move(a), format, chosen);
  } catch (const error& problem) {
    if (problem.code() != errc::value_out_of_range) throw;
    core::fail(problem.code(), "{} (values beyond it: {}; --overflow inf or clamp writes them)", problem.what(),
               core::count_text(lost.overflowed));
  }
  if (lost.overflowed > 0) {
    out.line("values beyond the range of {}: {}, now {}", type, core::count_text(lost.overflowed),
             options.overflow == overflow_policy::clamp ? "its greatest numbers" : "infinite");
  }
  if (lost.underflowed > 0) out.line("values too small for {}: {}, now 0", type, core::count_text(lost.underflowed));
  out.json()["narrowed"] = {{"overflowed", lost.overflowed}, {"underflowed", lost.underflowed}};
  return a;
}

any_matrix converted(any_matrix a, const convert_options& options, matrix_format format, value_type element,
                     output& out) {
  const bool same_indices = !options.indices || *options.indices == a.indices();
  const bool is_so = a.format() == format && a.element() == element && same_indices;
  blocking chosen = blocking_of(a);
  apply_blocks(options, format, chosen);
  if (is_so && !options.reblocks()) return a;
  chosen.options.element = element;
  chosen.options.indices = options.indices;
  chosen.options.overflow = options.overflow;
  chosen.options.blocks.boundaries = chosen.boundaries;
  return narrowed(std::move(a), options, format, chosen.options, out);
}

bool has_triangles(file_format format) {
  const auto formats = file_formats();
  return std::ranges::find(formats, format, &file_format_info::format)->has_triangles;
}

// --- What it is called ----------------------------------------------------------------------------------------------

bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

/// What a container says of its matrix: what the input said, and where it came from; the user has the last word.
container_metadata chosen_words(const convert_options& options, const loaded_any& loaded, file_field field,
                                file_symmetry symmetry) {
  container_metadata words;
  const std::filesystem::path in = options.source.name == "-" ? loaded.path : options.source.name;
  if (loaded.file && loaded.file->format == file_format::container) {
    words = read_container_info(loaded.path).metadata;
    if (words.contains("symmetry")) words["symmetry"] = to_string(symmetry);
  } else {
    std::filesystem::path name = in.filename();
    if (name.extension() == ".gz") name.replace_extension();
    words["name"] = loaded.file ? name.stem().string() : options.source.name;
    words["source"] = loaded.file ? in.filename().string() : "bcsc generate " + options.source.name;
    if (loaded.file) words["symmetry"] = to_string(symmetry);
    std::erase_if(words, [](const auto& word) { return !is_utf8(word.second); });  // file names need not be
  }
  words["field"] = to_string(field);
  if (!options.comment.empty()) words["comment"] = options.comment;
  for (const std::string& word : options.words) {
    const std::size_t sign = word.find('=');
    words[word.substr(0, sign)] = word.substr(sign + 1);
  }
  return words;
}

// --------------------------------------------------------------------------------------------------------------------

int run_convert(const convert_options& options, output& out) {
  const file_format to = begin_output(options.out, options.to, out);
  // Values that will not be written are read as fp32, which takes half of the memory; others as fp64, to be narrowed by
  // the policy for what is beyond a type's range.
  const bool has_values = options.type != value_type::pattern && options.field != field_choice::pattern;
  loaded_any loaded = load_any(options.source, out, has_values ? value_type::fp64 : value_type::fp32);
  const matrix_facts facts{loaded.a.rows(), loaded.a.cols(), loaded.a.view().num_values(), loaded.a.element()};
  out.line("{}", describe_line(options.source, facts, loaded.origin, loaded.file, loaded.seconds));
  out.json() = {{"command", "convert"},
                {"matrix", describe(options.source, facts, loaded.origin, loaded.file, loaded.seconds)}};

  const file_field field = chosen_field(options, loaded);
  const value_type element = chosen_element(options, field, loaded.a.element());
  const matrix_format format = chosen_format(options, to, loaded.a.format());
  const file_symmetry symmetry = chosen_symmetry(options, loaded, field);
  if (loaded.a.element() == value_type::pattern && element != value_type::pattern) {
    loaded.a = read_csr<double>(loaded.path, options.source.options());  // a container's: now with values
  }
  const container_metadata words =
      to == file_format::container ? chosen_words(options, loaded, field, symmetry) : container_metadata();
  const any_matrix a = converted(std::move(loaded.a), options, format, element, out);
  // A symmetry that is asked for is the writer's to refuse; one that was read is kept where the format can.
  const bool stores_it = options.symmetric || has_triangles(to);
  write_and_report(options.out, a,
                   {.symmetry = stores_it ? symmetry : file_symmetry::general,
                    .field = field,
                    .comment = options.comment,
                    .index_base = options.out_index_base,
                    .format = to,
                    .metadata = words,
                    .progress = {}},
                   out);
  return exit_ok;
}

/// "4x8", or "4" for a square.
std::optional<std::pair<std::int64_t, std::int64_t>> parse_block(const std::string& text) {
  const std::size_t cross = text.find('x');
  try {
    std::size_t row_end = 0, col_end = 0;
    const std::string row = text.substr(0, cross), col = cross == std::string::npos ? row : text.substr(cross + 1);
    const std::int64_t row_block = std::stoll(row, &row_end), col_block = std::stoll(col, &col_end);
    if (row_end == row.size() && col_end == col.size() && row_block >= 1 && col_block >= 1) {
      return std::pair(row_block, col_block);
    }
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

void add_output(CLI::App& parser, convert_options& options) {
  parser
      .add_option(
          "OUT", options.out,
          "File to write; its ending selects the format (`bcsc formats`), .gz may follow; - for standard output")
      ->required();
  add_file_format(parser, "--to", options.to, "Its format, if its name does not tell",
                  [](const file_format_info& format) { return format.can_write; });
  add_choice<field_choice>(parser, "--field", options.field,
                           {{"same", field_choice::same},
                            {"real", field_choice::real},
                            {"integer", field_choice::integer},
                            {"pattern", field_choice::pattern}},
                           "Values written; a pattern file that becomes real gets random ones (--seed)");
  add_choice<std::optional<value_type>>(parser, "--type", options.type,
                                        {{"fp32", value_type::fp32},
                                         {"fp64", value_type::fp64},
                                         {"fp16", value_type::fp16},
                                         {"bf16", value_type::bf16},
                                         {"pattern", value_type::pattern}},
                                        "Type of the values; else a container's own, or fp64");
  add_choice<overflow_policy>(
      parser, "--overflow", options.overflow,
      {{"refuse", overflow_policy::refuse}, {"inf", overflow_policy::infinity}, {"clamp", overflow_policy::clamp}},
      "What to do with values beyond the range of --type");
  CLI::Option* const symmetric = parser.add_flag(
      "--symmetric", options.symmetric, "Write the lower triangle only; an error if A is not symmetric (.mtx, .rb)");
  parser
      .add_flag("--general", options.general,
                "Write all entries of a symmetric file; else it stays symmetric where OUT can be (.mtx, .rb)")
      ->excludes(symmetric);
  parser.add_option("--comment", options.comment, "Comment to write, if the format has comments");
  parser.add_option("--out-index-base", options.out_index_base, "First index of an edge list or LIBSVM file written")
      ->check(CLI::IsMember({0, 1}))
      ->capture_default_str();
}

void add_container_output(CLI::App& parser, convert_options& options) {
  constexpr const char* group = "What a .bcsc OUT holds";
  add_choice<std::optional<matrix_format>>(parser, "--format", options.format,
                                           {{"coo", matrix_format::coo},
                                            {"csr", matrix_format::csr},
                                            {"csc", matrix_format::csc},
                                            {"bsr", matrix_format::bsr},
                                            {"ell", matrix_format::ell},
                                            {"dense", matrix_format::dense},
                                            {"bcsc", matrix_format::bcsc},
                                            {"compact", matrix_format::compact_bcsc}},
                                           "Format of the matrix; else a container's own, or csr (dense: .mtx too)")
      ->group(group);
  parser.add_option("--m-block", options.m_block, "Height of the row blocks of bcsc and compact (32)")
      ->check(at_least(1))
      ->group(group);
  parser
      .add_option_function<std::string>(
          "--block", [&options](const std::string& text) { options.block = parse_block(text); },
          "Blocks of bsr, such as 4x8; size of ell's; 4x4 and 16")
      ->check([](const std::string& text) {
        return parse_block(text) ? std::string() : "must be two sizes, such as 4x8, or one: " + text;
      })
      ->group(group);
  add_choice<std::optional<layout>>(parser, "--layout", options.order,
                                    {{"row", layout::row_major}, {"col", layout::col_major}}, "Layout of dense; row")
      ->group(group);
  add_choice<std::optional<index_type>>(parser, "--index", options.indices,
                                        {{"32", index_type::int32}, {"64", index_type::int64}},
                                        "Width of the indices; default: 32 if that is enough")
      ->group(group);
  parser.add_option("--meta", options.words, "KEY=VALUE, kept with the matrix; may be repeated")
      ->check([](const std::string& word) {
        return word.find('=') == std::string::npos || word.front() == '=' ? "must be KEY=VALUE: " + word
                                                                          : std::string();
      })
      ->allow_extra_args(false)
      ->group(group);
}

}  // namespace

command add_convert(CLI::App& app) {
  auto [cmd, options] =
      make_command<convert_options>(app, "convert", "Convert a matrix file from any format to any other",
                                    "  bcsc convert matrix.mtx.gz matrix.mtx\n"
                                    "  bcsc convert full.mtx half.mtx.gz --symmetric\n"
                                    "  zcat matrix.rb.gz | bcsc convert - - --to mtx | head\n"
                                    "  bcsc convert graph.mtx weighted.mtx --field real --seed 7\n"
                                    "  bcsc convert matrix.mtx matrix.bcsc --type fp32\n"
                                    "  bcsc convert matrix.bcsc blocks.bcsc --format bsr --block 4x8\n"
                                    "  bcsc convert soc.txt soc.bcsc --from edge-list --type pattern",
                                    run_convert);
  add_source(*cmd.parser, options->source);
  add_output(*cmd.parser, *options);
  add_container_output(*cmd.parser, *options);
  return cmd;
}

}  // namespace bcsc::cli
