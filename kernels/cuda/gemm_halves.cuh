#pragma once

#include <algorithm>
#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/narrow.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/dense/halves.cuh"
#include "kernels/forms/dense/operand.hpp"

/// B in fp16 parts (kernels/forms/dense/halves.cuh says what they are), made before each product: one kernel finds each
/// column's largest magnitude, in chunks of rows, the next writes the parts, high ones twice where there are low ones,
/// below each other and as B lies. And what becomes of the sums.
///
/// - Ownership: a thread block has a chunk of rows, of one group of columns after another: of a row-major B its warps
///   take the rows in turn and its lanes `Vector` neighbouring columns each; of a column-major B a warp has a column,
///   its lanes neighbouring rows.
/// - Loads: both kernels read B, the second mostly from L2, four vectors a thread at once. The second starts its first
///   four before it reads what the first kernel has left.
/// - Bytes: 8 of B and 6 (2: high ones alone) of its parts a value.
/// - Deterministic: maxima, and counts of integers.
namespace bcsc::kernels::cuda {

struct halves_of_b {
  int count;  ///< as of halves_of_a
  const float* b;
  std::int64_t rows, cols, row_stride, col_stride;
  std::int64_t ld;      ///< rows with the padding
  std::int64_t padded;  ///< columns with theirs, which the parts have only if B is row-major
  std::int64_t chunk_rows;
  unsigned num_chunks;
  half* parts;
  std::uint32_t* largest;   ///< [chunks][padded]
  float* back;              ///< [padded] 0 of a column of zeros
  std::int32_t* num_lossy;  ///< [padded]
};

inline constexpr int halves_warps = 16;

/// What a thread owns of a chunk and a group of columns: `Vector` neighbours, again and again.
template <bool ByRows, int Vector>
class halves_tile {
 public:
  static constexpr int own_columns = ByRows ? Vector : 1;
  static constexpr int group_columns = ByRows ? 32 * Vector : halves_warps;
  /// Threads of a block that own the same columns, and which of them this one is.
  static constexpr unsigned owners = ByRows ? halves_warps : 32;
  static __device__ unsigned owner() { return ByRows ? threadIdx.x / 32 : threadIdx.x % 32; }
  /// The one that value v of a vector lies in, among the thread's own.
  static constexpr int column_of(int v) { return ByRows ? v : 0; }

  static constexpr int at_once = 4;
  using vectors = float[at_once][Vector];

  const std::int64_t first_column;

  __device__ halves_tile(const halves_of_b& job, std::int64_t group)
      : first_column(group * group_columns +
                     (ByRows ? static_cast<int>(threadIdx.x) % 32 * Vector : static_cast<int>(threadIdx.x) / 32)),
        job_(job),
        first_row_(blockIdx.y * job.chunk_rows + owner() * rows_of_vector) {
    const std::int64_t end = (blockIdx.y + 1) * job.chunk_rows;
    end_ = end < job.ld ? end : job.ld;
  }
  __device__ int count() const { return job_.count; }
  /// Whether there is such a column, of the padding perhaps.
  __device__ bool exists() const { return first_column < (ByRows ? job_.padded : job_.cols); }
  /// Row of the i-th vector, of the padding perhaps; none behind has_row().
  __device__ std::int64_t row(int i) const { return first_row_ + i * static_cast<int>(owners) * rows_of_vector; }
  __device__ bool has_row(int i) const { return exists() && row(i) < end_; }
  /// The i-th vector; zeros outside of B.
  __device__ void read(float (&to)[Vector], int i) const {
    const std::int64_t k = row(i);
    const float* const from = job_.b + k * job_.row_stride + first_column * job_.col_stride;
    const bool in_columns = first_column < job_.cols;
    if (in_columns && has_row(i) && (ByRows ? k : k + Vector - 1) < job_.rows) {
      read_vector<Vector>(to, from);
    } else {
#pragma unroll
      for (int v = 0; v < Vector; ++v) to[v] = !ByRows && in_columns && k + v < job_.rows ? from[v] : 0.0f;
    }
  }
  /// From the i-th on; all loads are on their way before the first is waited for.
  __device__ void read(vectors& to, int i) const {
#pragma unroll
    for (int j = 0; j < at_once; ++j) read(to[j], i + j);
  }
  /// The place of part `part` of the i-th vector.
  __device__ half* place(int part, int i) const {
    return ByRows ? job_.parts + (part * job_.ld + row(i)) * job_.padded + first_column
                  : job_.parts + (first_column * job_.count + part) * job_.ld + row(i);
  }

