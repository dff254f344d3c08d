#pragma once

#include "bcsc/elements.hpp"
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma_instructions.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/mma_tiles/operand.hpp"
#include "kernels/tables/mma.hpp"

/// SpMM on tensor cores, A in MMA tiles (kernels/forms/mma_tiles/layout.hpp).
///
/// - Transposed: the 16 rows of an m16n8k8 product are columns of B, its 8 columns are rows of a tile of A. So the
///   padding zeros multiplied are those of 8 rows, not of 16, and all parts of a row block share the fetched rows of B.
///   FP64 has the same shape and the same code.
/// - Ownership: a warp owns a row block and `slab` columns, its sums in registers. There is no barrier unless warps_k
///   warps share the groups of one row block; they add up through shared memory, in order. The warps of a thread block
///   take neighbouring row blocks (same rows of B in L1) or slabs (same tiles of A).
/// - Lanes: with g = lane / 4 and t = lane % 4, a lane owns 16-byte vector g of each piece of 8 * 16 bytes of a row of
///   B, for the rows of B that columns 2t and 2t + 1 of the group name. A warp's load takes 128 bytes of each of four
///   rows, and C is written in the same vectors, to rows 2t and 2t + 1 of a part. Which column of B is which row of a
///   product is free to choose, as is which column of the group is which k: tiles are plain 8 x 8, row-major. Where B
///   or ldb is not aligned to 16 bytes the same columns take more loads; so do those of a column-major B read in place.
/// - Loads: column numbers and the list of tiles one group ahead, tiles and rows of B `ahead` groups ahead. Either
///   straight to registers, each piece as soon as the one before it has been split, so that one group's registers hold
///   the next group's data in flight; or through shared memory (`staged`), where each lane reads only what it copied
///   itself: no swizzle, no bank conflict, no barrier.
/// - Columns past n: a slab that is not full skips whole pieces; within a piece, lanes read other values of the same
///   row of B instead, and their results are not stored.
/// - 3xTF32: x = high + low, high = x rounded to 11 bits of mantissa, low the exact rest, of which the tensor core
///   takes the first 11 bits of at most 12: |x - high - low| <= 2^-23 |x|. A product is low * high + high * low +
///   high * high, summed from zero over 8 columns and then added in fp32, since the tensor core's own sums are
///   truncated and would lose more over many groups. Infinity - infinity in the low part makes a NaN; so does |x|
///   >= 3.4027e38 (7f7ff000), whose high part is infinite.
/// - TF32: both factors rounded, one product, summed by the tensor core.
/// - fp16, bf16: products are exact in fp32; a group's are summed from zero, then added as for 3xTF32. A piece is 8
///   columns of 16 bytes, or of 8 bytes where the slab has 32 columns, so that no lane is idle. Words of two columns of
///   two rows of B become words of one column and two k by two byte permutations.
/// - Non-finite values: the zeros of a tile are multiplied too, so one NaN or infinity of B contaminates its column in
///   all rows, and what is contaminated never becomes finite again. Each warp checks its sums before it writes C; if
///   one is not finite it recomputes its row block on the plain cores from the stored entries, which the tiles' masks
///   tell from the zeros between them.
/// - Bytes, for each slab: 64 values a tile, 32 bytes of column numbers and 8 more a group, 8 * slab values of B a
///   group, C once (twice if beta is not 0). Row blocks in several pieces write 8 * parts * slab values a piece and
///   read them once more.
/// - Preconditions: those of product_args and mma_tiles_operand. Deterministic: every sum has one order.
namespace bcsc::kernels::cuda {

/// The numbers of one instance, and what follows from them.
template <class T, int Parts, int Slab, int WarpsM, int WarpsN, int WarpsK, int Ahead, int Staged, int Products>
struct mma_shape {
  static constexpr int parts = Parts;
  static constexpr int slab = Slab;
  static constexpr int ahead = Ahead;
  static constexpr int products = Products;
  static constexpr auto keeps = Products == 1 && sizeof(T) == 4 ? tables::accuracy::tf32 : tables::accuracy::full;
  static constexpr tables::mma_config config{value_type_of<T>, keeps,  Parts, Slab,       WarpsM,
                                             WarpsN,           WarpsK, Ahead, Staged != 0};

  static constexpr int vector = config.columns_of_lane();  // neighbouring ones
  static constexpr int words = words_for<T, vector>;
  static constexpr int tile_words = words_for<T, 2>;
  static constexpr int piece = 8 * vector;  // columns of a piece
  static constexpr int pieces = Slab / piece;
  static constexpr int steps = vector / 2;  // products of a piece and a tile
  static constexpr int stages = Ahead + 1;
  static constexpr int stage_values = 8 * Slab + forms::mma_tile_values * Parts;

