#pragma once

#include "kernels/cpu/isa/passes.hpp"
#include "kernels/cpu/isa/shares.hpp"
#include "kernels/cpu/isa/vector.hpp"
#include "kernels/forms/row_slices/operand.hpp"

/// slices: rows side by side, a lane each. One column of B; more are multiplied by `rows`, a slice at a time.
namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

using forms::row_slice;
using forms::slice_lanes;
using forms::slice_rows;

/// The sums of a slice: as many vectors as its lanes take here.
template <class T>
inline constexpr int slice_vectors = slice_lanes<T> / width<T>;
template <class T>
using slice_sums = vec<T>[slice_vectors<T>];

/// sum + a * b in the lanes whose bit is set, sum in the others. A mask that costs nothing needs no question before it.
template <class T>
[[gnu::always_inline]] inline vec<T> multiply_add_some(vec<T> a, vec<T> b, vec<T> sum, unsigned bits) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return _mm512_mask3_fmadd_ps(a, b, sum, static_cast<__mmask16>(bits));
  if constexpr (sizeof(T) == 8) return _mm512_mask3_fmadd_pd(a, b, sum, static_cast<__mmask8>(bits));
#else
  constexpr unsigned all = (1U << width<T>)-1;
  if ((bits & all) != all) {
    for (int i = 0; i < width<T>; ++i) b[i] = (bits >> i & 1U) != 0 ? b[i] : T{0};
  }
  return multiply_add(a, b, sum);
#endif
}

/// from[i * stride] in the lanes whose bit is set, 0 in the others, which are not read.
template <bool Strided, class T>
[[gnu::always_inline]] inline vec<T> load_some(const T* from, int64_t stride, unsigned bits) {
  constexpr unsigned all = (1U << width<T>)-1;
  if constexpr (!Strided) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) return _mm512_maskz_loadu_ps(static_cast<__mmask16>(bits), from);
    if constexpr (sizeof(T) == 8) return _mm512_maskz_loadu_pd(static_cast<__mmask8>(bits), from);
#endif
    if ((bits & all) == all) return load(from);
  }
  vec<T> v{};
  for (int i = 0; i < width<T>; ++i) {
    if ((bits >> i & 1U) != 0) v[i] = from[i * stride];
  }
  return v;
}

/// from[index[i]] in lane i. Two indices are one load: what is left is a load for each lane.
template <int Bytes = vector_bytes, class T>
[[gnu::always_inline]] inline vec<T, Bytes> gather_pairs(const T* from, const std::int32_t* index) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  if constexpr (Bytes > min_bytes) {
    constexpr int half = Bytes / 2;
    return join<T, half>(gather_pairs<half>(from, index), gather_pairs<half>(from, index + width<T, half>),
                         std::make_integer_sequence<int, width<T, Bytes>>{});
  } else {
    const auto pair_at = [&](int i) {
      std::uint64_t pair;
      __builtin_memcpy(&pair, index + i, sizeof pair);
      return pair;
    };
    const auto first = [&](std::uint64_t pair) { return from[static_cast<std::uint32_t>(pair)]; };
    const auto second = [&](std::uint64_t pair) { return from[pair >> 32]; };
    const std::uint64_t pair = pair_at(0);
    if constexpr (sizeof(T) == 4) {
      const std::uint64_t next = pair_at(2);
      return vec<T, Bytes>{first(pair), second(pair), first(next), second(next)};
    } else {
      return vec<T, Bytes>{first(pair), second(pair)};
    }
  }
}

/// Asks for what follows `from` in the order of storage. A slice's values and columns are short streams that hardware
/// loses at each end and at each page.
[[gnu::always_inline]] inline void prefetch_stream(const void* from) {
  constexpr std::uintptr_t bytes_ahead = 2048;
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from) + bytes_ahead), 0, 2);
}

/// What is known of all of a product's slices before the first.
template <bool Strided, gathering How, bool Prefetch>
struct slice_traits {
  static constexpr bool strided = Strided;  ///< elements of x do not lie side by side
  static constexpr gathering how = How;
  static constexpr bool prefetch = Prefetch;  ///< A comes from memory
};

