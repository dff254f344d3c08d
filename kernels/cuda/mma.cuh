#pragma once

#include <algorithm>
#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma/dots.cuh"
#include "kernels/cuda/mma/epilogue.cuh"
#include "kernels/cuda/mma/groups.cuh"
#include "kernels/cuda/mma/place.cuh"
#include "kernels/cuda/mma/shape.cuh"
#include "kernels/cuda/mma/source.cuh"
#include "kernels/cuda/mma/stored_entries.cuh"
#include "kernels/cuda/mma/sum_pieces.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
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
///   rows, and C is written in the same vectors, to rows 2t and 2t + 1 of a part; of a column-major C both rows are one
///   store where takes_pairs() says so. Which column of B is which row of a product is free to choose, as is which
///   column of the group is which k: tiles are plain 8 x 8, row-major. Where B or ldb is not aligned to 16 bytes the
///   same columns take more loads; so do those of a column-major B read in place.
/// - Loads: column numbers and the list of tiles one group ahead, tiles and rows of B `ahead` groups ahead. Either
///   straight to registers, each piece as soon as the one before it has been split, so that one group's registers hold
///   the next group's data in flight, and in fp64 L2 is asked for the tiles of the one after that where
///   prefetched_tiles says so; or through shared memory (`staged`), where each lane reads only what it copied itself:
///   no swizzle, no bank conflict, no barrier.
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
/// - B'C (dots_with_b), if wanted: mma/dots.cuh.
/// - Bytes, for each slab: 64 values a tile, 32 bytes of column numbers and 8 more a group, 8 * slab values of B a
///   group, C once (twice if beta is not 0). Row blocks in several pieces write 8 * parts * slab values a piece and
///   read them once more.
/// - Preconditions: those of product_args and mma_tiles_operand. Deterministic: every sum has one order.
namespace bcsc::kernels::cuda {

/// Thread blocks lie along the items (x), then along the slabs from first_slab on (y), then along a batch's members
/// (z): those that run together gather from the same columns of B. A warp recomputes its place when its sums are
/// complete, which frees registers meanwhile.
template <class T, int Parts, int Slab, int WarpsM, int WarpsN, int WarpsK, int Ahead, int Staged, int Products,
          int Blocks, int Loaded, bool Dots>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN * WarpsK, Blocks)
    mma_kernel(const __grid_constant__ mma_tiles_args<T> args, std::int64_t first_slab, double* dots) {
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
  if (groups.y < groups.x) return;  // never taken: it keeps ptxas from moving the load past the wait
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
    if constexpr (Dots) leave_dots<T, shape>(args, at, sums, dots);
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

/// The offset of a row of B is one 32-bit multiplication.
template <class T>
inline constexpr std::int64_t max_mma_ld = 2147483647 / static_cast<std::int64_t>(sizeof(T));

template <>
struct implementation<tables::mma> {
  /// `Dots` has instances of its own: in the others it would cost registers.
  template <class T, int Index, int Loaded, bool Dots = false>
  static constexpr auto instance() {
    constexpr tables::mma_config config = tables::mma::configs[Index];
    return &mma_kernel<T, config.parts, config.slab, config.warps_m, config.warps_n, config.warps_k, config.ahead,
                       config.staged, config.products(), config.min_blocks, Loaded, Dots>;
  }
  /// Whether lanes may load `Width` neighbours of a row of B at once.
  template <int Width, class T>
  static bool loads(const mma_tiles_args<T>& args) {
    return reinterpret_cast<std::uintptr_t>(args.b) % (Width * sizeof(T)) == 0 && args.ldb % Width == 0 &&
           args.batch.b % Width == 0 && args.n >= Width;
  }
  /// The instance with the widest loads of B that its alignment allows.
  template <class T, int Index, int Width = tables::mma::configs[Index].columns_of_lane()>
  static auto by_width(const mma_tiles_args<T>& args) {
    if constexpr (Width > 1) {
      return loads<Width>(args) ? instance<T, Index, Width>() : by_width<T, Index, Width / 2>(args);
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
    return started != cudaSuccess ? started : start_sum_of_pieces(spmm, env);
  }

 private:
  template <int Index, class T>
  static int start_slabs(const mma_tiles_args<T>& spmm, const launch_env& env) {
    constexpr tables::mma_config config = tables::mma::configs[Index];
    auto kernel = instance_for<T, Index>(spmm);
    if (kernel == nullptr) return cudaErrorInvalidValue;
    const auto along_items = static_cast<unsigned>(ceil_div(spmm.a.num_items, config.warps_m));
    const std::int64_t num_slabs = ceil_div(spmm.n, config.slab);
    constexpr std::int64_t slabs_at_once = std::int64_t{config.warps_n} * 65535;
    double* dots = nullptr;
    if constexpr (leaves_dots<T>(config)) {
      constexpr int widest = config.columns_of_lane();
      const bool whole = spmm.b_col_stride == 1 && loads<widest>(spmm) && spmm.n % widest == 0;
      if (whole) dots = spmm.dots.take(spmm.a.num_items, spmm.n);
      if (dots != nullptr) kernel = instance<T, Index, widest, true>();
    }
    for (std::int64_t slab = 0; slab < num_slabs; slab += slabs_at_once) {
      const std::int64_t count = num_slabs - slab < slabs_at_once ? num_slabs - slab : slabs_at_once;
      const auto along_slabs = static_cast<unsigned>(ceil_div(count, config.warps_n));
      const int started = start(begins::while_previous_ends, kernel,
                                dim3(along_items, along_slabs, static_cast<unsigned>(spmm.batch.count)),
                                dim3(config.block_threads()), config.shared_bytes(), env.stream, spmm, slab, dots);
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