  using word = word_of<T>;
  using sum = scalar_of<T>;
  using sums = sum[Parts][pieces][steps][4];
};

// --- Products -------------------------------------------------------------------------------------------------------

/// The fragments of a piece of two rows of B (left, one for each step) and of a tile of A (right), and their product.
/// splits: left has registers of its own; otherwise it uses those of the piece, which may only be reloaded after it.
template <class T, int Products, int Steps>
struct mma_product;

/// Element i of the left fragment of a step.
template <class T, int Vector>
__device__ T left_element(const T (&b)[2][Vector], int step, int i) {
  return b[i / 2][2 * step + i % 2];
}

__device__ inline unsigned high_bits(float x) { return (__float_as_uint(x) + 0x1000u) & 0xffffe000u; }
__device__ inline unsigned low_bits(float x, unsigned high) { return __float_as_uint(x - __uint_as_float(high)); }

template <>
struct mma_product<float, 3, 2> {
  static constexpr bool splits = true;
  struct left {
    unsigned high[2][4], low[2][4];
  };
  struct right {
    unsigned high[2], low[2];
  };
  static __device__ left of_b(const float (&b)[2][4]) {
    left to;
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float x = left_element(b, step, i);
        to.high[step][i] = high_bits(x);
        to.low[step][i] = low_bits(x, to.high[step][i]);
      }
    }
    return to;
  }
  static __device__ right of_a(const float (&a)[2]) {
    right to;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      to.high[i] = high_bits(a[i]);
      to.low[i] = low_bits(a[i], to.high[i]);
    }
    return to;
  }
  static __device__ void add(float (&sums)[2][4], const left& b, const right& a) {
    float group[2][4] = {};
#pragma unroll
    for (int step = 0; step < 2; ++step) mma_m16n8k8_tf32(group[step], b.low[step], a.high);
#pragma unroll
    for (int step = 0; step < 2; ++step) mma_m16n8k8_tf32(group[step], b.high[step], a.low);
#pragma unroll
    for (int step = 0; step < 2; ++step) mma_m16n8k8_tf32(group[step], b.high[step], a.high);
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[step][i] += group[step][i];
    }
  }
};

/// So that the tensor core's truncation rounds to nearest. A NaN with all bits set would become zero by the addition.
__device__ inline unsigned rounded_bits(float x) { return __float_as_uint(x) + (x == x ? 0x1000u : 0u); }

template <>
struct mma_product<float, 1, 2> {
  static constexpr bool splits = true;
  struct left {
    unsigned value[2][4];
  };
  struct right {
    unsigned value[2];
  };
  static __device__ left of_b(const float (&b)[2][4]) {
    left to;
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) to.value[step][i] = rounded_bits(left_element(b, step, i));
    }
    return to;
  }
  static __device__ right of_a(const float (&a)[2]) { return {{rounded_bits(a[0]), rounded_bits(a[1])}}; }
  static __device__ void add(float (&sums)[2][4], const left& b, const right& a) {
#pragma unroll
    for (int step = 0; step < 2; ++step) mma_m16n8k8_tf32(sums[step], b.value[step], a.value);
  }
};

template <>
struct mma_product<double, 1, 1> {
  static constexpr bool splits = false;
  struct left {
    double value[4];
  };
  struct right {
    double value[2];
  };
  static __device__ left of_b(const double (&b)[2][2]) { return {{b[0][0], b[0][1], b[1][0], b[1][1]}}; }
  static __device__ right of_a(const double (&a)[2]) { return {{a[0], a[1]}}; }
  static __device__ void add(double (&sums)[1][4], const left& b, const right& a) {
    mma_m16n8k8_f64(sums[0], b.value, a.value);
  }
};

__device__ inline void multiply_narrow(half, float (&c)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
  mma_m16n8k8_f16(c, a, b);
}
__device__ inline void multiply_narrow(bfloat16, float (&c)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
  mma_m16n8k8_bf16(c, a, b);
}

template <narrow_number T, int Steps>
struct mma_product<T, 1, Steps> {
  static constexpr bool splits = true;
  struct left {
    unsigned value[Steps][2];
  };
  struct right {
    unsigned value[1];
  };
  static __device__ left of_b(const unsigned (&b)[2][Steps]) {
    left to;
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
      to.value[step][0] = __byte_perm(b[0][step], b[1][step], 0x5410);
      to.value[step][1] = __byte_perm(b[0][step], b[1][step], 0x7632);
    }
    return to;
  }
  static __device__ right of_a(const unsigned (&a)[1]) { return {{a[0]}}; }
  static __device__ void add(float (&sums)[Steps][4], const left& b, const right& a) {
    float group[Steps][4] = {};
#pragma unroll
    for (int step = 0; step < Steps; ++step) multiply_narrow(T{}, group[step], b.value[step], a.value);
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[step][i] += group[step][i];
    }
  }
};

/// The one that an instance needs.
template <class T, class Shape>
using product_of = mma_product<T, Shape::products, Shape::steps>;

// --- Loads ----------------------------------------------------------------------------------------------------------

__device__ inline bool has_part(unsigned parts, int part) { return (parts >> part & 1u) != 0; }

/// `from` advanced by `count` times `bytes`: one 32-bit multiplication added to the address.
template <class P>
__device__ const P* advance(const P* from, int count, int bytes) {
  return reinterpret_cast<const P*>(reinterpret_cast<const char*>(from) +
                                    std::uint64_t{static_cast<unsigned>(count)} * static_cast<unsigned>(bytes));
}

/// Which item and which columns a warp has.
struct mma_place {
  std::int64_t item, first_col;

