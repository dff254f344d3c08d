#include <algorithm>

#include "bcsc/elements.hpp"
#include "converters/formats/device_entry_steps.hpp"
#include "converters/formats/device_selection.cuh"

/// Entries into dense blocks and out of them, and from type to type.
namespace bcsc::converters::steps {

// --- Dense blocks ---------------------------------------------------------------------------------------------------

namespace blocks {

/// Each entry looks its block up in the block row.
template <class X, class I>
struct fill_body {
  divider row_block, col_block;
  const I *brow_ptr, *bcol_ind;
  std::int64_t ell_width;
  const I *row_of, *col_of;
  const X* values;
  X* out;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t row = row_of[k], col = col_of[k];
    const std::int64_t brow = row / row_block, bcol = col / col_block;
    const std::int64_t first = brow_ptr[brow];
    const std::int64_t slot = count_up_to(bcol_ind + first, brow_ptr[brow + 1] - first, bcol) - 1;
    const std::int64_t height = row_block.divisor(), width = col_block.divisor();
    const std::int64_t row_inside = row - brow * height, col_inside = col - bcol * width;
    out[ell_width > 0 ? row * ell_width + slot * width + col_inside
                      : ((first + slot) * height + row_inside) * width + col_inside] = values[k];
  }
};

template <class I>
struct longest_body {
  const I* ptr;
  unsigned long long* longest;
  __device__ void operator()(std::int64_t i) const {
    const auto length = static_cast<unsigned long long>(ptr[i + 1] - ptr[i]);
    if (length > *longest) atomicMax(longest, length);  // most threads only look
  }
};

template <class I>
struct pad_body {
  divider width;
  const I *ptr, *ind;
  I* out;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t i = k / width, from = ptr[i] + (k - i * width.divisor());
    out[k] = from < ptr[i + 1] ? ind[from] : I{-1};
  }
};

template <class X, class I>
struct scatter_body {
  const I *row_of, *col_of;
  const X* values;
  std::int64_t row_stride, col_stride;
  X* out;
  __device__ void operator()(std::int64_t k) const { out[row_of[k] * row_stride + col_of[k] * col_stride] = values[k]; }
};

}  // namespace blocks

template <index I>
void fill_blocks(const block_places<I>& places, std::int64_t n, const I* row_of, const I* col_of, const void* values,
                 int bytes, void* out) {
  with_size(bytes, [&]<class X>(X) {
    for_each(
        n,
        blocks::fill_body<X, I>{divider(places.row_block), divider(places.col_block), places.brow_ptr, places.bcol_ind,
                                places.ell_width, row_of, col_of, static_cast<const X*>(values), static_cast<X*>(out)},
        "filling of blocks");
  });
}

template <index I>
std::int64_t longest_segment(int device, const I* ptr, std::int64_t num_segments) {
  const device_number longest(device, 0);
  for_each(num_segments, blocks::longest_body<I>{ptr, longest.data()}, "longest block row");
  return longest.get();
}

template <index I>
void pad_segments(const I* ptr, std::int64_t num_segments, const I* ind, std::int64_t width, I* out) {
  if (width == 0) return;
  for_each(num_segments * width, blocks::pad_body<I>{divider(width), ptr, ind, out}, "padding of block rows");
}

template <index I>
void fill_dense(std::int64_t n, const I* row_of, const I* col_of, const void* values, int bytes,
                std::int64_t row_stride, std::int64_t col_stride, void* out) {
  with_size(bytes, [&]<class X>(X) {
    for_each(n,
             blocks::scatter_body<X, I>{row_of, col_of, static_cast<const X*>(values), row_stride, col_stride,
                                        static_cast<X*>(out)},
             "filling of a dense matrix");
  });
}

// --- The non-zeros among stored values ------------------------------------------------------------------------------

namespace stored {

/// Where the t-th stored value stands.
struct place {
  std::int64_t line, index;  ///< in the matrix
  std::int64_t at;           ///< in the array of values
  bool inside;               ///< false: padding
};

struct find_dense {
  const void* values;
  divider length;
  std::int64_t ld;

  explicit find_dense(const dense_lines& a) : values(a.values), length(std::max<std::int64_t>(a.length, 1)), ld(a.ld) {}
  static std::int64_t count(const dense_lines& a) { return a.lines * a.length; }
  __device__ place operator()(std::int64_t t) const {
    const std::int64_t line = t / length, index = t - line * length.divisor();
    return {line, index, line * ld + index, true};
  }
};

/// Numbered by block row, row, block: in the order that CSR wants.
template <class I>
struct find_bsr {
  const void* values;
  std::int64_t rows, cols;
  divider block_size, row_block, col_block;
  const I *brow_ptr, *bcol_ind, *brow_of;

