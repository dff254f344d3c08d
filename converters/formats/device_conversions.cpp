#include <utility>

#include "bcsc/device.hpp"
#include "converters/formats/checks.hpp"
#include "converters/formats/device_arrays.hpp"
#include "converters/formats/device_entry_steps.hpp"
#include "converters/formats/device_steps.hpp"
#include "converters/formats/instantiate.hpp"
#include "core/checked.hpp"

/// The conversions on a GPU, put together from the steps; CSR is the hub.
namespace bcsc {

namespace {

using converters::check_length;
using converters::check_shape;
using converters::device_arrays;
using converters::on_device;
using converters::require_at_least_one;
using converters::require_on_device;
using core::ceil_div;
using core::checked_product;
using core::device_buffer;
using core::length;
using core::narrow;
namespace gpu = core::gpu;
namespace steps = converters::steps;

template <element T>
constexpr int value_bytes = static_cast<int>(size_of(value_type_of<T>));

/// The segment of each of n entries.
template <index I>
device_buffer<I> expand(int device, std::span<const I> ptr, std::int64_t num_segments, std::int64_t n) {
  device_buffer<I> segment_of(device, n);
  steps::expand_pointers<I>(ptr.data(), num_segments, nullptr, segment_of.data(), n);
  return segment_of;
}

/// Where the values of a matrix under construction go; null for a pattern's.
template <class T>
void* address(std::span<T> values) {
  return values.data();
}
void* address(pattern_span) { return nullptr; }

/// Every index lies in [0, size).
template <index I>
void check_indices(int device, std::span<const I> ind, std::int64_t size, const char* array) {
  const std::int64_t k = steps::first_out_of_range(device, ind.data(), length(ind), size);
  if (k < 0) return;
  I fault = 0;
  gpu::copy_to_host(&fault, ind.data() + k, sizeof fault);
  converters::fail_range(k, fault, size, array);
}

template <element T, index I>
struct device_compressed {
  std::span<const I> ptr, ind;
  element_span<T> values;
};

/// Entries compressed along `major_of`. They come in an order in which the minor indices of each major index ascend,
/// and a stable sort keeps that. `minors()` gives the minor indices once the sort has released its memory.
template <element T, index I, class Minors>
device_compressed<T, I> compress(device_arrays& arrays, const I* major_of, std::int64_t num_major, Minors minors,
                                 element_span<T> values) {
  const std::int64_t n = length(values);
  const steps::sorted_entries sorted =
      steps::sort_entries<I>(arrays.device(), {.n = n, .major_of = major_of, .majors = num_major});
  const auto ptr = arrays.add<I>(num_major + 1);
  steps::entry_bounds(sorted, num_major, ptr.data());
  const auto ind = arrays.add<I>(n);
  steps::gather(sorted, minors().data(), sizeof(I), ind.data());
  const auto moved = arrays.add_values<T>(n);
  steps::gather(sorted, values.data(), value_bytes<T>, address(moved));
  return {ptr, ind, moved};
}

/// The same entries compressed along the other axis.
template <element T, index I>
device_compressed<T, I> swap_axes(device_arrays& arrays, std::span<const I> ptr, std::span<const I> ind,
                                  element_span<T> values, std::int64_t num_major, std::int64_t num_minor) {
  return compress<T, I>(
      arrays, ind.data(), num_minor, [&] { return expand(arrays.device(), ptr, num_major, length(ind)); }, values);
}

/// The non-zero values of `lines`, which come in the order of CSR's rows.
template <number T, index I, class Lines>
device_csr<T, I> without_zeros(device_arrays& arrays, std::int64_t rows, std::int64_t cols, const Lines& lines) {
  const steps::selection found = steps::find_nonzeros(arrays.device(), lines, value_bytes<T>);
  (void)narrow<I>(found.total, "nnz");
  const device_buffer<I> row_of(arrays.device(), found.total);
  const auto col_ind = arrays.add<I>(found.total);
  const auto values = arrays.add_values<T>(found.total);
  steps::collect_nonzeros(lines, value_bytes<T>, found, row_of.data(), col_ind.data(), address(values));
  const auto row_ptr = arrays.add<I>(rows + 1);
  steps::index_bounds(row_of.data(), found.total, rows, row_ptr.data());
  return arrays.as(csr_view<T, I>{rows, cols, row_ptr, col_ind, values, memory_space::device});
}

/// The blocks that hold an entry.
template <index I>
struct block_pattern {
  device_buffer<I> row_of;  ///< [nnz] of the entries
  device_buffer<I> brow_ptr;
  steps::sorted_entries sorted;
  steps::entry_groups<I> blocks;
};

template <element T, index I>
block_pattern<I> find_blocks(int device, const csr_view<T, I>& a, std::int64_t row_block, std::int64_t col_block) {
  const std::int64_t num_block_rows = ceil_div(a.rows, row_block);
  block_pattern<I> found;
  found.row_of = expand(device, a.row_ptr, a.rows, a.nnz());
  // Neighbours in a row lie in one block most of the time: only one of them is sorted.
  found.sorted = steps::sort_entries<I>(device, {.n = a.nnz(),
                                                 .major_of = found.row_of.data(),
                                                 .minor_of = a.col_ind.data(),
                                                 .majors = a.rows,
                                                 .minors = a.cols,
                                                 .major_block = row_block,
                                                 .minor_block = col_block,
                                                 .once = true});
  found.blocks = steps::group_entries<I>(device, found.sorted);
  found.brow_ptr = device_buffer<I>(device, num_block_rows + 1);
  steps::group_bounds(found.sorted, found.blocks, num_block_rows, found.brow_ptr.data());
  return found;
}

void fill_zero(void* data, std::size_t bytes) {
  if (bytes > 0) gpu::fill_zero(data, bytes);
}

}  // namespace

core::context_state& converters::state_of_gpu(const context& ctx) {
  if (ctx.kind() != backend::cuda) {
    core::fail(errc::no_device, "the context is {}: a device matrix needs one of a GPU", ctx.describe());
  }
  core::require_healthy(ctx.state());
  return ctx.state();
}

// --- To CSR ---------------------------------------------------------------------------------------------------------

template <element T, index I>
device_csr<T, I> to_csr_on_device(const context& ctx, const coo_view<T, I>& a) {
  return on_device<device_csr<T, I>>(ctx, "COO to CSR", [&](auto device) {
    require_on_device(device, a);
    (void)narrow<I>(a.rows, "rows");
    (void)narrow<I>(a.nnz(), "nnz");
    device_arrays arrays(device);
    const auto row_ptr = arrays.add<I>(a.rows + 1);
    steps::index_bounds(a.row_ind.data(), a.nnz(), a.rows, row_ptr.data());
    const auto col_ind = arrays.add_copy_of_device(a.col_ind);
    const auto values = arrays.add_copy_of_device(a.values);
    return arrays.as(csr_view<T, I>{a.rows, a.cols, row_ptr, col_ind, values, memory_space::device});
  });
}

template <element T, index I>
device_csr<T, I> to_csr_on_device(const context& ctx, const csc_view<T, I>& a) {
  return on_device<device_csr<T, I>>(ctx, "CSC to CSR", [&](auto device) {
    require_on_device(device, a);
    device_arrays arrays(device);
    const auto [ptr, ind, values] = swap_axes<T, I>(arrays, a.col_ptr, a.row_ind, a.values, a.cols, a.rows);
    return arrays.as(csr_view<T, I>{a.rows, a.cols, ptr, ind, values, memory_space::device});
  });
}

template <element T, index I>
device_csr<T, I> to_csr_on_device(const context& ctx, const bcsc_view<T, I>& a) {
  return on_device<device_csr<T, I>>(ctx, "BCSC to CSR", [&](auto device) {
    require_on_device(device, a);
    device_arrays arrays(device);
    const auto columns = [&] {
      device_buffer<I> col_of(device, a.nnz());
      steps::expand_pointers(a.col_ptr.data(), a.nnzc(), a.col_ind.data(), col_of.data(), a.nnz());
      return col_of;
    };
    const auto [ptr, ind, values] = compress<T, I>(arrays, a.row_ind.data(), a.rows, columns, a.values);
    return arrays.as(csr_view<T, I>{a.rows, a.cols, ptr, ind, values, memory_space::device});
  });
}

template <number T, index I>
device_csr<T, I> to_csr_on_device(const context& ctx, const bsr_view<T, I>& a) {
  return on_device<device_csr<T, I>>(ctx, "BSR to CSR", [&](auto device) {
    require_on_device(device, a);
    device_arrays arrays(device);
    const device_buffer<I> brow_of = expand(device, a.brow_ptr, ceil_div(a.rows, a.row_block), a.num_blocks());
    return without_zeros<T, I>(
        arrays, a.rows, a.cols,
        steps::bsr_lines<I>{a.values.data(), a.rows, a.cols, a.row_block, a.col_block, a.num_blocks(),
                            a.brow_ptr.data(), a.bcol_ind.data(), brow_of.data()});
  });
}

template <number T, index I>
device_csr<T, I> to_csr_on_device(const context& ctx, const ell_view<T, I>& a) {
  return on_device<device_csr<T, I>>(ctx, "Blocked-ELL to CSR", [&](auto device) {
    require_on_device(device, a);
    device_arrays arrays(device);
    return without_zeros<T, I>(
        arrays, a.rows, a.cols,
        steps::ell_lines<I>{a.values.data(), a.rows, a.cols, a.block, a.blocks_per_row, a.bcol_ind.data()});
  });
}

template <index I, number T>
device_csr<T, I> to_csr_on_device(const context& ctx, const dense_view<const T>& a) {
  return on_device<device_csr<T, I>>(ctx, "dense to CSR", [&](auto device) {
    const std::int64_t extent = converters::dense_extent(a);
    require_on_device(device, a.data, static_cast<std::size_t>(extent), "dense");
    check_shape<I>(a.rows, a.cols);
    device_arrays arrays(device);
    if (a.order == layout::row_major) {
      return without_zeros<T, I>(arrays, a.rows, a.cols, steps::dense_lines{a.data, a.rows, a.cols, a.ld});
    }
    // Along memory, then from column order to row order: only the non-zeros are moved twice.
    const steps::dense_lines columns{a.data, a.cols, a.rows, a.ld};
    const steps::selection found = steps::find_nonzeros(device, columns, value_bytes<T>);
    (void)narrow<I>(found.total, "nnz");
    device_buffer<I> col_of(device, found.total);
    const device_buffer<I> row_of(device, found.total);
    const device_buffer<T> values(device, found.total);
    steps::collect_nonzeros(columns, value_bytes<T>, found, col_of.data(), row_of.data(), values.data());
    const auto [ptr, ind, moved] = compress<T, I>(
        arrays, row_of.data(), a.rows, [&] { return std::move(col_of); },
        element_span<T>(values.data(), static_cast<std::size_t>(found.total)));
    return arrays.as(csr_view<T, I>{a.rows, a.cols, ptr, ind, moved, memory_space::device});
  });
}

// --- From CSR -------------------------------------------------------------------------------------------------------

template <element T, index I>
device_coo<T, I> to_coo_on_device(const context& ctx, const csr_view<T, I>& a) {
  return on_device<device_coo<T, I>>(ctx, "CSR to COO", [&](auto device) {
    require_on_device(device, a);
    device_arrays arrays(device);
    const auto row_ind = arrays.add<I>(a.nnz());
    steps::expand_pointers<I>(a.row_ptr.data(), a.rows, nullptr, row_ind.data(), a.nnz());
    const auto col_ind = arrays.add_copy_of_device(a.col_ind);
    const auto values = arrays.add_copy_of_device(a.values);
    return arrays.as(coo_view<T, I>{a.rows, a.cols, row_ind, col_ind, values, memory_space::device});
  });
}

template <element T, index I>
device_csc<T, I> to_csc_on_device(const context& ctx, const csr_view<T, I>& a) {
  return on_device<device_csc<T, I>>(ctx, "CSR to CSC", [&](auto device) {
    require_on_device(device, a);
    device_arrays arrays(device);
    const auto [ptr, ind, values] = swap_axes<T, I>(arrays, a.row_ptr, a.col_ind, a.values, a.rows, a.cols);
    return arrays.as(csc_view<T, I>{a.rows, a.cols, ptr, ind, values, memory_space::device});
  });
}

template <number T, index I>
device_bsr<T, I> to_bsr_on_device(const context& ctx, const csr_view<T, I>& a, std::int64_t row_block,
                                  std::int64_t col_block) {
  return on_device<device_bsr<T, I>>(ctx, "CSR to BSR", [&](auto device) {
    require_on_device(device, a);
    require_at_least_one(row_block, "row_block");
    require_at_least_one(col_block, "col_block");
    const std::int64_t block_size = checked_product(row_block, col_block, "row_block x col_block");
    device_arrays arrays(device);
    block_pattern<I> found = find_blocks(device, a, row_block, col_block);
    const std::int64_t num_blocks = found.blocks.count;
    const auto brow_ptr = arrays.add_taken(std::move(found.brow_ptr));
    const auto bcol_ind = arrays.add<I>(num_blocks);
    steps::group_indices<I, I>(found.sorted, found.blocks, nullptr, bcol_ind.data());
    found.sorted = {};
    const auto values = arrays.add<T>(checked_product(num_blocks, block_size, "num_blocks x block size"));
    fill_zero(values.data(), values.size_bytes());
    steps::fill_blocks<I>({row_block, col_block, brow_ptr.data(), bcol_ind.data()}, a.nnz(), found.row_of.data(),
                          a.col_ind.data(), a.values.data(), value_bytes<T>, values.data());
    return arrays.as(
        bsr_view<T, I>{a.rows, a.cols, row_block, col_block, brow_ptr, bcol_ind, values, memory_space::device});
  });
}

template <number T, index I>
device_ell<T, I> to_ell_on_device(const context& ctx, const csr_view<T, I>& a, std::int64_t block) {
  return on_device<device_ell<T, I>>(ctx, "CSR to Blocked-ELL", [&](auto device) {
    require_on_device(device, a);
    require_at_least_one(block, "block");
    device_arrays arrays(device);
    block_pattern<I> found = find_blocks(device, a, block, block);
    const device_buffer<I> found_bcol(device, found.blocks.count);
    steps::group_indices<I, I>(found.sorted, found.blocks, nullptr, found_bcol.data());
    found.sorted = {};
    const std::int64_t num_block_rows = ceil_div(a.rows, block);
    const std::int64_t blocks_per_row = steps::longest_segment(device, found.brow_ptr.data(), num_block_rows);
    const std::int64_t num_blocks = checked_product(num_block_rows, blocks_per_row, "block rows x blocks_per_row");
    const std::int64_t width = checked_product(blocks_per_row, block, "blocks_per_row x block");
    const std::int64_t height = checked_product(num_block_rows, block, "block rows x block");
    const auto values = arrays.add<T>(checked_product(height, width, "padded rows x padded columns"));
    fill_zero(values.data(), values.size_bytes());
    const auto bcol_ind = arrays.add<I>(num_blocks);
    steps::pad_segments(found.brow_ptr.data(), num_block_rows, found_bcol.data(), blocks_per_row, bcol_ind.data());
    steps::fill_blocks<I>({block, block, found.brow_ptr.data(), found_bcol.data(), width}, a.nnz(), found.row_of.data(),
                          a.col_ind.data(), a.values.data(), value_bytes<T>, values.data());
    return arrays.as(ell_view<T, I>{a.rows, a.cols, block, blocks_per_row, bcol_ind, values, memory_space::device});
  });
}

template <element T, index I>
device_bcsc<T, I> to_bcsc_on_device(const context& ctx, const csr_view<T, I>& a, std::int64_t m_block) {
  return on_device<device_bcsc<T, I>>(ctx, "CSR to BCSC", [&](auto device) {
    require_on_device(device, a);
    require_at_least_one(m_block, "m_block");
    device_arrays arrays(device);
    if (m_block == 1) {  // every non-zero is a column of its own, in the order of CSR
      const auto brow_ptr = arrays.add_copy_of_device(a.row_ptr);
      const auto col_ind = arrays.add_copy_of_device(a.col_ind);
      const auto col_ptr = arrays.add<I>(a.nnz() + 1);
      steps::number(col_ptr.data(), a.nnz() + 1);
      const auto row_ind = arrays.add<I>(a.nnz());
      steps::expand_pointers<I>(a.row_ptr.data(), a.rows, nullptr, row_ind.data(), a.nnz());
      const auto values = arrays.add_copy_of_device(a.values);
      return arrays.as(
          bcsc_view<T, I>{a.rows, a.cols, 1, brow_ptr, col_ind, col_ptr, row_ind, values, memory_space::device});
    }
    const std::int64_t num_row_blocks = ceil_div(a.rows, m_block);
    const device_buffer<I> row_of = expand(device, a.row_ptr, a.rows, a.nnz());
    const steps::sorted_entries sorted = steps::sort_entries<I>(device, {.n = a.nnz(),
                                                                         .major_of = row_of.data(),
                                                                         .minor_of = a.col_ind.data(),
                                                                         .majors = a.rows,
                                                                         .minors = a.cols,
                                                                         .major_block = m_block});
    steps::entry_groups<I> columns = steps::group_entries<I>(device, sorted);
    const auto brow_ptr = arrays.add<I>(num_row_blocks + 1);
    steps::group_bounds(sorted, columns, num_row_blocks, brow_ptr.data());
    const auto col_ind = arrays.add<I>(columns.count);
    steps::group_indices<I, I>(sorted, columns, nullptr, col_ind.data());
    const auto col_ptr = arrays.add_taken(std::move(columns.first));
    const auto row_ind = arrays.add<I>(a.nnz());
    steps::gather(sorted, row_of.data(), sizeof(I), row_ind.data());
    const auto values = arrays.add_values<T>(a.nnz());
    steps::gather(sorted, a.values.data(), value_bytes<T>, address(values));
    return arrays.as(
        bcsc_view<T, I>{a.rows, a.cols, m_block, brow_ptr, col_ind, col_ptr, row_ind, values, memory_space::device});
  });
}

template <number T, index I>
device_dense<T> to_dense_on_device(const context& ctx, const csr_view<T, I>& a, layout order) {
  return on_device<device_dense<T>>(ctx, "CSR to dense", [&](auto device) {
    require_on_device(device, a);
    device_arrays arrays(device);
    const auto values = arrays.add<T>(checked_product(a.rows, a.cols, "rows x cols"));
    fill_zero(values.data(), values.size_bytes());
    const dense_view<T> out(values.data(), a.rows, a.cols, order);
    const device_buffer<I> row_of = expand(device, a.row_ptr, a.rows, a.nnz());
    steps::fill_dense(a.nnz(), row_of.data(), a.col_ind.data(), a.values.data(), value_bytes<T>, out.row_stride(),
                      out.col_stride(), out.data);
    return arrays.as(out);
  });
}

// --- Within a format ------------------------------------------------------------------------------------------------

template <element T, index I>
device_csr<T, I> transpose_on_device(const context& ctx, const csr_view<T, I>& a) {
  return on_device<device_csr<T, I>>(ctx, "transposition", [&](auto device) {
    require_on_device(device, a);
    device_arrays arrays(device);
    const auto [ptr, ind, values] = swap_axes<T, I>(arrays, a.row_ptr, a.col_ind, a.values, a.rows, a.cols);
    return arrays.as(csr_view<T, I>{a.cols, a.rows, ptr, ind, values, memory_space::device});
  });
}

template <element T2, index I2, element T, index I>
device_csr<T2, I2> cast_on_device(const context& ctx, const csr_view<T, I>& a) {
  return on_device<device_csr<T2, I2>>(ctx, "cast", [&](auto device) {
    require_on_device(device, a);
    (void)narrow<I2>(a.rows, "rows");
    (void)narrow<I2>(a.cols, "cols");
    (void)narrow<I2>(a.nnz(), "nnz");
    device_arrays arrays(device);
    const auto row_ptr = arrays.add<I2>(a.rows + 1);
    steps::convert_indices(a.row_ptr.data(), a.rows + 1, row_ptr.data());
    const auto col_ind = arrays.add<I2>(a.nnz());
    steps::convert_indices(a.col_ind.data(), a.nnz(), col_ind.data());
    const auto values = arrays.add_values<T2>(a.nnz());
    steps::convert_values(value_type_of<T>, a.values.data(), value_type_of<T2>, address(values), a.nnz());
    return arrays.as(csr_view<T2, I2>{a.rows, a.cols, row_ptr, col_ind, values, memory_space::device});
  });
}

template <element T, index I>
device_coo<T, I> sort_and_sum_on_device(const context& ctx, const coo_view<T, I>& a) {
  return on_device<device_coo<T, I>>(ctx, "sorting of entries", [&](auto device) {
    require_on_device(device, a);
    check_shape<I>(a.rows, a.cols);
    check_length(length(a.row_ind), a.nnz(), "row_ind", "one for each value");
    check_length(length(a.col_ind), a.nnz(), "col_ind", "one for each value");
    check_indices(device, a.row_ind, a.rows, "row_ind");
    check_indices(device, a.col_ind, a.cols, "col_ind");
    device_arrays arrays(device);
    if (steps::first_entry_disorder(device, a.row_ind.data(), a.col_ind.data(), a.nnz()) < 0) {
      const auto row_ind = arrays.add_copy_of_device(a.row_ind);
      const auto col_ind = arrays.add_copy_of_device(a.col_ind);
      const auto values = arrays.add_copy_of_device(a.values);
      return arrays.as(coo_view<T, I>{a.rows, a.cols, row_ind, col_ind, values, memory_space::device});
    }
    const steps::sorted_entries sorted = steps::sort_entries<I>(
        device,
        {.n = a.nnz(), .major_of = a.row_ind.data(), .minor_of = a.col_ind.data(), .majors = a.rows, .minors = a.cols});
    // With duplicates, there may be more entries than the matrix's index type can count.
    const auto places = steps::group_entries<std::int64_t>(device, sorted);
    const auto row_ind = arrays.add<I>(places.count);
    const auto col_ind = arrays.add<I>(places.count);
    steps::group_indices<std::int64_t, I>(sorted, places, row_ind.data(), col_ind.data());
    const auto values = arrays.add_values<T>(places.count);
    steps::sum_groups(sorted, places, value_type_of<T>, a.values.data(), address(values));
    return arrays.as(coo_view<T, I>{a.rows, a.cols, row_ind, col_ind, values, memory_space::device});
  });
}

#define BCSC_INSTANTIATE(T, I)                                                                       \
  template device_csr<T, I> to_csr_on_device(const context&, const coo_view<T, I>&);                 \
  template device_csr<T, I> to_csr_on_device(const context&, const csc_view<T, I>&);                 \
  template device_csr<T, I> to_csr_on_device(const context&, const bcsc_view<T, I>&);                \
  template device_coo<T, I> to_coo_on_device(const context&, const csr_view<T, I>&);                 \
  template device_csc<T, I> to_csc_on_device(const context&, const csr_view<T, I>&);                 \
  template device_bcsc<T, I> to_bcsc_on_device(const context&, const csr_view<T, I>&, std::int64_t); \
  template device_csr<T, I> transpose_on_device(const context&, const csr_view<T, I>&);              \
  template device_coo<T, I> sort_and_sum_on_device(const context&, const coo_view<T, I>&);
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

#define BCSC_INSTANTIATE(T, I)                                                                                   \
  template device_csr<T, I> to_csr_on_device(const context&, const bsr_view<T, I>&);                             \
  template device_csr<T, I> to_csr_on_device(const context&, const ell_view<T, I>&);                             \
  template device_csr<T, I> to_csr_on_device<I, T>(const context&, const dense_view<const T>&);                  \
  template device_bsr<T, I> to_bsr_on_device(const context&, const csr_view<T, I>&, std::int64_t, std::int64_t); \
  template device_ell<T, I> to_ell_on_device(const context&, const csr_view<T, I>&, std::int64_t);               \
  template device_dense<T> to_dense_on_device(const context&, const csr_view<T, I>&, layout);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

// Every pair of element types, every pair of index types.
#define BCSC_INSTANTIATE_TO(T2, T, I)                                                                            \
  template device_csr<T2, std::int32_t> cast_on_device<T2, std::int32_t>(const context&, const csr_view<T, I>&); \
  template device_csr<T2, std::int64_t> cast_on_device<T2, std::int64_t>(const context&, const csr_view<T, I>&);
#define BCSC_INSTANTIATE(T, I)        \
  BCSC_INSTANTIATE_TO(float, T, I)    \
  BCSC_INSTANTIATE_TO(double, T, I)   \
  BCSC_INSTANTIATE_TO(half, T, I)     \
  BCSC_INSTANTIATE_TO(bfloat16, T, I) \
  BCSC_INSTANTIATE_TO(pattern, T, I)
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE
#undef BCSC_INSTANTIATE_TO

}  // namespace bcsc
