#pragma once

#include <cstdint>

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/forms/bricks/operand.hpp"
#include "kernels/tables/brickwise.hpp"

/// What a thread block of the brickwise kernel holds in shared memory, and the copies that bring it there.
namespace bcsc::kernels::cuda {

/// The numbers of one instance, and what follows from them.
template <class T, int Lanes, int Pieces, int Slots, int Warps>
struct brickwise_shape {
  static constexpr tables::brickwise_config config{
      .lanes = Lanes, .pieces = Pieces, .slots = Slots, .warps = Warps, .type = value_type_of<T>};
  static constexpr int threads = config.block_threads();
  static constexpr int teams = threads / Lanes;
  static constexpr int n_tile = config.tile_cols();
  static constexpr int vector = 16 / static_cast<int>(sizeof(T));  // columns of a piece
  static constexpr int row_bytes = config.row_bytes();
  // Shared memory: the slots, two stages, three lists.
  static constexpr int stages_at = Slots * row_bytes;
  static constexpr int slots_in_stage = config.rows_bytes();
  static constexpr int values_in_stage = slots_in_stage + config.slots_bytes();
  static constexpr int stage_bytes = config.stage_bytes();
  static constexpr int lists_at = stages_at + 2 * stage_bytes;
  static constexpr int list_bytes = config.list_bytes();
  static constexpr int num_lists = 3;
  static_assert(values_in_stage % 16 == 0 && stage_bytes % 16 == 0 && list_bytes % 16 == 0);
};

/// A number that runs from 0 to Count - 1, over and over.
template <int Count>
__device__ int next_of(int number) {
  return number + 1 == Count ? 0 : number + 1;
}

/// In one load.
__device__ inline forms::brick_layer layer_of(const uint4& words) { return {words.x, words.y, words.z, words.w}; }
__device__ inline forms::brick_layer layer_in_shared(const unsigned char* list) {
  return layer_of(*reinterpret_cast<const uint4*>(list));
}

/// The copies of a brick's layers, for one tile of columns. A list is copied a layer ahead of what it lists; neither
/// waits for the other, and each call makes a group of copies (commit_copies), behind the last layer an empty one.
template <class T, class Shape, bool Wide>
class brickwise_copies {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int row_pieces = Shape::row_bytes / 16;  // a thread each

 public:
  /// Layers first .. end, columns from `first_col` on. `reads`: alpha is not 0.
  __device__ brickwise_copies(const bricks_args<T>& args, unsigned char* shared, int first, int end,
                              std::int64_t first_col, bool reads)
      : a_(args.a),
        shared_(shared),
        listed_(first),
        fetched_(first),
        end_(end),
        coming_(load(first)),
        ldb_bytes_(static_cast<std::uint64_t>(args.ldb) * sizeof(T)),
        width_(static_cast<int>(min(args.n - first_col, std::int64_t{Shape::n_tile}))),
        reads_(reads),
        b_(of_member_here(args.b, args.batch.b) + first_col) {}

  /// The next layer's list. What it is and where it lies was loaded at the call before.
  __device__ void start_list() {
    if (listed_ < end_) {
      const shared_place to(shared_ + Shape::lists_at + list_ * Shape::list_bytes);
      const int chunks = 1 + (coming_.num_fetches() + 1) / 2;
      for (int i = thread(); i < chunks; i += Shape::threads) {
        const void* const from = i == 0 ? static_cast<const void*>(a_.layers + listed_)
                                        : a_.fetches + (coming_.first_fetch + 2 * static_cast<unsigned>(i - 1));
        copy_async16(to + 16 * i, from);
      }
      coming_ = load(++listed_);
    }
    list_ = next_of<Shape::num_lists>(list_);
    commit_copies();
  }

  /// The next layer's rows and entries, and the rows of B on its list, which has arrived.
  __device__ void start_layer() {
    if (fetched_ < end_) {
      const auto* const list = shared_ + Shape::lists_at + of_list_ * Shape::list_bytes;
      const forms::brick_layer layer = layer_in_shared(list);
      unsigned char* const stage = shared_ + Shape::stages_at + stage_ * Shape::stage_bytes;
      copy(stage, a_.brick_rows + layer.first_row, 8 * (layer.num_rows() + 1));
      if (reads_) {
        copy(stage + Shape::slots_in_stage, a_.entry_slots + layer.first_entry, 2 * layer.num_entries());
        copy(stage + Shape::values_in_stage, a_.values + layer.first_entry, size * layer.num_entries());
        fetch(reinterpret_cast<const int2*>(list + sizeof(forms::brick_layer)), layer.num_fetches());
      }
      ++fetched_;
    }
    of_list_ = next_of<Shape::num_lists>(of_list_);
    stage_ = next_of<2>(stage_);
    commit_copies();
  }

 private:
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }

  __device__ forms::brick_layer load(int layer) const {
    return layer < end_ ? layer_of(__ldg(reinterpret_cast<const uint4*>(a_.layers + layer))) : forms::brick_layer{};
  }

  /// Whole pieces of 16 bytes: whatever belongs to a layer is padded to them.
  static __device__ void copy(unsigned char* to, const void* from, int bytes) {
    const shared_place place(to);
    for (int at = 16 * thread(); at < bytes; at += 16 * Shape::threads) {
      copy_async16(place + at, static_cast<const unsigned char*>(from) + at);
    }
  }

  /// A thread copies the same piece of every few rows; single values where rows are not whole pieces.
  __device__ void fetch(const int2* fetches, int count) const {
    const int piece = thread() % row_pieces, first = thread() / row_pieces;
    constexpr int step = Shape::threads / row_pieces;
    if constexpr (Wide) {
      const int present = min((width_ - piece * Shape::vector) * size, 16);
      if (present <= 0) return;
      const auto from = reinterpret_cast<std::uint64_t>(b_ + piece * Shape::vector);
      const auto ldb_bytes = static_cast<std::uint32_t>(ldb_bytes_);
      const shared_place to(shared_ + 16 * piece);
#pragma unroll 4
      for (int i = first; i < count; i += step) {
        const int2 one = fetches[i];  // column, slot
        const std::uint64_t row = from + std::uint64_t{static_cast<std::uint32_t>(one.x)} * ldb_bytes;
        copy_async<16>(to + one.y * Shape::row_bytes, reinterpret_cast<const void*>(row), present);
      }
    } else {
      for (int i = first; i < count; i += step) {
        const int2 one = fetches[i];
        const auto* const row = reinterpret_cast<const T*>(
            reinterpret_cast<std::uint64_t>(b_) + std::uint64_t{static_cast<std::uint32_t>(one.x)} * ldb_bytes_);
        for (int n = piece; n < width_; n += row_pieces) {
          copy_async<size>(shared_ + one.y * Shape::row_bytes + n * size, row + n, size);
        }
      }
    }
  }

  const bricks_operand<T>& a_;
  unsigned char* shared_;
  int listed_;   // the next layer whose list is asked for,
  int fetched_;  // and which is itself
  int end_;
  forms::brick_layer coming_;  // layer `listed_`
  std::uint64_t ldb_bytes_;
  int width_;  // columns of the tile that exist
  bool reads_;
  const T* b_;  // the tile's first column
  int list_ = 0, of_list_ = 0, stage_ = 0;
};

}  // namespace bcsc::kernels::cuda