/// sum[lane] = the row of that lane times x, whose elements lie `stride` apart. Two sums of each, so that an addition
/// need not wait for the one before. Full: the slice is, and needs no masks.
template <class Traits, bool Full, class T>
[[gnu::always_inline]] inline void multiply_slice(const row_slices_operand<T>& a, const row_slice& slice, const T* x,
                                                  int64_t stride, slice_sums<T>& sum) {
  constexpr int lanes = slice_lanes<T>;
  constexpr unsigned all = (1U << lanes) - 1;
  if constexpr (!Traits::strided) stride = 1;  // no multiplication for each index
  const T* values = a.values + slice.first_step * lanes;
  const std::uint16_t* masks = a.masks + slice.first_step;
  const std::int32_t* columns = a.columns + slice.first_column;

  const auto diagonal = [&](slice_sums<T> & to, int64_t d) __attribute__((always_inline)) {
    const T* from = x + columns[d] * stride;
    if constexpr (Traits::prefetch) prefetch_stream(values + d * lanes);
    const unsigned mask = Full ? all : masks[d];
#pragma GCC unroll 4
    for (int v = 0; v < slice_vectors<T>; ++v) {
      const vec<T> b = Full && !Traits::strided
                           ? load(from + v * width<T>)
                           : load_some<Traits::strided>(from + v * width<T> * stride, stride, mask >> v * width<T>);
      to[v] = multiply_add(load(values + d * lanes + v * width<T>), b, to[v]);
    }
  };
  const auto gather_step = [&](slice_sums<T> & to, int64_t g) __attribute__((always_inline)) {
    const int64_t step = slice.num_diagonals + g;
    const std::int32_t* index = columns + slice.num_diagonals + g * lanes;
    if constexpr (Traits::prefetch) {
      prefetch_stream(values + step * lanes);
      prefetch_stream(index);
    }
    const unsigned mask = Full ? all : masks[step];
#pragma GCC unroll 4
    for (int v = 0; v < slice_vectors<T>; ++v) {
      const std::int32_t* at = index + v * width<T>;
      const vec<T> b = Traits::strided                     ? gather(x, at, stride)
                       : Traits::how == gathering::at_once ? gather_at_once(x, at)
                                                           : gather_pairs(x, at);
      const vec<T> values_of_step = load(values + step * lanes + v * width<T>);
      to[v] = Full ? multiply_add(values_of_step, b, to[v])
                   : multiply_add_some<T>(values_of_step, b, to[v], mask >> v * width<T>);
    }
  };
  slice_sums<T> other = {};
  int64_t step = 0;
  for (; step + 2 <= slice.num_diagonals; step += 2) {
    diagonal(sum, step);
    diagonal(other, step + 1);
  }
  if (step < slice.num_diagonals) diagonal(sum, step);
  for (step = 0; step + 2 <= slice.num_gathers; step += 2) {
    gather_step(sum, step);
    gather_step(other, step + 1);
  }
  if (step < slice.num_gathers) gather_step(other, step);
#pragma GCC unroll 4
  for (int v = 0; v < slice_vectors<T>; ++v) sum[v] += other[v];
}

/// The row of A that a lane is.
template <class T>
[[gnu::always_inline]] inline int64_t row_of_lane(const row_slices_operand<T>& a, const row_slice& slice, int lane) {
  return slice.rows == slice_rows::listed ? a.listed[slice.first_row + lane] : slice.first_row + lane;
}

/// C[rows[lane]] = alpha * sum + beta * Z where every lane is a row and C is a plain array. On graphs, whose rows have
/// few entries, a branch and an address computation for each lane cost as much as the product.
template <class T>
[[gnu::always_inline]] inline void finish_listed(const std::int32_t* rows, const target<T, std::int32_t>& out,
                                                 const slice_sums<T>& sum) {
#pragma GCC unroll 4
  for (int v = 0; v < slice_vectors<T>; ++v, rows += width<T>) {
    vec<T> result = out.alpha * sum[v];
    if (out.beta != T{0}) result = multiply_add(out.beta, gather_pairs(out.addend_of(out.c), rows), result);
    alignas(64) T lane[width<T>];
    store(lane, result);
#pragma GCC unroll 16
    for (int i = 0; i < width<T>; ++i) out.c[rows[i]] = lane[i];
  }
}