  template <class T>
  __device__ bool lies_in(const mma_tiles_args<T>& args) const {
    return item < args.a.num_items && first_col < args.n;
  }
  template <int Slab, class T>
  __device__ int num_cols(const mma_tiles_args<T>& args) const {
    return args.n - first_col < Slab ? static_cast<int>(args.n - first_col) : Slab;
  }
};

/// A group of columns, as this lane needs it.
struct mma_group {
  int cols[2];  ///< columns 2t and 2t + 1
  int first_tile;
  unsigned parts;

  __device__ int tile(int part) const { return first_tile + __popc(parts & ((1u << part) - 1)); }
};

/// In place of a width: a column-major B, read where it lies, one value at a time.
inline constexpr int strided = 0;

/// Where a warp reads its operands. Loaded: values of B per load, as its address and ldb allow (at most n), or
/// `strided`. Whole: the slab is full.
template <class T, class Shape, int Loaded, bool Whole>
struct mma_source {
  static constexpr int width = Loaded == strided ? 1 : Loaded;  ///< values of a load
  static constexpr int vector = Shape::vector;
  static constexpr int loads = vector / width;  ///< for this lane's columns of a piece
  using word = typename Shape::word;

  const T* b;                   ///< row 0, the first of this lane's columns
  const int2* cols;             ///< of group 0
  const int2* groups;           ///< forms::mma_tiles_group
  const T* tiles;               ///< this lane's two values of tile 0
  int row_bytes;                ///< from one row of B to the next
  mutable int col_bytes;        ///< and from one column to the next, if strided
  int num_cols;                 ///< of the slab
  int own_col;                  ///< the first of this lane's columns in the slab
  mutable int last, last_load;  ///< the slab's last column and its last whole load, counted from own_col

  __device__ mma_source(const mma_tiles_args<T>& args, std::int64_t first_col, int num_cols)
      : num_cols(num_cols), own_col(static_cast<int>(threadIdx.x) % 32 / 4 * vector) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    b = of_member(args.b, args.batch.b) + (first_col + own_col) * args.b_col_stride;
    cols = reinterpret_cast<const int2*>(args.a.col_ind) + lane % 4;
    groups = reinterpret_cast<const int2*>(args.a.groups);
    tiles = args.a.tiles + 2 * lane;
    row_bytes = static_cast<int>(args.ldb) * static_cast<int>(sizeof(T));
    col_bytes = static_cast<int>(args.b_col_stride) * static_cast<int>(sizeof(T));
    last = num_cols - 1 - own_col;
    last_load = (num_cols / width - 1) * width - own_col;
  }

  __device__ mma_group group(int index) const {
    const int2 col = __ldg(advance(cols, index, forms::mma_tile_columns * 4));
    if constexpr (Shape::parts == 1) {
      return {{col.x, col.y}, index, 1u};
    } else {
      const int2 tile = __ldg(advance(groups, index, 8));
      return {{col.x, col.y}, tile.x, static_cast<unsigned>(tile.y)};
    }
  }

  /// This lane's two values of a part's tile; of a part without one those of the tile after, or of the last in memory.
  __device__ const T* tile(const mma_group& group, int part) const {
    return advance(tiles, group.tile(part), forms::mma_tile_values * static_cast<int>(sizeof(T)));
  }

  __device__ const T* row(int col) const { return advance(b, col, row_bytes); }

  __device__ bool has_piece(int p) const { return Whole || p * Shape::piece < num_cols; }

  /// Column n, counted from own_col, of a row of B.
  __device__ const T* column(const T* row, int n) const {
    if constexpr (Loaded != strided) return row + n;
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(row) + std::int64_t{n} * col_bytes);
  }

  /// What follows from `last` or `col_bytes` is computed anew for each group: kept, it would take a register for each
  /// load.
  __device__ void forget_offsets() const {
    if constexpr (!Whole) asm volatile("" : "+r"(last), "+r"(last_load));
    if constexpr (Loaded == strided) asm volatile("" : "+r"(col_bytes));
  }

  /// This lane's values of piece p of a row of B. Those past the slab are some others of the row.
  __device__ void load(word (&to)[Shape::words], const T* row, int p) const {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const int n = p * Shape::piece + i * width;
      if constexpr (width < values_of_word<T>) {
        const unsigned bits = load_global(&column(row, Whole || n < last_load ? n : last_load)->bits);
        to[i / 2] = i % 2 == 0 ? bits : to[i / 2] | bits << 16;
      } else {
        constexpr int words = words_for<T, width>;
        word some[words];
        load_values<width>(some, 0, column(row, Whole || n < last_load ? n : last_load));
        if (!Whole && width > 1 && n > last_load && n <= last) {  // the slab ends within these values
#pragma unroll
          for (int v = 0; v < width; ++v) {
            if (n + v > last) continue;
            if constexpr (narrow_number<T>) {
              put_value(some, v, row + n + v);
            } else {
              load_vector<1>(some + v, row + n + v);
            }
          }
        }
#pragma unroll
        for (int v = 0; v < words; ++v) to[i * words + v] = some[v];
      }
    }
  }

  /// The same to shared memory, with zeros for those past the slab.
  __device__ void copy(T* to_shared, const T* row, int p) const {
    constexpr int size = static_cast<int>(sizeof(T));
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const int n = p * Shape::piece + i * width;
      const int left = Whole ? width : last + 1 - n;
      const int present = left < 0 ? 0 : left < width ? left : width;
      if constexpr (width * size < 4) {  // nothing so small is copied without a register; nobody else reads it
        to_shared[i].bits = present > 0 ? load_global(&row[n].bits) : std::uint16_t{0};
      } else {
        copy_async<width * size>(to_shared + i * width, present > 0 ? row + n : b - own_col, present * size);
      }
    }
  }
};