  explicit find_bsr(const bsr_lines<I>& a)
      : values(a.values),
        rows(a.rows),
        cols(a.cols),
        block_size(a.row_block * a.col_block),
        row_block(a.row_block),
        col_block(a.col_block),
        brow_ptr(a.brow_ptr),
        bcol_ind(a.bcol_ind),
        brow_of(a.brow_of) {}
  static std::int64_t count(const bsr_lines<I>& a) { return a.num_blocks * a.row_block * a.col_block; }
  __device__ place operator()(std::int64_t t) const {
    const std::int64_t brow = brow_of[t / block_size];  // a block row has block_size values per block
    const std::int64_t first = brow_ptr[brow], num_blocks = brow_ptr[brow + 1] - first;
    const std::int64_t height = row_block.divisor(), width = col_block.divisor(), row_length = num_blocks * width;
    const std::int64_t local = t - first * block_size.divisor();
    const std::int64_t row_inside = quotient(local, row_length), in_row = local - row_inside * row_length;
    const std::int64_t slot = in_row / col_block, col_inside = in_row - slot * width;
    const std::int64_t row = brow * height + row_inside, col = bcol_ind[first + slot] * width + col_inside;
    return {row, col, ((first + slot) * height + row_inside) * width + col_inside, row < rows && col < cols};
  }
  /// The divisor differs from thread to thread; most pairs fit a 32-bit division, which is far shorter.
  static __device__ std::int64_t quotient(std::int64_t a, std::int64_t b) {
    if (((a | b) >> 32) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
    return a / b;
  }
};

template <class I>
struct find_ell {
  const void* values;
  std::int64_t cols, blocks_per_row;
  divider width, block;
  const I* bcol_ind;