/// C[rows of the slice] = alpha * sum + beta * Z, one column.
template <class T>
[[gnu::always_inline]] inline void finish_slice(const row_slices_operand<T>& a, const row_slice& slice,
                                                const target<T, std::int32_t>& out, slice_sums<T>& sum) {
  constexpr int lanes = slice_lanes<T>;
  constexpr unsigned all = (1U << lanes) - 1;
  if (slice.rows == slice_rows::one) {
    vec<T> one[width<T>] = {sum[0]};
#pragma GCC unroll 4
    for (int v = 1; v < slice_vectors<T>; ++v) one[0] += sum[v];
    return finish_column(out, sums_of_lanes<T>(one), slice.first_row, 1);
  }
  if (slice.rows == slice_rows::neighbours && slice.present == all && out.row_stride == 1 && !out.row_of) {
    return finish_row<false>(out, out.at(slice.first_row, 0), sum, part<T>(0));
  }
  if (slice.rows == slice_rows::listed && slice.present == all && out.row_stride == 1 && !out.row_of) {
    return finish_listed(a.listed + slice.first_row, out, sum);
  }
  alignas(64) T sums[lanes];
#pragma GCC unroll 4
  for (int v = 0; v < slice_vectors<T>; ++v) store(sums + v * width<T>, sum[v]);
  for (int lane = 0; lane < lanes; ++lane) {
    if ((slice.present >> lane & 1U) == 0) continue;
    T& c = *out.at(row_of_lane(a, slice, lane), 0);
    const T result = out.alpha * sums[lane];
    c = out.beta != T{0} ? multiply_add(out.beta, *out.addend_of(&c), result) : result;
  }
}

/// What is added to the products: beta * Z, as in product_args.
template <class T>
struct addend_factor {
  T beta;
  int64_t z_offset;
};

/// Some rows as CSR, no more than a slice has.
template <class T>
struct unpacked_rows {
  static constexpr int64_t capacity = slice_lanes<T> * forms::max_shared_row;
  T values[capacity];
  std::int32_t columns[capacity];
  std::int32_t row_ptr[slice_lanes<T> + 1];
  std::int32_t rows[slice_lanes<T>];
  int64_t num_rows = 0, num_entries = 0;

  void clear() { num_rows = num_entries = 0; }
  void append(T value, int64_t column) {
    values[num_entries] = value;
    columns[num_entries++] = static_cast<std::int32_t>(column);
  }
  void end_row(int64_t row) {
    rows[num_rows] = static_cast<std::int32_t>(row);
    row_ptr[0] = 0;
    row_ptr[++num_rows] = static_cast<std::int32_t>(num_entries);
  }
};

/// C[the rows] = alpha * rows * B + by.beta * Z, the columns [from, to).
template <class T>
void multiply_rows(const row_slices_args<T>& args, const unpacked_rows<T>& some, addend_factor<T> by, int64_t from,
                   int64_t to) {
  std::int32_t row_of[slice_lanes<T>];
  for (int64_t i = 0; i < some.num_rows; ++i) row_of[i] = args.a.row_of ? args.a.row_of[some.rows[i]] : some.rows[i];
  const bcsc_operand<T, std::int32_t> a{some.num_rows, args.a.cols,  1,       some.num_rows, nullptr,      some.row_ptr,
                                        some.row_ptr,  some.columns, nullptr, {nullptr, 0},  {nullptr, 0}, some.values,
                                        row_of};
  const job<T, std::int32_t> work({a,
                                   args.b,
                                   args.ldb,
                                   args.n,
                                   args.c,
                                   args.c_row_stride,
                                   args.c_col_stride,
                                   args.alpha,
                                   by.beta,
                                   args.alpha_at,
                                   nullptr,
                                   1,
                                   args.n,
                                   {},
                                   {},
                                   by.z_offset});
  work.out.col_stride == 1 ? share_of_contiguous(work, 0, some.num_rows, from, to)
                           : share_in_registers<1>(work, 0, some.num_rows, from, to);
}

