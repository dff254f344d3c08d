#include <filesystem>
#include <limits>
#include <string_view>

#include "bcsc/files.hpp"
#include "lib/capi/guard.hpp"
#include "lib/capi/handles.hpp"

using namespace bcsc;
using namespace bcsc::capi;

namespace {

// --- The caller's arrays --------------------------------------------------------------------------------------------

/// f.template operator()<T, I>() for the types that the numbers name.
template <class F>
auto with_types(int value, int indices, F f) {
  const auto element = enumerator(value, value_type::pattern, "arrays.value_type");
  const auto with_value = [&]<class I>() {
    switch (element) {
      case value_type::fp32:
        return f.template operator()<float, I>();
      case value_type::fp64:
        return f.template operator()<double, I>();
      case value_type::fp16:
        return f.template operator()<half, I>();
      case value_type::bf16:
        return f.template operator()<bfloat16, I>();
      case value_type::pattern:
        break;
    }
    return f.template operator()<pattern, I>();
  };
  return enumerator(indices, index_type::int64, "arrays.index_type") == index_type::int32
             ? with_value.template operator()<std::int32_t>()
             : with_value.template operator()<std::int64_t>();
}

/// `count` numbers of an array that may be null where there are none.
template <class I>
std::span<const I> numbers(const void* array, std::int64_t count, const char* name) {
  if (count > 0) require(array, name);
  return {static_cast<const I*>(array), static_cast<std::size_t>(count)};
}

template <element T>
element_span<T> elements(const void* array, std::int64_t count) {
  if constexpr (std::is_same_v<T, pattern>) {
    if (array != nullptr) core::fail(errc::invalid_argument, "arrays.values: a pattern has none, so it must be null");
    return pattern_span(static_cast<std::size_t>(count));
  } else {
    return numbers<T>(array, count, "arrays.values");
  }
}

/// A size that can be incremented, and counted in bytes, without overflow.
std::int64_t size_of_array(std::int64_t size, const char* name) {
  if (size < 0) core::fail(errc::invalid_argument, "arrays.{} = {}: must not be negative", name, size);
  if (size > std::numeric_limits<std::int64_t>::max() / 16) {
    core::fail(errc::size_overflow, "arrays.{} = {}: larger than any memory", name, size);
  }
  return size;
}

memory_space space_of(int number) { return enumerator(number, memory_space::device, "arrays.memory_space"); }

// --- Handles --------------------------------------------------------------------------------------------------------

bcsc_sparse owner(any_matrix matrix) { return new bcsc_sparse_s(std::move(matrix)); }

/// A matrix on the host that holds its invariants, for conversions and files.
const any_view& checked_host(bcsc_sparse matrix) {
  require(matrix, "matrix");
  if (matrix->space != memory_space::host) {
    core::fail(errc::wrong_memory_space, "matrix lies on a device: files and conversions take matrices on the host");
  }
  if (!matrix->owned) validate(matrix->view);
  return matrix->view;
}

/// f(view), if the matrix is of that format.
template <matrix_format Format, class F>
void with_format(bcsc_sparse matrix, F f) {
  matrix->view.visit([&]<class View>(const View& view) {
    if constexpr (format_of<View> == Format) {
      f(view);
    } else {
      core::fail(errc::invalid_argument, "matrix is {}, not {}", to_string(format_of<View>), to_string(Format));
    }
  });
}

file_format format_named(std::string_view name) {
  std::string known;
  for (const file_format_info& info : file_formats()) {
    if (info.name == name) return info.format;
    known.append(known.empty() ? "" : ", ").append(info.name);
  }
  core::fail(errc::invalid_argument, "options.format = \"{}\": must be one of {}", name, known);
}

}  // namespace

int bcsc_sparse_csr(const bcsc_csr_arrays* arrays, bcsc_sparse* out) {
  return guarded([&] {
    require(arrays, "arrays");
    require(out, "matrix");
    const bcsc_csr_arrays given = taken(arrays, "arrays");
    require_unused(given.reserved, "arrays");
    const memory_space space = space_of(given.memory_space);
    const std::int64_t rows = size_of_array(given.rows, "rows"), cols = size_of_array(given.cols, "cols");
    const std::int64_t nnz = size_of_array(given.nnz, "nnz");
    *out = new bcsc_sparse_s(
        with_types(given.value_type, given.index_type,
                   [&]<class T, class I>() {
                     return any_view(csr_view<T, I>{rows, cols, numbers<I>(given.row_ptr, rows + 1, "arrays.row_ptr"),
                                                    numbers<I>(given.col_ind, nnz, "arrays.col_ind"),
                                                    elements<T>(given.values, nnz), space});
                   }),
        space);
  });
}

int bcsc_sparse_bcsc(const bcsc_bcsc_arrays* arrays, bcsc_sparse* out) {
  return guarded([&] {
    require(arrays, "arrays");
    require(out, "matrix");
    const bcsc_bcsc_arrays given = taken(arrays, "arrays");
    require_unused(given.reserved, "arrays");
    const memory_space space = space_of(given.memory_space);
    const std::int64_t rows = size_of_array(given.rows, "rows"), cols = size_of_array(given.cols, "cols");
    const std::int64_t nnz = size_of_array(given.nnz, "nnz"), nnzc = size_of_array(given.nnzc, "nnzc");
    const std::int64_t m_block = given.m_block;
    if (m_block < 1) core::fail(errc::invalid_argument, "arrays.m_block = {}: must be at least 1", m_block);
    const std::int64_t num_row_blocks = rows / m_block + (rows % m_block != 0 ? 1 : 0);
    *out = new bcsc_sparse_s(
        with_types(given.value_type, given.index_type,
                   [&]<class T, class I>() {
                     return any_view(bcsc_view<T, I>{
                         rows, cols, m_block, numbers<I>(given.brow_ptr, num_row_blocks + 1, "arrays.brow_ptr"),
                         numbers<I>(given.col_ind, nnzc, "arrays.col_ind"),
                         numbers<I>(given.col_ptr, nnzc + 1, "arrays.col_ptr"),
                         numbers<I>(given.row_ind, nnz, "arrays.row_ind"), elements<T>(given.values, nnz), space});
                   }),
        space);
  });
}

