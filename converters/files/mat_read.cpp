#include "converters/files/mat_read.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converters/files/coo_assembly.hpp"
#include "converters/files/location.hpp"
#include "converters/files/mat_elements.hpp"

/// Reading MATLAB's level 5: first which variable is meant, by the heads of all of them, then that one.
namespace bcsc::files {
namespace mat {
namespace {

// --- The file's header ----------------------------------------------------------------------------------------------

constexpr std::size_t header_bytes = 128;

[[noreturn]] void fail_hdf5(const source& in) {
  fail_at({.path = in.path()}, errc::unsupported,
          "a MATLAB 7.3 file (HDF5) is not read: save it again in MATLAB with save(..., '-v7')");
}

/// Byte order, and that it is a file of level 5 at all.
file_facts read_header(const source& in, std::string_view content) {
  const file_location where{.path = in.path()};
  constexpr std::string_view hdf5_mark = "\x89HDF\r\n\x1a\n", level_7_3 = "MATLAB 7.3";
  if (content.starts_with(hdf5_mark) || content.starts_with(level_7_3)) fail_hdf5(in);
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
  if (version == 0x0200) fail_hdf5(in);
  if (version != 0x0100)
    fail_at(where, errc::unsupported, "a MATLAB file of version 0x{:04x}: 0x0100 is read", version);
  return facts;
}

// --- Arrays ---------------------------------------------------------------------------------------------------------

enum class array_class : std::uint8_t { cell = 1, structure = 2, sparse = 5, real64 = 6, last_number = 15 };
constexpr std::array<std::string_view, 18> class_names{"unknown", "cell",   "struct", "object", "char",     "sparse",
                                                       "double",  "single", "int8",   "uint8",  "int16",    "uint16",
                                                       "int32",   "uint32", "int64",  "uint64", "function", "opaque"};
static_assert(class_names[static_cast<std::size_t>(array_class::last_number)] == "uint64");

/// Longer names are refused; MATLAB's own limit is 63.
constexpr std::size_t longest_name = 256;
/// Enough of an array for its head: flags, sizes of at most 64 dimensions, name.
constexpr std::size_t head_bytes = 4096;
constexpr std::size_t most_dims = 64;
/// Structs in cells in structs ...: what is deeper is refused.
constexpr int deepest = 32;
constexpr std::size_t longest_path = 1024;
/// Variables that a message names.
constexpr std::size_t most_named = 12;

/// What stands before the data of every array.
struct array_head {
  std::uint8_t kind = 0;  ///< array_class; any number in a file
  bool complex = false, logical = false;
  std::vector<std::int64_t> sizes;
  std::string name;