// --- The groups of one row block ------------------------------------------------------------------------------------

/// Adds a piece of B times the group's tiles to the sums.
template <class Shape, class Product>
__device__ void add_piece(typename Shape::sums& sums, int p, const typename Product::left& b, unsigned parts,
                          const typename Product::right (&a)[Shape::parts]) {
#pragma unroll
  for (int part = 0; part < Shape::parts; ++part) {
    if (Shape::parts == 1 || has_part(parts, part)) Product::add(sums[part][p], b, a[part]);
  }
}

/// B straight from global memory to registers. No load is conditional, since the compiler copies registers that are
/// loaded conditionally: past the end the last group is loaded again, and parts without a tile load another one.
template <class T, class Shape, class Source>
__device__ void multiply_direct(const Source& from, int begin, int end, typename Shape::sums& sums) {
  using product = product_of<T, Shape>;
  constexpr int ahead = Shape::ahead;
  if (begin == end) return;
  const auto group_at = [&](int index) { return from.group(index < end ? index : end - 1); };

  typename Shape::word b[ahead][Shape::pieces][2][Shape::words];
  typename Shape::word tiles[ahead][Shape::parts][Shape::tile_words];
  unsigned parts[ahead];
  const auto load_tiles = [&](const mma_group& group, int u) {
    parts[u] = group.parts;
#pragma unroll
    for (int part = 0; part < Shape::parts; ++part) load_values<2>(tiles[u][part], 0, from.tile(group, part));
  };
  const auto load_piece = [&](const T* const(&rows)[2], int u, int p) {
#pragma unroll
    for (int i = 0; i < 2; ++i) from.load(b[u][p][i], rows[i], p);
  };

  mma_group next = from.group(begin);  // the one whose tiles and rows of B are loaded next
#pragma unroll
  for (int u = 0; u < ahead; ++u) {
    const T* const rows[2] = {from.row(next.cols[0]), from.row(next.cols[1])};
    load_tiles(next, u);
#pragma unroll
    for (int p = 0; p < Shape::pieces; ++p) {
      if (from.has_piece(p)) load_piece(rows, u, p);
    }
    next = group_at(begin + u + 1);
  }

#pragma unroll 1
  for (int first = begin; first < end; first += ahead) {
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      const int index = first + u;
      if (u > 0 && index >= end) break;
      from.forget_offsets();
      const unsigned now = parts[u];
      typename product::right a[Shape::parts];
#pragma unroll
      for (int part = 0; part < Shape::parts; ++part) a[part] = product::of_a(tiles[u][part]);
      const T* const rows[2] = {from.row(next.cols[0]), from.row(next.cols[1])};
      load_tiles(next, u);
      next = group_at(index + ahead + 1);
#pragma unroll
      for (int p = 0; p < Shape::pieces; ++p) {
        if (!from.has_piece(p)) continue;
        const typename product::left piece = product::of_b(b[u][p]);
        if constexpr (product::splits) load_piece(rows, u, p);
        add_piece<Shape, product>(sums, p, piece, now, a);
        if constexpr (!product::splits) load_piece(rows, u, p);
      }
    }
  }
}