int bcsc_sparse_read(const char* path, int type, bcsc_sparse* out, const bcsc_read_options* options) {
  return guarded([&] {
    require(path, "path");
    require(out, "matrix");
    const value_type element = enumerator(type, value_type::pattern, "value_type");
    const bcsc_read_options given = taken(options, "options");
    require_unused(given.reserved, "options");
    read_options how;
    if (given.format != nullptr) how.format = format_named(given.format);
    if (given.member != nullptr) how.member = given.member;
    if (given.pattern_seed != 0) how.pattern_seed = static_cast<std::uint64_t>(given.pattern_seed);
    if (given.max_memory_bytes < 0) {
      core::fail(errc::invalid_argument, "options.max_memory_bytes = {}: must not be negative", given.max_memory_bytes);
    }
    if (given.max_memory_bytes != 0) how.max_memory_bytes = given.max_memory_bytes;
    how.real_part = flag(given.real_part, "options.real_part");
    // Narrower types are rounded once, from fp64.
    const value_type read_as = element == value_type::fp32 ? value_type::fp32 : value_type::fp64;
    *out = owner(convert(read_matrix(path, how, read_as), matrix_format::csr, {.element = element}));
  });
}

int bcsc_sparse_write(bcsc_sparse matrix, const char* path, const bcsc_write_options* options) {
  return guarded([&] {
    require(path, "path");
    const any_view& a = checked_host(matrix);
    const bcsc_write_options given = taken(options, "options");
    write_options how;
    if (given.format != nullptr) how.format = format_named(given.format);
    if (given.comment != nullptr) how.comment = given.comment;
    write_matrix(path, a, how);
  });
}

int bcsc_sparse_to_csr(bcsc_sparse matrix, bcsc_sparse* out) {
  return guarded([&] {
    require(out, "csr");
    *out = owner(convert(checked_host(matrix), matrix_format::csr));
  });
}

int bcsc_sparse_to_bcsc(bcsc_sparse matrix, int64_t m_block, bcsc_sparse* out) {
  return guarded([&] {
    require(out, "bcsc");
    *out = owner(convert(checked_host(matrix), matrix_format::bcsc, {.blocks = {.m_block = m_block}}));
  });
}

int bcsc_sparse_transpose(bcsc_sparse matrix, bcsc_sparse* out) {
  return guarded([&] {
    require(out, "transposed");
    const any_view& a = checked_host(matrix);
    conversion_options how{.transposed = true};
    if (a.format() == matrix_format::bcsc) {
      with_format<matrix_format::bcsc>(matrix, [&](const auto& blocks) { how.blocks.m_block = blocks.m_block; });
    }
    *out = owner(convert(a, a.format(), how));
  });
}

int bcsc_sparse_get_facts(bcsc_sparse matrix, bcsc_sparse_facts* facts) {
  return guarded([&] {
    require(matrix, "matrix");
    require(facts, "facts");
    check_size(*facts, "facts");
    const any_view& a = matrix->view;
    give({.format = static_cast<int>(a.format()),
          .value_type = static_cast<int>(a.element()),
          .index_type = static_cast<int>(a.indices()),
          .memory_space = static_cast<int>(matrix->space),
          .rows = a.rows(),
          .cols = a.cols(),
          .num_values = a.num_values()},
         facts);
  });
}

int bcsc_sparse_get_csr(bcsc_sparse matrix, bcsc_csr_arrays* arrays) {
  return guarded([&] {
    require(matrix, "matrix");
    require(arrays, "arrays");
    check_size(*arrays, "arrays");
    with_format<matrix_format::csr>(matrix, [&](const auto& a) {
      give({.value_type = static_cast<int>(matrix->view.element()),
            .index_type = static_cast<int>(matrix->view.indices()),
            .memory_space = static_cast<int>(a.space),
            .rows = a.rows,
            .cols = a.cols,
            .nnz = a.nnz(),
            .row_ptr = a.row_ptr.data(),
            .col_ind = a.col_ind.data(),
            .values = a.values.data()},
           arrays);
    });
  });
}

int bcsc_sparse_get_bcsc(bcsc_sparse matrix, bcsc_bcsc_arrays* arrays) {
  return guarded([&] {
    require(matrix, "matrix");
    require(arrays, "arrays");
    check_size(*arrays, "arrays");
    with_format<matrix_format::bcsc>(matrix, [&](const auto& a) {
      give({.value_type = static_cast<int>(matrix->view.element()),
            .index_type = static_cast<int>(matrix->view.indices()),
            .memory_space = static_cast<int>(a.space),
            .rows = a.rows,
            .cols = a.cols,
            .nnz = a.nnz(),
            .nnzc = a.nnzc(),
            .m_block = a.m_block,
            .brow_ptr = a.brow_ptr.data(),
            .col_ind = a.col_ind.data(),
            .col_ptr = a.col_ptr.data(),
            .row_ind = a.row_ind.data(),
            .values = a.values.data()},
           arrays);
    });
  });
}

void bcsc_sparse_free(bcsc_sparse matrix) { delete matrix; }