 private:
  static constexpr int rows_of_vector = ByRows ? 1 : Vector;

  const halves_of_b& job_;
  std::int64_t first_row_, end_;
};

/// The largest that all threads of a column know, to each of them. All threads of the block take part.
template <bool ByRows, int Columns>
__device__ void share_largest(std::uint32_t (&largest)[Columns], std::uint32_t (*of_warp)[32 * Columns]) {
  if constexpr (ByRows) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int c = 0; c < Columns; ++c) of_warp[warp][lane * Columns + c] = largest[c];
    __syncthreads();
#pragma unroll
    for (int w = 0; w < halves_warps; ++w) {
#pragma unroll
      for (int c = 0; c < Columns; ++c) largest[c] = max(largest[c], of_warp[w][lane * Columns + c]);
    }
    __syncthreads();
  } else {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      largest[0] = max(largest[0], __shfl_xor_sync(0xffffffffu, largest[0], distance));
    }
  }
}

template <bool ByRows, int Vector>
__global__ void __launch_bounds__(32 * halves_warps)
    largest_of_b_kernel(const __grid_constant__ halves_of_b job, std::int64_t num_groups) {
  using tile = halves_tile<ByRows, Vector>;
  __shared__ std::uint32_t of_warp[halves_warps][32 * tile::own_columns];
  wait_for_previous();
  let_next_begin();
  for (std::int64_t group = blockIdx.x; group < num_groups; group += gridDim.x) {
    const tile own(job, group);
    std::uint32_t largest[tile::own_columns] = {};
#pragma unroll 1
    for (int i = 0; own.has_row(i); i += tile::at_once) {
      typename tile::vectors value;
      own.read(value, i);
#pragma unroll
      for (int j = 0; j < tile::at_once; ++j) {
#pragma unroll
        for (int v = 0; v < Vector; ++v) {
          largest[tile::column_of(v)] = max(largest[tile::column_of(v)], magnitude_bits(value[j][v]));
        }
      }
    }
    share_largest<ByRows>(largest, of_warp);
    if (tile::owner() != 0 || own.first_column >= job.cols) continue;
#pragma unroll
    for (int c = 0; c < tile::own_columns; ++c) {
      job.largest[blockIdx.y * job.padded + own.first_column + c] = largest[c];
      if (blockIdx.y == 0) job.num_lossy[own.first_column + c] = 0;
    }
  }
}

template <int Vector>
__device__ void write_halves(half* to, const std::uint16_t (&bits)[Vector]) {
  if constexpr (Vector == 1) {
    to->bits = bits[0];
  } else {
    unsigned words[Vector / 2];
#pragma unroll
    for (int v = 0; v < Vector / 2; ++v) words[v] = bits[2 * v] | static_cast<unsigned>(bits[2 * v + 1]) << 16;
    write_vector<Vector / 2>(reinterpret_cast<unsigned*>(to), words);
  }
}

/// The parts of the i-th vector of a thread, if there is one; counts what loses bits.
template <bool ByRows, int Vector, int Columns>
__device__ void split_vector(const halves_tile<ByRows, Vector>& own, int i, const float (&value)[Vector],
                             const half_scale (&scale)[Columns], std::int32_t (&num_lossy)[Columns]) {
  if (!own.has_row(i)) return;
  std::uint16_t high[Vector], low[Vector];
#pragma unroll
  for (int v = 0; v < Vector; ++v) {
    const int c = own.column_of(v);
    const split_half part = split_scaled<narrow_pair<half>>(value[v], scale[c].to, own.count());
    high[v] = part.high;
    low[v] = part.low;
    num_lossy[c] += part.loses;
  }
  write_halves<Vector>(own.place(0, i), high);
  if (own.count() == 1) return;
  write_halves<Vector>(own.place(1, i), low);
  write_halves<Vector>(own.place(2, i), high);
}