/// B and A through the warp's stages in shared memory; each lane reads back only what it copied.
template <class T, class Shape, class Source>
__device__ void multiply_staged(const Source& from, int begin, int end, typename Shape::sums& sums, T* stages) {
  using product = product_of<T, Shape>;
  constexpr int ahead = Shape::ahead;
  if (begin == end) return;
  const auto group_at = [&](int index) { return from.group(index < end ? index : end - 1); };

  const int lane = static_cast<int>(threadIdx.x) % 32;
  T* const own_b = stages + lane * Shape::vector;
  T* const own_tiles = stages + 8 * Shape::slab + lane * 2;
  const auto b_at = [&](int stage, int p, int i) {
    return own_b + stage * Shape::stage_values + (2 * p + i) * 32 * Shape::vector;
  };
  const auto tile_at = [&](int stage, int part) {
    return own_tiles + stage * Shape::stage_values + part * forms::mma_tile_values;
  };
  const auto start = [&](const mma_group& group, int stage) {
    constexpr int bytes = 2 * static_cast<int>(sizeof(T));
#pragma unroll
    for (int part = 0; part < Shape::parts; ++part) {
      if (Shape::parts > 1 && !has_part(group.parts, part)) continue;
      copy_async<bytes>(tile_at(stage, part), from.tile(group, part), bytes);
    }
    const T* const rows[2] = {from.row(group.cols[0]), from.row(group.cols[1])};
#pragma unroll
    for (int p = 0; p < Shape::pieces; ++p) {
      if (!from.has_piece(p)) continue;
#pragma unroll
      for (int i = 0; i < 2; ++i) from.copy(b_at(stage, p, i), rows[i], p);
    }
  };

  unsigned parts[Shape::stages] = {};  // of the groups under way, the one to be multiplied first
  mma_group next = from.group(begin);
#pragma unroll
  for (int u = 0; u < ahead; ++u) {
    parts[u] = next.parts;
    if (begin + u < end) start(next, u);
    commit_copies();
    next = group_at(begin + u + 1);
  }

  int now = 0;
  int free = ahead;  // the stage read in the previous step
#pragma unroll 1
  for (int index = begin; index < end; ++index) {
    from.forget_offsets();
    wait_for_all_but<ahead - 1>();
    parts[ahead] = next.parts;
    if (index + ahead < end) start(next, free);
    commit_copies();
    next = group_at(index + ahead + 1);

    typename product::right a[Shape::parts];
#pragma unroll
    for (int part = 0; part < Shape::parts; ++part) {
      if (Shape::parts > 1 && !has_part(parts[0], part)) continue;
      typename Shape::word tile[Shape::tile_words];
      read_values<2>(tile, tile_at(now, part));
      a[part] = product::of_a(tile);
    }
#pragma unroll
    for (int p = 0; p < Shape::pieces; ++p) {
      if (!from.has_piece(p)) continue;
      typename Shape::word rows[2][Shape::words];
#pragma unroll
      for (int i = 0; i < 2; ++i) read_values<Shape::vector>(rows[i], b_at(now, p, i));
      add_piece<Shape, product>(sums, p, product::of_b(rows), parts[0], a);
    }
#pragma unroll
    for (int u = 0; u < ahead; ++u) parts[u] = parts[u + 1];
    free = now;
    now = now == Shape::stages - 1 ? 0 : now + 1;
  }
}

// --- The way back to C ----------------------------------------------------------------------------------------------

/// Where a warp's sums go: to C, or as they are to the slot of a piece of a row block. T: what lies there.
template <class T>
struct mma_destination {
  T* c;  ///< of row 0, column first_col
  std::int64_t row_stride, col_stride;
  const std::int32_t* row_of;
  std::int64_t first_row;
  int num_rows, num_cols;
  scalars<scalar_of<T>> by;
  bool by_vector;

  __device__ T* row(int m) const {
    const std::int64_t row = row_of != nullptr ? row_of[first_row + m] : first_row + m;
    return c + row * row_stride;
  }
};

/// Whether rows of `to` may be written in vectors of `Vector` values, at most 16 bytes each.
template <int Vector, class T>
__device__ bool takes_vectors(const mma_destination<T>& to) {
  constexpr int bytes = Vector * static_cast<int>(sizeof(T)) < 16 ? Vector * static_cast<int>(sizeof(T)) : 16;
  return to.col_stride == 1 && to.row_stride % Vector == 0 && reinterpret_cast<std::uintptr_t>(to.c) % bytes == 0;
}

template <class T>
__device__ mma_destination<T> place_in_c(const mma_tiles_args<T>& args, const mma_place& at,
                                         const forms::mma_tiles_item& item, int num_cols) {
  return {of_member(args.c, args.batch.c) + at.first_col * args.c_col_stride,
          args.c_row_stride,
          args.c_col_stride,
          args.a.row_of,
          item.first_row,
          item.num_rows,
          num_cols,
          read_scalars(args),
          false};
}

template <class T>
__device__ mma_destination<scalar_of<T>> place_in_slot(const mma_tiles_args<T>& args, const mma_place& at,
                                                       const forms::mma_tiles_item& item, int num_cols) {
  using S = scalar_of<T>;
  S* slot = of_member(args.a.partial, args.batch.partials) + item.slot * args.a.height * args.n;
  return {slot + at.first_col, args.n, 1, nullptr, 0, item.num_rows, num_cols, {S{1}, S{0}}, false};
}

template <class T, class Shape>
__device__ void store_sums(const mma_destination<T>& to, const typename Shape::sums& sums) {
  constexpr int vector = Shape::vector;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int part = 0; part < Shape::parts; ++part) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int m = 8 * part + 2 * (lane % 4) + i;
      if (m >= to.num_rows) continue;
      T* row = to.row(m);
#pragma unroll
      for (int p = 0; p < Shape::pieces; ++p) {
        const int n = p * Shape::piece + lane / 4 * vector;
        scalar_of<T> sum[vector];
#pragma unroll
        for (int v = 0; v < vector; ++v) sum[v] = sums[part][p][v / 2][v % 2 * 2 + i];
        if (to.by_vector && n + vector <= to.num_cols) {
          store_vector<vector>(row + n, to.by, sum);
        } else {
#pragma unroll
          for (int v = 0; v < vector; ++v) {
            if (n + v < to.num_cols) store(row + (n + v) * to.col_stride, to.by, sum[v]);
          }
        }
      }
    }
  }
}