  bool is(array_class c) const { return kind == static_cast<std::uint8_t>(c); }
  bool is_number() const {
    return kind >= static_cast<std::uint8_t>(array_class::real64) &&
           kind <= static_cast<std::uint8_t>(array_class::last_number);
  }
  bool holds_arrays() const { return is(array_class::cell) || is(array_class::structure); }
  std::string_view kind_name() const { return class_names[kind < class_names.size() ? kind : 0]; }
  std::string describe() const {
    std::string text;
    for (const std::int64_t size : sizes) text.append(text.empty() ? "" : "x").append(std::to_string(size));
    return text.append(text.empty() ? "" : " ").append(kind_name());
  }
};

array_head read_head(element_reader& in) {
  const number_list flags = in.numbers("array flags");
  if (flags.type.bytes != sizeof(std::uint32_t) || flags.size != 2) {
    flags.from.fail(errc::parse_error, "the array flags are {} numbers of {} bytes, must be 2 of 4", flags.size,
                    flags.type.bytes);
  }
  const auto word = load<std::uint32_t>(flags.from.data.bytes.data(), flags.type.order);
  array_head head;
  head.kind = static_cast<std::uint8_t>(word & 0xff);
  head.logical = (word & 0x0200) != 0;
  head.complex = (word & 0x0800) != 0;
  constexpr std::uint8_t opaque = 17;
  if (head.kind == opaque) return head;  // what follows its flags is nobody's business

  const number_list sizes = in.numbers("array sizes");
  if (sizes.size < 2 || sizes.size > static_cast<std::int64_t>(most_dims)) {
    sizes.from.fail(errc::parse_error, "an array of {} dimensions: 2 to {} are read", sizes.size, most_dims);
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

/// One array of the file: its head, and what it is a part of if it is compressed and not expanded yet.
struct array {
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
  /// `member` empty: every sparse matrix is a candidate; else the array of that path alone.
  search(expansion_meter& meter, std::string_view member) : meter_(meter), member_(member) {}

  void look_through(const stretch& file);

  std::size_t num_found() const { return num_found_; }
  std::optional<array>& first() { return first_; }
  /// The matrix of a file of the SuiteSparse collection, which may hold further ones: its struct's field A.
  std::optional<array>& problem_a() { return problem_a_; }
  bool all_in_problem() const { return all_in_problem_; }
  /// "A (3x3 sparse), B (...)", of what was found or, with others(), passed over.
  const std::string& found() const { return found_.text; }
  const std::string& others() const { return others_.text; }

 private:
  struct name_list {
    std::string text;
    std::size_t count = 0;
    void add(const std::string& path, const array_head& head) {
      if (++count > most_named + 1) return;
      if (count > 1) text += ", ";
      if (count > most_named) {
        text += "...";
      } else {
        text.append(path).append(" (").append(head.describe()).append(")");
      }
    }
  };

  void offer(array found);
  void look_into(const stretch& content, const std::string& path, const array_head& head, element_reader& in,
                 int depth);
  /// Whether an array of this path, or something in it, may be wanted.
  bool may_hold_wanted(const std::string& path) const {
    return member_.empty() || (member_.starts_with(path) &&
                               (member_.size() == path.size() ||
                                std::string_view(".({").find(member_[path.size()]) != std::string_view::npos));
  }

  expansion_meter& meter_;
  std::string_view member_;
  std::size_t num_found_ = 0;
  std::optional<array> first_, problem_a_;
  bool all_in_problem_ = true;
  name_list found_, others_;
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
      if (!may_hold_wanted(head.name)) continue;
      if (head.holds_arrays()) {
        look_into(variable.data, head.name, head, in, 0);
      } else {
        std::string path = head.name;
        offer({std::move(path), std::move(head), variable.data, {}});
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
    if (!may_hold_wanted(head.name)) continue;
    if (head.holds_arrays()) {
      element_reader whole(expand(variable, meter_));
      const element matrix = whole.next("variable");
      element_reader inside(matrix.data);
      head = read_head(inside);
      look_into(matrix.data, head.name, head, inside, 0);
    } else {
      std::string path = head.name;
      offer({std::move(path), std::move(head), std::move(begin), std::move(variable)});
    }
  }
}

void search::offer(array found) {
  const bool wanted = member_.empty() ? found.head.is(array_class::sparse) : found.path == member_;
  if (!wanted) {
    others_.add(found.path, found.head);
    return;
  }
  ++num_found_;
  found_.add(found.path, found.head);
  if (!found.path.starts_with("Problem.")) all_in_problem_ = false;
  if (found.path == "Problem.A") problem_a_ = found;
  if (!first_) first_ = std::move(found);
}

/// The elements of a cell array, or the fields of the elements of a struct array. `in` stands behind the head.
void search::look_into(const stretch& content, const std::string& path, const array_head& head, element_reader& in,
                       int depth) {
  if (depth == deepest || path.size() > longest_path) {
    content.fail(0, errc::unsupported, "{}: nested deeper than {} structs and cells, or {} characters",
                 files::quoted(path), deepest, longest_path);
  }
  const bool is_struct = head.is(array_class::structure);
  const field_names fields = is_struct ? read_field_names(in) : field_names{};
  const std::int64_t per_element = is_struct ? fields.count() : 1;
  // However many arrays the sizes announce, each takes bytes: next() ends what they exaggerate.
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
      inner_path += fmt::format("{{{}}}", k + 1);
    } else {
      if (count > per_element) inner_path += fmt::format("({})", k / per_element + 1);
      inner_path.append(".").append(fields.name(k % per_element));
    }
    if (!may_hold_wanted(inner_path)) continue;
    element_reader inside(inner.data);
    array_head inner_head = read_head(inside);
    if (inner_head.holds_arrays()) {
      look_into(inner.data, inner_path, inner_head, inside, depth + 1);
    } else {
      offer({std::move(inner_path), std::move(inner_head), inner.data, {}});
    }
  }
}

// --- The matrix -----------------------------------------------------------------------------------------------------

/// The file, and the array that is meant: read from its head, and checked against it.
class mat_file {
 public:
  explicit mat_file(source& in)
      : in_(in), content_(in.content()), meter_(in, content_.size()), facts_(read_header(in, content_)) {
    choose();
    read_arrays();
  }

  file_info info() const;
  template <value T, index I>
  coo_matrix<T, I> matrix() const;

 private:
  stretch variables() const {
    return {&facts_, content_.substr(header_bytes), static_cast<std::int64_t>(header_bytes)};
  }
  void choose();
  void read_arrays();
  void read_sparse(element_reader& in);
  number_list read_sparse_values(element_reader& in) const;
  void read_dense(element_reader& in);
  template <value T, index I>
  std::vector<entry<T, I>> sparse_entries() const;
  template <value T, index I>
  std::vector<entry<T, I>> dense_entries() const;
  template <value T>
  void decode_values(std::size_t first, std::size_t count, T* to) const;
  std::int64_t rows() const { return chosen_.head.sizes[0]; }
  std::int64_t cols() const { return chosen_.head.sizes[1]; }