template <bool ByRows, int Vector>
__global__ void __launch_bounds__(32 * halves_warps)
    split_b_kernel(const __grid_constant__ halves_of_b job, std::int64_t num_groups) {
  using tile = halves_tile<ByRows, Vector>;
  __shared__ std::uint32_t of_warp[halves_warps][32 * tile::own_columns];
  wait_for_previous();
  let_next_begin();
  for (std::int64_t group = blockIdx.x; group < num_groups; group += gridDim.x) {
    const tile own(job, group);
    typename tile::vectors value;
    own.read(value, 0);
    std::uint32_t largest[tile::own_columns] = {};
    for (unsigned chunk = tile::owner(); chunk < job.num_chunks && own.first_column < job.cols; chunk += tile::owners) {
#pragma unroll
      for (int c = 0; c < tile::own_columns; ++c) {
        largest[c] = max(largest[c], job.largest[chunk * job.padded + own.first_column + c]);
      }
    }
    share_largest<ByRows>(largest, of_warp);
    half_scale scale[tile::own_columns];
    std::int32_t num_lossy[tile::own_columns] = {};
#pragma unroll
    for (int c = 0; c < tile::own_columns; ++c) scale[c] = half_scale_of(largest[c], top_of_halves_in_b);
#pragma unroll 1
    for (int i = 0; own.has_row(i);) {
#pragma unroll
      for (int j = 0; j < tile::at_once; ++j) split_vector(own, i + j, value[j], scale, num_lossy);
      i += tile::at_once;
      if (own.has_row(i)) own.read(value, i);
    }
    if (!own.exists()) continue;
#pragma unroll
    for (int c = 0; c < tile::own_columns; ++c) {
      if (blockIdx.y == 0 && tile::owner() == 0) job.back[own.first_column + c] = largest[c] != 0 ? scale[c].back : 0;
      if (num_lossy[c] != 0) atomicAdd(job.num_lossy + own.first_column + c, num_lossy[c]);
    }
  }
}

/// Starts both kernels.
inline int start_halves_of_b(const dense_args<float>& args, CUstream_st* stream) {
  const std::int64_t ld = args.a.halves.ld;
  const halves_workspace there(args.a.rows, args.a.halves.count, ld, args.n);
  const bool by_rows = args.b_col_stride == 1;
  // Of a chunk: what a warp reads at once of a column, or four rows for each warp.
  const std::int64_t whole = by_rows ? 4 * halves_warps : 32 * 4;
  const std::int64_t chunk_rows = ceil_div(ceil_div(ld, halves_workspace::max_chunks), whole) * whole;
  const halves_of_b job{args.a.halves.count,
                        args.b,
                        args.a.cols,
                        args.n,
                        by_rows ? args.ldb : 1,
                        by_rows ? 1 : args.b_col_stride,
                        ld,
                        there.padded(),
                        chunk_rows,
                        static_cast<unsigned>(ceil_div(ld, chunk_rows)),
                        there.parts(args.a.sums),
                        there.largest(args.a.sums),
                        there.back(args.a.sums),
                        there.num_lossy(args.a.sums)};
  const auto aligned_to = [&](int vector) {
    const bool whole_lines = !by_rows || job.cols % vector == 0;  // a column's last vector may be read value by value
    const std::int64_t between = by_rows ? job.row_stride : job.col_stride;
    return reinterpret_cast<std::uintptr_t>(job.b) % (vector * sizeof(float)) == 0 && whole_lines &&
           between % vector == 0;
  };
  const auto start_both = [&]<bool ByRows, int Vector>() {
    const std::int64_t groups =
        ceil_div(ByRows ? job.padded : job.cols, std::int64_t{halves_tile<ByRows, Vector>::group_columns});
    const dim3 grid(static_cast<unsigned>(std::min(groups, core::max_grid)), job.num_chunks);
    const int status = start(begins::while_previous_ends, &largest_of_b_kernel<ByRows, Vector>, grid,
                             dim3(32 * halves_warps), 0, stream, job, groups);
    if (status != cudaSuccess) return status;
    return start(begins::while_previous_ends, &split_b_kernel<ByRows, Vector>, grid, dim3(32 * halves_warps), 0, stream,
                 job, groups);
  };
  // Wide vectors only where that leaves four thread blocks to a multiprocessor.
  if (!by_rows) return aligned_to(4) ? start_both.operator()<false, 4>() : start_both.operator()<false, 1>();
  constexpr std::int64_t groups = 16 * 32;
  if (job.cols >= 4 * groups && aligned_to(4)) return start_both.operator()<true, 4>();
  if (job.cols >= 2 * groups && aligned_to(2)) return start_both.operator()<true, 2>();
  return start_both.operator()<true, 1>();
}