/// Writes the sums of a warp to where they belong.
template <class T, class Shape>
__device__ void deliver_sums(const mma_tiles_args<T>& args, const mma_place& at, const typename Shape::sums& sums) {
  const forms::mma_tiles_item item = args.a.items[at.item];
  const int num_cols = at.template num_cols<Shape::slab>(args);
  if constexpr (narrow_number<T>) {
    if (item.slot < 0) {
      auto to = place_in_c(args, at, item, num_cols);
      to.by_vector = takes_vectors<Shape::vector>(to);
      store_sums<T, Shape>(to, sums);
    } else {
      auto to = place_in_slot(args, at, item, num_cols);
      to.by_vector = takes_vectors<Shape::vector>(to);
      store_sums<scalar_of<T>, Shape>(to, sums);
    }
  } else {
    mma_destination<T> to;
    if (item.slot < 0) {
      to = place_in_c(args, at, item, num_cols);
    } else {
      to = place_in_slot(args, at, item, num_cols);
    }
    to.by_vector = takes_vectors<Shape::vector>(to);
    store_sums<T, Shape>(to, sums);
  }
}

/// The sums of the warps that share a row block, added in order by the first of them. Called by the whole thread
/// block.
template <class Shape, int WarpsK>
__device__ void add_up_warps(typename Shape::sums& sums, typename Shape::sum* handed_over, int warp) {
  constexpr int values = Shape::parts * Shape::slab / 4;
  const int k = warp % WarpsK;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  typename Shape::sum* flat = &sums[0][0][0][0];
  const auto place = [&](int from, int i) {
    return handed_over + ((warp / WarpsK * (WarpsK - 1) + from - 1) * values + i) * 32 + lane;
  };
  if (k > 0) {
#pragma unroll
    for (int i = 0; i < values; ++i) *place(k, i) = flat[i];
  }
  __syncthreads();
  if (k == 0) {
    for (int from = 1; from < WarpsK; ++from) {
#pragma unroll
      for (int i = 0; i < values; ++i) flat[i] += *place(from, i);
    }
  }
}

// --- What is not finite ---------------------------------------------------------------------------------------------

/// Whether all sums of this lane are finite. Two by two, since a product with a non-finite factor is not finite either;
/// one by one only if that overflows.
template <class Shape>
__device__ bool are_finite(const typename Shape::sums& sums) {
  using S = typename Shape::sum;
  constexpr int count = Shape::parts * Shape::slab / 4;
  const S* const flat = &sums[0][0][0][0];
  const auto is_finite = [](S x) { return x - x == S{0}; };
  S products[4] = {};  // independent chains, since each addition waits for the one before
#pragma unroll
  for (int i = 0; i < count; i += 2) products[i / 2 % 4] += flat[i] * flat[i + 1];
  if (is_finite((products[0] + products[1]) + (products[2] + products[3]))) return true;
  bool all = true;
#pragma unroll
  for (int i = 0; i < count; ++i) all &= is_finite(flat[i]);
  return all;
}

__device__ inline float widened(float x) { return x; }
__device__ inline double widened(double x) { return x; }
template <narrow_number T>
__device__ float widened(T x) {
  return narrow_pair<T>::widen(x.bits).x;
}

/// The sum of row m of an item times column `b` (of row 0) of B over the stored entries, one after the other.
template <class T>
__device__ scalar_of<T> multiply_stored(const mma_tiles_args<T>& args, const forms::mma_tiles_item& item, int m,
                                        const T* b) {
  const int part = m / forms::mma_tile_rows;
  const int first_value = m % forms::mma_tile_rows * forms::mma_tile_columns;  // in a tile
  scalar_of<T> sum{0};
#pragma unroll 1
  for (int g = item.first_group; g < item.end_group; ++g) {
    const forms::mma_tiles_group group =
        args.a.height == forms::mma_tile_rows ? forms::mma_tiles_group{g, 1u} : args.a.groups[g];
    if (!has_part(group.parts, part)) continue;
    const std::int64_t tile = group.first_tile + __popc(group.parts & ((1u << part) - 1));
    auto stored = static_cast<unsigned>(args.a.masks[tile] >> first_value) & 0xffu;
#pragma unroll 1
    for (; stored != 0; stored &= stored - 1) {
      const int k = __ffs(static_cast<int>(stored)) - 1;
      const T value = args.a.tiles[tile * forms::mma_tile_values + first_value + k];
      const std::int64_t col = args.a.col_ind[std::int64_t{g} * forms::mma_tile_columns + k];
      sum += widened(value) * widened(b[col * args.ldb]);
    }
  }
  return sum;
}

/// All that a warp delivers, multiplied on the plain cores.
template <class T, class Destination>
__device__ void deliver_stored(const mma_tiles_args<T>& args, const mma_place& at, const forms::mma_tiles_item& item,
                               const mma_destination<Destination>& to) {
  const bool reads_a = read_scalars(args).alpha != scalar_of<T>{0};
  const T* const b = of_member(args.b, args.batch.b) + at.first_col * args.b_col_stride;
#pragma unroll 1
  for (int m = 0; m < item.num_rows; ++m) {
#pragma unroll 1
    for (int n = static_cast<int>(threadIdx.x) % 32; n < to.num_cols; n += 32) {
      const auto sum = reads_a ? multiply_stored(args, item, m, b + n * args.b_col_stride) : scalar_of<T>{0};
      store(to.row(m) + n * to.col_stride, to.by, sum);
    }
  }
}

