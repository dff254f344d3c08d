#include "converters/files/mat_read.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converters/files/location.hpp"
#include "converters/files/mat73.hpp"
#include "converters/files/mat_candidates.hpp"
#include "converters/files/mat_elements.hpp"
#include "converters/files/mat_matrix.hpp"

/// Reading MATLAB's level 5: first which variable is meant, by the heads of all of them, then that one.
namespace bcsc::files {
namespace mat {
namespace {

// --- The file's header ----------------------------------------------------------------------------------------------

constexpr std::size_t header_bytes = 128;

bool is_level_7_3(std::string_view content) {
  constexpr std::string_view hdf5_mark = "\x89HDF\r\n\x1a\n", text = "MATLAB 7.3";
  const std::string_view version = content.size() < header_bytes ? "" : content.substr(124, 4);
  return content.starts_with(hdf5_mark) || content.starts_with(text) || version == std::string_view("\0\2IM", 4) ||
         version == std::string_view("\2\0MI", 4);
}

/// Byte order, and that it is a file of level 5 at all.
file_facts read_header(const source& in, std::string_view content) {
  const file_location where{.path = in.path()};
  if (content.size() < header_bytes && content.starts_with("MATLAB")) {
    fail_at(where, errc::truncated, "ends within its header");
  }
  const std::string_view order_mark = content.size() < header_bytes ? "" : content.substr(126, 2);
  if (order_mark != "IM" && order_mark != "MI") {
    // Level 4 has no such header: it begins with five numbers, the first of them small. Level 5 begins with text.
    constexpr std::size_t level_4_header = 20;
    if (content.size() >= level_4_header && content.substr(0, 4).find('\0') != std::string_view::npos) {
      fail_at(where, errc::unsupported, "a MATLAB 4 file is not read: save it again in MATLAB with save(..., '-v7')");
    }
    fail_at(where, errc::bad_banner, "is not a MATLAB file: byte order {} instead of 'IM' or 'MI'",
            files::quoted(order_mark));
  }
  file_facts facts{in.path(), order_mark == "IM" ? std::endian::little : std::endian::big, !in.compressed()};
  const auto version = load<std::uint16_t>(content.data() + 124, facts.order);
  if (version != 0x0100)
    fail_at(where, errc::unsupported, "a MATLAB file of version 0x{:04x}: 0x0100 is read", version);
  return facts;
}

// --- Arrays ---------------------------------------------------------------------------------------------------------

/// Longer names are refused; MATLAB's own limit is 63.
constexpr std::size_t longest_name = 256;
/// Enough of an array for its head: flags, sizes of at most 64 dimensions, name.
constexpr std::size_t head_bytes = 4096;
constexpr std::size_t max_dims = 64;
/// Structs in cells in structs ...: what is deeper is refused.
constexpr int deepest = 32;
constexpr std::size_t longest_path = 1024;

array_head read_head(element_reader& in) {
  const number_list flags = in.numbers("array flags");
  if (flags.type.bytes != sizeof(std::uint32_t) || flags.size != 2) {
    flags.from.fail(errc::parse_error, "the array flags are {} numbers of {} bytes, must be 2 of 4", flags.size,
                    flags.type.bytes);
  }
  const auto word = load<std::uint32_t>(flags.from.data.bytes.data(), flags.type.order);
  array_head head;
  head.kind = static_cast<array_class>(word & 0xff);
  head.logical = (word & 0x0200) != 0;
  head.complex = (word & 0x0800) != 0;
  if (head.kind == array_class::opaque) return head;  // what follows its flags is not read

  const number_list sizes = in.numbers("array sizes");
  if (sizes.size < 2 || sizes.size > static_cast<std::int64_t>(max_dims)) {
    sizes.from.fail(errc::parse_error, "an array of {} dimensions: 2 to {} are read", sizes.size, max_dims);
  }
  head.sizes = sizes.integers("array sizes");
  for (const std::int64_t size : head.sizes) {
    if (size < 0) sizes.from.fail(errc::value_out_of_range, "array size {}: is negative", size);
  }
  const std::string_view name = in.text("array name");
  if (name.size() > longest_name) {
    in.in().fail(0, errc::parse_error, "an array's name of {} bytes: at most {} are read", name.size(), longest_name);
  }
  head.name = name.substr(0, name.find('\0'));
  return head;
}

/// One array of the file.
struct found_array {
  std::string path;  ///< "A", "Problem.A", "C{2}", "S(3).A"
  array_head head;
  stretch content;                    ///< of the matrix element; its first head_bytes if `compressed`
  std::optional<element> compressed;  ///< the element to expand
};

/// The names of a struct's fields, each padded with zeros to one length.
struct field_names {
  std::string_view text;
  std::size_t length = 1;