  source& in_;
  std::string_view content_;
  expansion_meter meter_;
  file_facts facts_;
  array chosen_;
  number_list row_ind_, values_;
  std::vector<std::int64_t> col_ptr_;
};

void mat_file::choose() {
  const std::string& member = in_.options().member;
  search candidates(meter_, member);
  candidates.look_through(variables());
  if (candidates.num_found() == 1) {
    chosen_ = std::move(*candidates.first());
    return;
  }
  const file_location where{.path = in_.path()};
  if (!member.empty()) {
    if (candidates.num_found() > 1) {
      fail_at(where, errc::invalid_argument, "member {}: {} variables have this name", files::quoted(member),
              candidates.num_found());
    }
    search all(meter_, {});
    all.look_through(variables());
    fail_at(where, errc::invalid_argument, "member {}: there is no such variable; sparse are: {}; others: {}",
            files::quoted(member), all.found().empty() ? "none" : all.found(),
            all.others().empty() ? "none" : all.others());
  }
  if (candidates.num_found() == 0) {
    fail_at(where, errc::unsupported, "holds no sparse matrix; it holds: {}",
            candidates.others().empty() ? "nothing" : candidates.others());
  }
  if (candidates.problem_a() && candidates.all_in_problem()) {
    chosen_ = std::move(*candidates.problem_a());
    return;
  }
  fail_at(where, errc::invalid_argument, "holds {} sparse matrices, of which `member` must name one: {}",
          candidates.num_found(), candidates.found());
}

void mat_file::read_arrays() {
  if (chosen_.compressed) {
    element_reader whole(expand(*chosen_.compressed, meter_));
    chosen_.content = whole.next("variable").data;
  }
  element_reader in(chosen_.content);
  chosen_.head = read_head(in);
  const array_head& head = chosen_.head;
  if (!head.is(array_class::sparse) && !head.is_number()) {
    chosen_.content.fail(0, errc::unsupported, "{} is no matrix of numbers, but {}", files::quoted(chosen_.path),
                         head.describe());
  }
  if (head.sizes.size() != 2) {
    chosen_.content.fail(0, errc::unsupported, "{} is no matrix of two dimensions, but {}", files::quoted(chosen_.path),
                         head.describe());
  }
  if (head.is(array_class::sparse)) {
    read_sparse(in);
  } else {
    read_dense(in);
  }
}

/// Row indices, column pointers, values; imaginary parts, if any, are left where they are.
void mat_file::read_sparse(element_reader& in) {
  row_ind_ = in.numbers("row indices (ir)");
  const number_list pointers = in.numbers("column pointers (jc)");
  const stretch& at = pointers.from.data;
  if (pointers.size - 1 != cols()) {
    at.fail(0, errc::invalid_format, "jc holds {} pointers, {} columns need one more than there are columns",
            pointers.size, cols());
  }
  col_ptr_ = pointers.integers("column pointers (jc)");
  values_ = read_sparse_values(in);
  if (col_ptr_[0] != 0) at.fail(0, errc::invalid_format, "jc[0] = {}: must be 0", col_ptr_[0]);
  for (std::size_t col = 1; col < col_ptr_.size(); ++col) {
    if (col_ptr_[col] < col_ptr_[col - 1]) {
      at.fail(col * pointers.type.bytes, errc::invalid_format, "jc[{}] = {}: must not fall below jc[{}] = {}", col,
              col_ptr_[col], col - 1, col_ptr_[col - 1]);
    }
  }
  // Both may be longer: MATLAB keeps room for entries to come.
  for (const auto& [list, name] : {std::pair{&row_ind_, "ir"}, std::pair{&values_, "pr"}}) {
    if (col_ptr_.back() > list->size) {
      list->from.fail(errc::invalid_format, "{} holds {} numbers, jc leads to {}", name, list->size, col_ptr_.back());
    }
  }
}

number_list mat_file::read_sparse_values(element_reader& in) const {
  // MATLAB calls the values of a logical matrix doubles, and stores a byte each.
  const element values = element_reader(in).next("values (pr)");
  const std::size_t bytes = values.data.bytes.size();
  const auto nnz = static_cast<std::size_t>(std::max<std::int64_t>(col_ptr_.back(), 0));
  if (chosen_.head.logical && values.type == element_type::real64 && bytes >= nnz && bytes / sizeof(double) < nnz) {
    return {values, {number_kind::unsigned_integer, 1, facts_.order}, static_cast<std::int64_t>(bytes)};
  }
  return in.numbers("values (pr)", true);
}

void mat_file::read_dense(element_reader& in) {
  values_ = in.numbers("values (pr)", true);
  std::int64_t count = 0;
  if (__builtin_mul_overflow(rows(), cols(), &count) || values_.size != count) {
    values_.from.fail(errc::invalid_format, "pr holds {} numbers, the array is {}", values_.size,
                      chosen_.head.describe());
  }
}

file_info mat_file::info() const {
  const array_head& head = chosen_.head;
  file_info info;
  info.format = file_format::mat;
  info.rows = rows();
  info.cols = cols();
  info.array = !head.is(array_class::sparse);
  info.stored_entries = info.array ? values_.size : col_ptr_.back();
  const bool is_real = info.array ? head.kind <= static_cast<std::uint8_t>(array_class::real64) + 1 : true;
  info.field = head.complex   ? file_field::complex
               : head.logical ? file_field::pattern
               : is_real      ? file_field::real
                              : file_field::integer;
  info.member = chosen_.path;
  return info;
}

/// The values first .. first + count - 1, widened from whatever they are stored in; logical ones are 0 or 1.
template <value T>
void mat_file::decode_values(std::size_t first, std::size_t count, T* to) const {
  const std::size_t decoded = values_.decode(first, count, to);
  if (decoded < count) {
    double value = 0;
    values_.decode(first + decoded, 1, &value);
    values_.from.data.fail((first + decoded) * values_.type.bytes, errc::value_out_of_range,
                           "pr[{}] = {}: does not fit {}", first + decoded, value, to_string(value_type_of<T>));
  }
  if (chosen_.head.logical) {
    for (std::size_t k = 0; k < count; ++k) to[k] = to[k] != T{0} ? T{1} : T{0};
  }
}

constexpr std::size_t piece_size = 4096;

template <value T, index I>
std::vector<entry<T, I>> mat_file::sparse_entries() const {
  std::vector<entry<T, I>> entries;
  const auto nnz = static_cast<std::size_t>(col_ptr_.back());
  entries.reserve(nnz);
  std::array<std::int64_t, piece_size> row;
  std::array<T, piece_size> values;
  std::size_t col = 0;
  for (std::size_t first = 0; first < nnz; first += piece_size) {
    const std::size_t count = std::min(piece_size, nnz - first);
    std::size_t in_range = row_ind_.decode(first, count, row.data());
    decode_values(first, count, values.data());
    for (std::size_t k = 0; k < count; ++k) {
      if (k >= in_range || row[k] < 0 || row[k] >= rows()) {
        row_ind_.from.data.fail((first + k) * row_ind_.type.bytes, errc::index_out_of_range,
                                "ir[{}] = {}: must lie in 0 .. {}", first + k,
                                k < in_range ? std::to_string(row[k]) : "beyond 63 bits", rows() - 1);
      }
      while (static_cast<std::size_t>(col_ptr_[col + 1]) <= first + k) ++col;
      entries.push_back({static_cast<I>(row[k]), static_cast<I>(col), values[k]});
    }
  }
  return entries;
}

/// Column by column; zeros are dropped.
template <value T, index I>
std::vector<entry<T, I>> mat_file::dense_entries() const {
  std::vector<entry<T, I>> entries;
  std::array<T, piece_size> values;
  const auto size = static_cast<std::size_t>(values_.size), num_rows = static_cast<std::size_t>(rows());
  for (std::size_t first = 0; first < size; first += piece_size) {
    const std::size_t count = std::min(piece_size, size - first);
    decode_values(first, count, values.data());
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t at = first + k;
      if (values[k] != T{0})
        entries.push_back({static_cast<I>(at % num_rows), static_cast<I>(at / num_rows), values[k]});
    }
  }
  return entries;
}

template <value T, index I>
coo_matrix<T, I> mat_file::matrix() const {
  const array_head& head = chosen_.head;
  if (head.complex && !in_.options().real_part) {
    chosen_.content.fail(0, errc::unsupported, "{} is complex: only real values are held (real_part drops the rest)",
                         files::quoted(chosen_.path));
  }
  if (std::max(rows(), cols()) > std::numeric_limits<I>::max()) {
    chosen_.content.fail(0, errc::size_overflow, "{} x {}: does not fit {}-bit indices", rows(), cols(), sizeof(I) * 8);
  }
  auto entries = head.is(array_class::sparse) ? sparse_entries<T, I>() : dense_entries<T, I>();
  return assemble(rows(), cols(), std::move(entries), file_symmetry::general, in_.path());
}

}  // namespace

file_info read_info(source& in) { return mat_file(in).info(); }

template <value T, index I>
coo_matrix<T, I> read_matrix(source& in) {
  return mat_file(in).matrix<T, I>();
}

template coo_matrix<float, std::int32_t> read_matrix(source&);
template coo_matrix<float, std::int64_t> read_matrix(source&);
template coo_matrix<double, std::int32_t> read_matrix(source&);
template coo_matrix<double, std::int64_t> read_matrix(source&);

}  // namespace mat
}  // namespace bcsc::files
