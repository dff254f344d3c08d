#include "converters/files/mat_matrix.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "converters/files/coo_assembly.hpp"

namespace bcsc::files::mat {
namespace {

constexpr std::array<std::string_view, 18> class_names{
    "unknown", "cell",  "struct", "object", "char",   "sparse", "double", "single",          "int8",
    "uint8",   "int16", "uint16", "int32",  "uint32", "int64",  "uint64", "function_handle", "opaque"};
static_assert(class_names[static_cast<std::size_t>(array_class::uint64)] == "uint64");

/// How many numbers are converted at a time.
constexpr std::size_t piece_size = 4096;

/// The values first .. first + count - 1, widened from whatever they are stored in; logical ones are 0 or 1.
template <value T>
void decode_values(const mat_matrix& a, std::size_t first, std::size_t count, T* to) {
  const number_list& values = a.values;
  const std::size_t decoded = values.decode(first, count, to);
  if (decoded < count) {
    double value = 0;
    values.decode(first + decoded, 1, &value);
    values.from.data.fail((first + decoded) * values.type.bytes, errc::value_out_of_range,
                          "pr[{}] = {}: does not fit {}", first + decoded, value, to_string(value_type_of<T>));
  }
  if (a.head.logical) {
    for (std::size_t k = 0; k < count; ++k) to[k] = to[k] != T{0} ? T{1} : T{0};
  }
}

template <value T, index I>
std::vector<entry<T, I>> sparse_entries(const mat_matrix& a) {
  std::vector<entry<T, I>> entries;
  const auto nnz = static_cast<std::size_t>(a.col_ptr.back());
  entries.reserve(nnz);
  std::array<std::int64_t, piece_size> row;
  std::array<T, piece_size> values;
  std::size_t col = 0;
  for (std::size_t first = 0; first < nnz; first += piece_size) {
    const std::size_t count = std::min(piece_size, nnz - first);
    const std::size_t decoded = a.row_ind.decode(first, count, row.data());
    decode_values(a, first, count, values.data());
    for (std::size_t k = 0; k < count; ++k) {
      if (k >= decoded || row[k] < 0 || row[k] >= a.rows()) {
        a.row_ind.from.data.fail((first + k) * a.row_ind.type.bytes, errc::index_out_of_range,
                                 "ir[{}] = {}: must lie in 0 .. {}", first + k,
                                 k < decoded ? std::to_string(row[k]) : "beyond 63 bits", a.rows() - 1);
      }
      while (static_cast<std::size_t>(a.col_ptr[col + 1]) <= first + k) ++col;
      entries.push_back({static_cast<I>(row[k]), static_cast<I>(col), values[k]});
    }
  }
  return entries;
}

/// Column by column; zeros are dropped.
template <value T, index I>
std::vector<entry<T, I>> dense_entries(const mat_matrix& a) {
  std::vector<entry<T, I>> entries;
  std::array<T, piece_size> values;
  const auto size = static_cast<std::size_t>(a.values.size), num_rows = static_cast<std::size_t>(a.rows());
  for (std::size_t first = 0; first < size; first += piece_size) {
    const std::size_t count = std::min(piece_size, size - first);
    decode_values(a, first, count, values.data());
    for (std::size_t k = 0; k < count; ++k) {
      if (values[k] == T{0}) continue;
      const std::size_t at = first + k;
      entries.push_back({static_cast<I>(at % num_rows), static_cast<I>(at / num_rows), values[k]});
    }
  }
  return entries;
}

}  // namespace

std::string_view to_string(array_class kind) {
  const auto number = static_cast<std::size_t>(kind);
  return class_names[number < class_names.size() ? number : 0];
}

array_class class_named(std::string_view name) {
  const auto found = std::ranges::find(class_names, name);
  return found == class_names.end() ? array_class::unknown : static_cast<array_class>(found - class_names.begin());
}

std::string array_head::describe() const {
  std::string text;
  for (const std::int64_t size : sizes) text.append(text.empty() ? "" : "x").append(std::to_string(size));
  return text.append(text.empty() ? "" : " ").append(to_string(kind));
}

void require_matrix(const mat_matrix& a) {
  if (!a.head.is_sparse() && !a.head.is_number()) {
    a.content.fail(0, errc::unsupported, "{} is not a matrix of numbers but {}", files::quoted(a.path),
                   a.head.describe());
  }
  if (a.head.sizes.size() != 2) {
    a.content.fail(0, errc::unsupported, "{} is not a matrix of two dimensions but {}", files::quoted(a.path),
                   a.head.describe());
  }
}

void set_col_ptr(mat_matrix& a, const number_list& pointers) {
  const stretch& at = pointers.from.data;
  if (pointers.size - 1 != a.cols()) {
    at.fail(0, errc::invalid_format, "jc holds {} pointers, {} columns need one more than there are columns",
            pointers.size, a.cols());
  }
  a.col_ptr = pointers.integers("column pointers (jc)");
  if (a.col_ptr[0] != 0) at.fail(0, errc::invalid_format, "jc[0] = {}: must be 0", a.col_ptr[0]);
  for (std::size_t col = 1; col < a.col_ptr.size(); ++col) {
    if (a.col_ptr[col] < a.col_ptr[col - 1]) {
      at.fail(col * pointers.type.bytes, errc::invalid_format, "jc[{}] = {}: must not fall below jc[{}] = {}", col,
              a.col_ptr[col], col - 1, a.col_ptr[col - 1]);
    }
  }
}

void require_lengths(const mat_matrix& a) {
  if (a.head.is_sparse()) {
    // Both may be longer: MATLAB keeps room for entries to come.
    for (const auto& [list, name] : {std::pair{&a.row_ind, "ir"}, std::pair{&a.values, "pr"}}) {
      if (a.col_ptr.back() > list->size) {
        list->from.fail(errc::invalid_format, "{} holds {} numbers, jc leads to {}", name, list->size,
                        a.col_ptr.back());
      }
    }
    return;
  }
  std::int64_t count = 0;
  if (__builtin_mul_overflow(a.rows(), a.cols(), &count) || a.values.size != count) {
    a.values.from.fail(errc::invalid_format, "pr holds {} numbers, the array is {}", a.values.size, a.head.describe());
  }
}

file_info info_of(const mat_matrix& a) {
  const bool sparse = a.head.is_sparse();
  const bool is_real = sparse || a.head.kind == array_class::real64 || a.head.kind == array_class::real32;
  file_info info;
  info.format = file_format::mat;
  info.rows = a.rows();
  info.cols = a.cols();
  info.stored_entries = sparse ? a.col_ptr.back() : a.values.size;
  info.field = a.head.complex   ? file_field::complex
               : a.head.logical ? file_field::pattern
               : is_real        ? file_field::real
                                : file_field::integer;
  info.array = !sparse;
  info.member = a.path;
  return info;
}

template <value T, index I>
coo_matrix<T, I> to_coo(const mat_matrix& a, const read_options& options) {
  if (a.head.complex && !options.real_part) {
    a.content.fail(0, errc::unsupported, "{} is complex: only real values are held (real_part drops the rest)",
                   files::quoted(a.path));
  }
  if (std::max(a.rows(), a.cols()) > std::numeric_limits<I>::max()) {
    a.content.fail(0, errc::size_overflow, "{} x {}: does not fit {}-bit indices", a.rows(), a.cols(), sizeof(I) * 8);
  }
  auto entries = a.head.is_sparse() ? sparse_entries<T, I>(a) : dense_entries<T, I>(a);
  return assemble(a.rows(), a.cols(), std::move(entries), file_symmetry::general, a.content.file->path);
}

template coo_matrix<float, std::int32_t> to_coo(const mat_matrix&, const read_options&);
template coo_matrix<float, std::int64_t> to_coo(const mat_matrix&, const read_options&);
template coo_matrix<double, std::int32_t> to_coo(const mat_matrix&, const read_options&);
template coo_matrix<double, std::int64_t> to_coo(const mat_matrix&, const read_options&);

}  // namespace bcsc::files::mat