  explicit find_ell(const ell_lines<I>& a)
      : values(a.values),
        cols(a.cols),
        blocks_per_row(a.blocks_per_row),
        width(std::max<std::int64_t>(a.blocks_per_row * a.block, 1)),
        block(a.block),
        bcol_ind(a.bcol_ind) {}
  static std::int64_t count(const ell_lines<I>& a) { return a.rows * (a.blocks_per_row * a.block); }
  __device__ place operator()(std::int64_t t) const {
    const std::int64_t row = t / width, in_row = t - row * width.divisor();
    const std::int64_t slot = in_row / block, bcol = bcol_ind[row / block * blocks_per_row + slot];
    const std::int64_t col = bcol * block.divisor() + (in_row - slot * block.divisor());
    return {row, col, t, bcol >= 0 && col < cols};
  }
};

find_dense finder_of(const dense_lines& a) { return find_dense(a); }
template <class I>
find_bsr<I> finder_of(const bsr_lines<I>& a) {
  return find_bsr<I>(a);
}
template <class I>
find_ell<I> finder_of(const ell_lines<I>& a) {
  return find_ell<I>(a);
}

/// Not 0, whatever the sign: in all types, every bit but the sign decides.
template <class X, class Finder>
struct is_nonzero {
  Finder find;
  __device__ bool operator()(std::int64_t t) const {
    const place p = find(t);
    return static_cast<X>(static_cast<const X*>(find.values)[p.at] << 1) != 0 && p.inside;
  }
};

template <class X, class Finder, class I>
struct write_nonzero {
  Finder find;
  I *line_of, *index_of;
  X* values;
  __device__ void operator()(std::int64_t t, std::int64_t rank) const {
    const place p = find(t);
    line_of[rank] = static_cast<I>(p.line);
    index_of[rank] = static_cast<I>(p.index);
    values[rank] = static_cast<const X*>(find.values)[p.at];
  }
};

}  // namespace stored

template <class Lines>
selection find_nonzeros(int device, const Lines& lines, int bytes) {
  auto find = stored::finder_of(lines);
  selection found;
  with_size(bytes, [&]<class X>(X) {
    found = select(device, find.count(lines), stored::is_nonzero<X, decltype(find)>{find}, "count of non-zeros");
  });
  return found;
}

template <class Lines, index I>
void collect_nonzeros(const Lines& lines, int bytes, const selection& found, I* line_of, I* index_of, void* values) {
  auto find = stored::finder_of(lines);
  with_size(bytes, [&]<class X>(X) {
    for_selected(found, stored::is_nonzero<X, decltype(find)>{find},
                 stored::write_nonzero<X, decltype(find), I>{find, line_of, index_of, static_cast<X*>(values)},
                 "non-zeros");
  });
}

// --- Other types ----------------------------------------------------------------------------------------------------

namespace casts {

template <class From, class To>
struct index_body {
  const From* from;
  To* to;
  __device__ void operator()(std::int64_t k) const { to[k] = static_cast<To>(from[k]); }
};

/// As the host converts: a NaN keeps its sign and the upper bits of its payload, which the GPU's own conversions do not
/// promise.
__device__ inline float narrowed(double x) {
  if (x == x) return static_cast<float>(x);
  const auto bits = static_cast<std::uint64_t>(__double_as_longlong(x));
  return __uint_as_float(static_cast<std::uint32_t>(bits >> 32 & 0x80000000u) | 0x7fc00000u |
                         static_cast<std::uint32_t>(bits >> 29 & 0x3fffffu));
}
__device__ inline double widened(float x) {
  if (x == x) return static_cast<double>(x);
  const std::uint64_t bits = __float_as_uint(x);
  return __longlong_as_double(
      static_cast<long long>((bits & 0x80000000u) << 32 | 0x7ff8000000000000u | (bits & 0x3fffffu) << 29));
}

template <class To, class From>
__device__ To converted(From x) {
  if constexpr (std::same_as<To, double>) {
    return widened(static_cast<float>(x));
  } else if constexpr (std::same_as<From, double>) {
    if constexpr (std::same_as<To, float>) {
      return narrowed(x);
    } else {
      return x == x ? static_cast<To>(x) : static_cast<To>(narrowed(x));
    }
  } else {
    return static_cast<To>(static_cast<float>(x));
  }
}

template <class From, class To>
struct value_body {
  const From* from;
  To* to;
  __device__ void operator()(std::int64_t k) const { to[k] = converted<To>(from[k]); }
};

template <class To>
struct one_body {
  To* to;
  __device__ void operator()(std::int64_t k) const { to[k] = To(1.0f); }
};

/// body(x) with an x of the type, unless that is a pattern.
template <class Body>
void with_number(value_type type, Body body) {
  switch (type) {
    case value_type::fp32:
      return body(float{});
    case value_type::fp64:
      return body(double{});
    case value_type::fp16:
      return body(half{});
    case value_type::bf16:
      return body(bfloat16{});
    case value_type::pattern:
      return;
  }
}

}  // namespace casts

template <index From, index To>
void convert_indices(const From* from, std::int64_t n, To* to) {
  for_each(n, casts::index_body<From, To>{from, to}, "conversion of indices");
}

void convert_values(value_type from_type, const void* from, value_type to_type, void* to, std::int64_t n) {
  casts::with_number(to_type, [&]<class To>(To) {
    To* const out = static_cast<To*>(to);
    if (from_type == value_type::pattern) return for_each(n, casts::one_body<To>{out}, "values of a pattern");
    casts::with_number(from_type, [&]<class From>(From) {
      const From* const in = static_cast<const From*>(from);
      if constexpr (std::same_as<From, To>) {
        if (n > 0) core::gpu::copy_on_device(out, in, static_cast<std::size_t>(n) * sizeof(To));
      } else {
        for_each(n, casts::value_body<From, To>{in, out}, "conversion of values");
      }
    });
  });
}

#define BCSC_INSTANTIATE(I)                                                                                        \
  template void fill_blocks(const block_places<I>&, std::int64_t, const I*, const I*, const void*, int, void*);    \
  template std::int64_t longest_segment(int, const I*, std::int64_t);                                              \
  template void pad_segments(const I*, std::int64_t, const I*, std::int64_t, I*);                                  \
  template void fill_dense(std::int64_t, const I*, const I*, const void*, int, std::int64_t, std::int64_t, void*); \
  template selection find_nonzeros(int, const bsr_lines<I>&, int);                                                 \
  template selection find_nonzeros(int, const ell_lines<I>&, int);                                                 \
  template void collect_nonzeros(const bsr_lines<I>&, int, const selection&, I*, I*, void*);                       \
  template void collect_nonzeros(const ell_lines<I>&, int, const selection&, I*, I*, void*);                       \
  template void collect_nonzeros(const dense_lines&, int, const selection&, I*, I*, void*);                        \
  template void convert_indices(const I*, std::int64_t, std::int32_t*);                                            \
  template void convert_indices(const I*, std::int64_t, std::int64_t*);
BCSC_INSTANTIATE(std::int32_t)
BCSC_INSTANTIATE(std::int64_t)
#undef BCSC_INSTANTIATE
template selection find_nonzeros(int, const dense_lines&, int);

}  // namespace bcsc::converters::steps