/// Not inlined: it is hardly ever called, and inlined it would spill the sums.
template <class T>
[[gnu::noinline]] __device__ void deliver_stored(const mma_tiles_args<T>& args, const mma_place& at, int num_cols) {
  const forms::mma_tiles_item item = args.a.items[at.item];
  if (item.slot < 0) {
    deliver_stored(args, at, item, place_in_c(args, at, item, num_cols));
  } else {
    deliver_stored(args, at, item, place_in_slot(args, at, item, num_cols));
  }
}

// --- The kernels ----------------------------------------------------------------------------------------------------

/// Thread blocks lie along the items (x), then along the slabs from first_slab on (y), then along a batch's members
/// (z): those that run together gather from the same columns of B. A warp recomputes its place when its sums are
/// complete, which frees registers meanwhile.
template <class T, int Parts, int Slab, int WarpsM, int WarpsN, int WarpsK, int Ahead, int Staged, int Products,
          int Blocks, int Loaded>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN * WarpsK, Blocks)
    mma_kernel(const __grid_constant__ mma_tiles_args<T> args, std::int64_t first_slab) {
  using shape = mma_shape<T, Parts, Slab, WarpsM, WarpsN, WarpsK, Ahead, Staged, Products>;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int k = warp % WarpsK;
  constexpr int stage_values = Staged != 0 ? shape::stages * shape::stage_values : 0;
  T* const shared = dynamic_shared<T>();
  const auto place = [&] {
    return mma_place{static_cast<std::int64_t>(blockIdx.x) * WarpsM + warp / (WarpsK * WarpsN),
                     (first_slab + static_cast<std::int64_t>(blockIdx.y) * WarpsN + warp / WarpsK % WarpsN) * Slab};
  };

  typename shape::sums sums = {};
  int2 groups{0, 0};
  if (const mma_place at = place(); at.lies_in(args)) {
    groups = __ldg(reinterpret_cast<const int2*>(args.a.items + at.item));
  }
  wait_for_previous();
  let_next_begin();
  if (const mma_place at = place(); at.lies_in(args) && read_scalars(args).alpha != scalar_of<T>{0}) {
    const std::int64_t count = groups.y - groups.x;
    const int begin = groups.x + static_cast<int>(count * k / WarpsK);
    const int end = groups.x + static_cast<int>(count * (k + 1) / WarpsK);
    const int num_cols = at.template num_cols<Slab>(args);
    const auto multiply = [&](const auto& source) {
      if constexpr (Staged != 0) {
        multiply_staged<T, shape>(source, begin, end, sums, shared + warp * stage_values);
      } else {
        multiply_direct<T, shape>(source, begin, end, sums);
      }
    };
    // Single loads gain nothing from a full slab, so strided loads have no code of their own for it.
    if (Loaded != strided && num_cols == Slab) {
      multiply(mma_source<T, shape, Loaded, Loaded != strided>(args, at.first_col, num_cols));
    } else {
      multiply(mma_source<T, shape, Loaded, false>(args, at.first_col, num_cols));
    }
  }
  if constexpr (WarpsK > 1) {
    add_up_warps<shape, WarpsK>(sums, reinterpret_cast<scalar_of<T>*>(shared + WarpsM * WarpsN * WarpsK * stage_values),
                                warp);
  }
  asm volatile("" ::: "memory");  // no value is kept from above
  if (const mma_place at = place(); at.lies_in(args) && k == 0) {
    if (__all_sync(0xffffffffu, are_finite<shape>(sums))) {
      deliver_sums<T, shape>(args, at, sums);
    } else {
      deliver_stored(args, at, at.template num_cols<Slab>(args));
    }
  }
}

/// The same product without tensor cores, for rows of B further apart than mma_kernel can address: a warp takes a row
/// block and 32 columns.
template <class T>
__global__ void __launch_bounds__(128)
    far_rows_kernel(const __grid_constant__ mma_tiles_args<T> args, std::int64_t num_slabs, double slab_of_warp) {
  constexpr int slab = 32;
  wait_for_previous();
  let_next_begin();
  const std::int64_t step = std::int64_t{gridDim.x} * 4;
  for (std::int64_t index = std::int64_t{blockIdx.x} * 4 + threadIdx.x / 32; index < args.a.num_items * num_slabs;
       index += step) {
    const std::int64_t slab_number = divide(index, args.a.num_items, slab_of_warp);
    const mma_place at{index - slab_number * args.a.num_items, slab_number * slab};
    deliver_stored(args, at, at.template num_cols<slab>(args));
  }
}