/// The same for all of a slice.
template <class T>
void multiply_unpacked(const row_slices_args<T>& args, const row_slice& slice, addend_factor<T> by, int64_t from,
                       int64_t to) {
  constexpr int lanes = slice_lanes<T>;
  const T* values = args.a.values + slice.first_step * lanes;
  const std::uint16_t* masks = args.a.masks + slice.first_step;
  const std::int32_t* columns = args.a.columns + slice.first_column;
  const int64_t num_steps = slice.num_diagonals + slice.num_gathers;
  const auto column_at = [&](int64_t step, int lane) {
    return step < slice.num_diagonals
               ? int64_t{columns[step]} + lane
               : int64_t{columns[slice.num_diagonals + (step - slice.num_diagonals) * lanes + lane]};
  };
  unpacked_rows<T> some;
  const auto append = [&](int64_t step, int lane) {
    if ((masks[step] >> lane & 1U) != 0) some.append(values[step * lanes + lane], column_at(step, lane));
  };
  if (slice.rows != slice_rows::one) {
    for (int lane = 0; lane < lanes; ++lane) {
      if ((slice.present >> lane & 1U) == 0) continue;
      for (int64_t step = 0; step < num_steps; ++step) append(step, lane);
      some.end_row(row_of_lane(args.a, slice, lane));
    }
    return multiply_rows(args, some, by, from, to);
  }
  for (int64_t step = 0; step < num_steps;) {
    some.clear();
    for (; step < num_steps && some.num_entries + lanes <= some.capacity; ++step) {
      for (int lane = 0; lane < lanes; ++lane) append(step, lane);
    }
    some.end_row(slice.first_row);
    multiply_rows(args, some, by, from, to);
    by = {T{1}, 0};  // what follows is added
  }
}

/// Slices [first, end) times one column.
template <class Traits, class T>
[[gnu::noinline]] void share_of_slices(const row_slices_args<T>& args, const target<T, std::int32_t>& out,
                                       int64_t first, int64_t end) {
  for (int64_t s = first; s < end; ++s) {
    const row_slice& slice = args.a.slices[s];
    slice_sums<T> sum = {};
    slice.full ? multiply_slice<Traits, true>(args.a, slice, args.b, args.ldb, sum)
               : multiply_slice<Traits, false>(args.a, slice, args.b, args.ldb, sum);
    finish_slice(args.a, slice, out, sum);
  }
}

template <class T>
using slices_fn = void (*)(const row_slices_args<T>&, const target<T, std::int32_t>&, int64_t first, int64_t end);

/// Only a streamed A is prefetched: where a cache holds it that costs more than it saves.
template <gathering How, class T>
slices_fn<T> share_by_size(const row_slices_args<T>& args) {
  const row_slice& end = args.a.slices[args.a.num_slices];
  const int64_t bytes = end.first_step * slice_lanes<T> * static_cast<int64_t>(sizeof(T)) + 4 * end.first_column;
  return bytes >= forms::streamed_bytes ? &share_of_slices<slice_traits<false, How, true>, T>
                                        : &share_of_slices<slice_traits<false, How, false>, T>;
}
template <class T>
slices_fn<T> share_of_one_column(const row_slices_args<T>& args, gathering how) {
  if (args.ldb != 1) return &share_of_slices<slice_traits<true, gathering::one_by_one, false>, T>;
  return how == gathering::at_once ? share_by_size<gathering::at_once>(args)
                                   : share_by_size<gathering::one_by_one>(args);
}

template <class T>
void run_slices(const row_slices_args<T>& args, const target<T, std::int32_t>& out, int64_t n_tile, gathering how,
                const team& who) {
  const int64_t num_slices = args.a.num_slices;
  const auto work_before = [slices = args.a.slices](int64_t s) {
    constexpr int64_t of_a_slice = 4, of_a_step = 2;  // in entries that are gathered
    return of_a_step * slices[s].first_step + slices[s].first_column + of_a_slice * s;
  };
  const int64_t total = work_before(num_slices);
  const int64_t pieces = num_pieces(total, args.n, who.threads);
  const auto slice_at = [=](int64_t piece) {
    return first_with(num_slices, total / pieces * piece + total % pieces * piece / pieces, work_before);
  };
  const slices_fn<T> one_column = share_of_one_column(args, how);
  run_pieces(pieces, who, [=](int64_t piece) {
    const int64_t first = slice_at(piece), end = slice_at(piece + 1);
    if (args.n == 1) return one_column(args, out, first, end);
    for (int64_t from = 0; from < args.n; from += n_tile) {
      const int64_t to = least(from + n_tile, args.n);
      for (int64_t s = first; s < end; ++s)
        multiply_unpacked(args, args.a.slices[s], {out.beta, out.z_offset}, from, to);
    }
  });
}

}  // namespace
}  // namespace bcsc::kernels::cpu::BCSC_ISA