  std::int64_t count() const { return static_cast<std::int64_t>(text.size() / length); }
  std::string_view name(std::int64_t k) const {
    const std::string_view padded = text.substr(static_cast<std::size_t>(k) * length, length);
    return padded.substr(0, padded.find('\0'));
  }
};

field_names read_field_names(element_reader& in) {
  const number_list list = in.numbers("length of field names");
  const std::vector<std::int64_t> length = list.integers("length of field names");
  if (length.size() != 1 || length[0] < 1 || length[0] > static_cast<std::int64_t>(longest_name)) {
    list.from.fail(errc::parse_error, "field names of length {}: 1 to {} are read", length.empty() ? 0 : length[0],
                   longest_name);
  }
  const field_names names{in.text("field names"), static_cast<std::size_t>(length[0])};
  if (names.text.size() % names.length != 0) {
    list.from.fail(errc::parse_error, "{} bytes of field names cannot be cut into names of {}", names.text.size(),
                   names.length);
  }
  return names;
}

// --- Which array is meant -------------------------------------------------------------------------------------------

/// Looks at the heads of all arrays, also inside structs and cells.
class search {
 public:
  search(expansion_meter& meter, candidates<found_array>& wanted) : meter_(meter), wanted_(wanted) {}
  void look_through(const stretch& file);

 private:
  void look_into(const stretch& content, const std::string& path, const array_head& head, element_reader& in,
                 int depth);

  expansion_meter& meter_;
  candidates<found_array>& wanted_;
};

void search::look_through(const stretch& file) {
  element_reader variables(file);
  while (!variables.at_end()) {
    element variable = variables.next("variable");
    const bool compressed = variable.type == element_type::compressed;
    if (!compressed && variable.type != element_type::matrix) {
      variable.fail(errc::parse_error, "element type {} among the variables",
                    static_cast<std::uint32_t>(variable.type));
    }
    if (!compressed) {
      if (variable.data.bytes.empty()) continue;
      element_reader in(variable.data);
      array_head head = read_head(in);
      if (!wanted_.may_hold_wanted(head.name)) continue;
      if (head.holds_arrays()) {
        look_into(variable.data, head.name, head, in, 0);
      } else {
        std::string path = head.name;
        wanted_.offer({std::move(path), std::move(head), variable.data, {}});
      }
      continue;
    }
    // The head tells whether the whole is worth expanding.
    constexpr std::size_t tag_bytes = 8;
    stretch begin = expand(variable, meter_, tag_bytes + head_bytes);
    begin = begin.part(tag_bytes, begin.bytes.size() - tag_bytes);
    if (begin.bytes.empty()) continue;
    element_reader in(begin);
    array_head head = read_head(in);
    if (!wanted_.may_hold_wanted(head.name)) continue;
    if (head.holds_arrays()) {
      element_reader whole(expand(variable, meter_));
      const element matrix = whole.next("variable");
      element_reader inside(matrix.data);
      head = read_head(inside);
      look_into(matrix.data, head.name, head, inside, 0);
    } else {
      std::string path = head.name;
      wanted_.offer({std::move(path), std::move(head), std::move(begin), std::move(variable)});
    }
  }
}

/// The elements of a cell array, or the fields of the elements of a struct array. `in` is just past the head.
void search::look_into(const stretch& content, const std::string& path, const array_head& head, element_reader& in,
                       int depth) {
  if (depth == deepest || path.size() > longest_path) {
    content.fail(0, errc::unsupported, "{}: nested deeper than {} structs and cells, or {} characters",
                 files::quoted(path), deepest, longest_path);
  }
  const bool is_struct = head.kind == array_class::structure;
  const field_names fields = is_struct ? read_field_names(in) : field_names{};
  const std::int64_t per_element = is_struct ? fields.count() : 1;
  // However many arrays the sizes announce, each takes bytes: next() fails where they run out.
  std::int64_t count = per_element;
  for (const std::int64_t size : head.sizes) {
    if (__builtin_mul_overflow(count, size, &count)) {
      content.fail(0, errc::size_overflow, "{}: {} has more elements than 63 bits count", files::quoted(path),
                   head.describe());
    }
  }
  for (std::int64_t k = 0; k < count; ++k) {
    const element inner = in.next("array in a struct or cell");
    if (inner.type != element_type::matrix) {
      inner.fail(errc::parse_error, "{}: element type {} where an array belongs", files::quoted(path),
                 static_cast<std::uint32_t>(inner.type));
    }
    if (inner.data.bytes.empty()) continue;  // MATLAB's way to write []
    std::string inner_path = path;
    if (!is_struct) {
      inner_path += core::format("{{{}}}", k + 1);
    } else {
      if (count > per_element) inner_path += core::format("({})", k / per_element + 1);
      inner_path.append(".").append(fields.name(k % per_element));
    }
    if (!wanted_.may_hold_wanted(inner_path)) continue;
    element_reader inside(inner.data);
    array_head inner_head = read_head(inside);
    if (inner_head.holds_arrays()) {
      look_into(inner.data, inner_path, inner_head, inside, depth + 1);
    } else {
      wanted_.offer({std::move(inner_path), std::move(inner_head), inner.data, {}});
    }
  }
}

// --- The matrix -----------------------------------------------------------------------------------------------------

/// A file of level 5, and the matrix in it that is meant, read as far as its checked lists.
class level_5_file {
 public:
  explicit level_5_file(source& in)
      : content_(in.content()), meter_(in, content_.size()), facts_(read_header(in, content_)) {
    const stretch variables{&facts_, content_.substr(header_bytes), static_cast<std::int64_t>(header_bytes)};
    read(choose_array<found_array>(
        in, [&](candidates<found_array>& wanted) { search(meter_, wanted).look_through(variables); }));
  }
  const mat_matrix& matrix() const { return matrix_; }