/// What becomes of the sums of a product of halves. A line is a row of A if C is row-major, else a column of B.
struct halves_of_sums {
  /// One of both. `loss`: what one lossy value there costs a sum at most, at the scale of sums: what it has lost times
  /// the largest value that it can meet.
  struct side {
    const float* back = nullptr;
    const std::int32_t* num_lossy = nullptr;
    float loss = 0;
  };
  side line, along;
  float share = 0;  ///< the largest share of itself that a good sum may have lost

  /// Takes off the powers of two of `Vector` neighbours, and says which sums are good enough. Nothing is lost in a
  /// column of zeros, whose power is 0.
  template <int Vector>
  __device__ void finish(float (&sum)[Vector], bool (&is_good)[Vector], std::int64_t at_line,
                         std::int64_t first) const {
    float back[Vector];
    std::int32_t num_lossy[Vector];
    read_vector<Vector>(back, along.back + first);
    read_vector<Vector>(num_lossy, along.num_lossy + first);
    const float back_of_line = line.back[at_line];
    const float lost_in_line = static_cast<float>(line.num_lossy[at_line]) * line.loss;
#pragma unroll
    for (int v = 0; v < Vector; ++v) {
      constexpr float least = 0x1p-126f, most = 0x1p127f;
      const float by = back_of_line * back[v];
      const float lost = lost_in_line + static_cast<float>(num_lossy[v]) * along.loss;
      is_good[v] = lost <= share * fabsf(sum[v]) || back_of_line == 0 || back[v] == 0;
      // Where the product of both powers is none of fp32, the sum's may be.
      sum[v] = by >= least && by <= most ? sum[v] * by : static_cast<float>(double{sum[v]} * back_of_line * back[v]);
    }
  }
};

/// `there`: of B.
inline halves_of_sums halves_of_sums_of(const dense_args<float>& args, const halves_workspace& there) {
  const int count = args.a.halves.count;
  const float lost = sums_of_halves(count) * (count == 1 ? 0x1p-25f : 0x1p-36f);
  const auto most_in_a = static_cast<float>(1 << (top_of_halves_in_a(count) + 1));
  constexpr float most_in_b = 1 << (top_of_halves_in_b + 1);
  const halves_of_sums::side rows{args.a.halves.back, args.a.halves.num_lossy, lost * most_in_b};
  const halves_of_sums::side columns{there.back(args.a.sums), there.num_lossy(args.a.sums), lost * most_in_a};
  // Rounding to nearest takes 2^-10 of TF32's 2^-9 |A||B|; this is a quarter of the rest.
  const float share = count == 1 ? 0x1p-12f : terms_of_lossy_halves * 0x1p-24f;
  return args.c_col_stride == 1 ? halves_of_sums{rows, columns, share} : halves_of_sums{columns, rows, share};
}

}  // namespace bcsc::kernels::cuda