/// Adds up the row blocks that were multiplied in pieces: one thread block per row, the slots in order.
template <class T>
__global__ void __launch_bounds__(128)
    mma_sum_kernel(const __grid_constant__ mma_tiles_args<T> args, std::int64_t num_rows) {
  wait_for_previous();
  let_next_begin();
  const scalars<scalar_of<T>> by = read_scalars(args);
  const scalar_of<T>* const partial = of_member(args.a.partial, args.batch.partials);
  T* const c = of_member(args.c, args.batch.c);
  for (std::int64_t index = blockIdx.x; index < num_rows; index += gridDim.x) {
    const forms::mma_tiles_sum sum = args.a.sums[index / args.a.height];
    const std::int64_t m = index % args.a.height;
    if (m >= sum.num_rows) continue;
    const std::int64_t row = args.a.row_of != nullptr ? args.a.row_of[sum.first_row + m] : sum.first_row + m;
    for (std::int64_t n = threadIdx.x; n < args.n; n += blockDim.x) {
      scalar_of<T> total{0};
      for (std::int64_t slot = sum.first_slot; slot < sum.first_slot + sum.num_slots; ++slot) {
        total += partial[(slot * args.a.height + m) * args.n + n];
      }
      store(c + row * args.c_row_stride + n * args.c_col_stride, by, total);
    }
  }
}

/// The offset of a row of B is one 32-bit multiplication.
template <class T>
inline constexpr std::int64_t max_mma_ld = 2147483647 / static_cast<std::int64_t>(sizeof(T));

template <>
struct implementation<tables::mma> {
  template <class T, int Index, int Loaded>
  static constexpr auto instance() {
    constexpr tables::mma_config config = tables::mma::configs[Index];
    return &mma_kernel<T, config.parts, config.slab, config.warps_m, config.warps_n, config.warps_k, config.ahead,
                       config.staged, config.products(), config.min_blocks(), Loaded>;
  }
  /// The instance with the widest loads of B that its alignment allows.
  template <class T, int Index, int Width = tables::mma::configs[Index].columns_of_lane()>
  static auto by_width(const mma_tiles_args<T>& args) {
    if constexpr (Width > 1) {
      const bool fits = reinterpret_cast<std::uintptr_t>(args.b) % (Width * sizeof(T)) == 0 && args.ldb % Width == 0 &&
                        args.batch.b % Width == 0 && args.n >= Width;
      return fits ? instance<T, Index, Width>() : by_width<T, Index, Width / 2>(args);
    } else {
      return instance<T, Index, Width>();
    }
  }
  template <class T, int Index>
  static auto instance_for(const mma_tiles_args<T>& args) {
    auto chosen = by_width<T, Index>(args);
    if (args.b_col_stride != 1) {
      chosen = nullptr;
      if constexpr (tables::mma::configs[Index].strided_cols() > 0) chosen = instance<T, Index, strided>();
    }
    return chosen;
  }

  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::mma_config config = tables::mma::configs[Index];
    using T = value_of<config.type>;
    const auto& spmm = *static_cast<const mma_tiles_args<T>*>(args);
    if (spmm.a.height != config.tile_rows()) return cudaErrorInvalidValue;
    const int started = std::max(spmm.ldb, spmm.b_col_stride) > max_mma_ld<T> ? start_far_rows(spmm, env)
                                                                              : start_slabs<Index>(spmm, env);
    if (started != cudaSuccess || spmm.a.num_sums == 0) return started;
    const std::int64_t rows = spmm.a.num_sums * spmm.a.height;
    return start(begins::while_previous_ends, &mma_sum_kernel<T>, grid_of(rows, spmm.batch), dim3(128), 0, env.stream,
                 spmm, rows);
  }

 private:
  template <int Index, class T>
  static int start_slabs(const mma_tiles_args<T>& spmm, const launch_env& env) {
    constexpr tables::mma_config config = tables::mma::configs[Index];
    const auto kernel = instance_for<T, Index>(spmm);
    if (kernel == nullptr) return cudaErrorInvalidValue;
    const auto along_items = static_cast<unsigned>(ceil_div(spmm.a.num_items, config.warps_m));
    const std::int64_t num_slabs = ceil_div(spmm.n, config.slab);
    constexpr std::int64_t slabs_at_once = std::int64_t{config.warps_n} * 65535;
    for (std::int64_t slab = 0; slab < num_slabs; slab += slabs_at_once) {
      const std::int64_t count = num_slabs - slab < slabs_at_once ? num_slabs - slab : slabs_at_once;
      const auto along_slabs = static_cast<unsigned>(ceil_div(count, config.warps_n));
      const int started = start(begins::while_previous_ends, kernel,
                                dim3(along_items, along_slabs, static_cast<unsigned>(spmm.batch.count)),
                                dim3(config.block_threads()), config.shared_bytes(), env.stream, spmm, slab);
      if (started != cudaSuccess) return started;
    }
    return cudaSuccess;
  }

  template <class T>
  static int start_far_rows(const mma_tiles_args<T>& spmm, const launch_env& env) {
    const std::int64_t num_slabs = ceil_div(spmm.n, 32);
    return start(begins::while_previous_ends, &far_rows_kernel<T>,
                 grid_of(ceil_div(spmm.a.num_items * num_slabs, 4), spmm.batch), dim3(128), 0, env.stream, spmm,
                 num_slabs, 1.0 / static_cast<double>(spmm.a.num_items));
  }
};

}  // namespace bcsc::kernels::cuda