 private:
  void read(found_array found);
  number_list read_sparse_values(element_reader& in) const;

  std::string_view content_;
  expansion_meter meter_;
  file_facts facts_;
  mat_matrix matrix_;
};

/// Imaginary parts, if any, are left where they are.
void level_5_file::read(found_array found) {
  matrix_.path = std::move(found.path);
  matrix_.content = std::move(found.content);
  if (found.compressed) matrix_.content = element_reader(expand(*found.compressed, meter_)).next("variable").data;
  element_reader in(matrix_.content);
  matrix_.head = read_head(in);
  require_matrix(matrix_);
  if (matrix_.head.is_sparse()) {
    matrix_.row_ind = in.numbers("row indices (ir)");
    set_col_ptr(matrix_, in.numbers("column pointers (jc)"));
    matrix_.values = read_sparse_values(in);
  } else {
    matrix_.values = in.numbers("values (pr)", true);
  }
  require_lengths(matrix_);
}

number_list level_5_file::read_sparse_values(element_reader& in) const {
  // MATLAB calls the values of a logical matrix doubles, and stores a byte each.
  const element values = element_reader(in).next("values (pr)");
  const std::size_t bytes = values.data.bytes.size();
  const auto nnz = static_cast<std::size_t>(matrix_.col_ptr.back());
  if (matrix_.head.logical && values.type == element_type::real64 && bytes >= nnz && bytes / sizeof(double) < nnz) {
    return {values, {number_kind::unsigned_integer, 1, facts_.order}, static_cast<std::int64_t>(bytes)};
  }
  return in.numbers("values (pr)", true);
}

}  // namespace

file_info read_info(source& in) {
  if (is_level_7_3(in.head())) return mat73::read_info(in);
  return info_of(level_5_file(in).matrix());
}

template <value T, index I>
coo_matrix<T, I> read_matrix(source& in) {
  if (is_level_7_3(in.head())) return mat73::read_matrix<T, I>(in);
  return to_coo<T, I>(level_5_file(in).matrix(), in.options());
}

template coo_matrix<float, std::int32_t> read_matrix(source&);
template coo_matrix<float, std::int64_t> read_matrix(source&);
template coo_matrix<double, std::int32_t> read_matrix(source&);
template coo_matrix<double, std::int64_t> read_matrix(source&);

}  // namespace mat
}  // namespace bcsc::files
