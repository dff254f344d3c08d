#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/formats.hpp"
#include "converters/formats/rows_stream.hpp"
#include "lib/core/buffer.hpp"
#include "lib/core/cached_pieces.hpp"

/// CSR as the GPU kernels stream it that hold rows of B in shared memory.
///
/// The *hot* columns are those whose rows of B are worth a copy to the shared memory of every thread block: all that
/// have entries, if so many slots there are, else those with `least_uses` entries or more. Where pieces of rows are
/// long enough (`least_entries` in the mean) they are parted into *panels* that fit one after the other, neighbouring
/// columns together, with whatever else finds a free slot there; else only the columns with the most entries are hot,
/// one panel of them. Entries in other columns are *cold*, and go with the first panel.
///
/// Rows are cut and ordered as in rows_stream.hpp. Piece i of every panel is of one row; it may have no entries there.
/// A panel's pieces follow each other, and so do their entries, hot before cold. Cold ones keep their order. Hot ones
/// do too where a row of B in shared memory is whole wavefronts; where several lie in one, those that are read together
/// take turns, as far as a piece has them: entries of pair q should lie in slots of q modulo their number.
namespace bcsc::converters {

struct cached_stream_options {
  rows_stream_options rows = {};
  std::int64_t row_bytes = 128;  ///< of a row of B in shared memory: a power of two, 16 at least
  std::int64_t slots = 1792;     ///< rows of B that shared memory holds, at least `stages`
  std::int64_t stages = 1;       ///< panels that lie there at once, if there are several
  std::int64_t least_uses = 128;
  std::int64_t least_entries = 16;
};

template <number T>
struct cached_stream {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::int64_t num_panels = 1;
  std::int64_t panel_slots = 0;  ///< of all panels but the last, which may have fewer
  std::int64_t stages = 1;       ///< panel p lies where panel p - stages lay
  std::int64_t cold_entries = 0;
  std::int64_t num_partials = 0;              ///< the pieces of heavy rows
  std::vector<core::cached_piece> pieces;     ///< [num_panels * num_pieces]
  std::vector<core::entry_pair<T>> pairs;     ///< [num_pairs + spare_pairs]; padding has column 0, value 0
  std::vector<std::int32_t> hot_cols;         ///< panel by panel, slot by slot
  std::vector<std::int32_t> heavy_ptr = {0};  ///< [num_heavy + 1] the first piece of each heavy row

  std::int64_t num_pieces() const { return static_cast<std::int64_t>(pieces.size()) / num_panels; }
  std::int64_t num_heavy() const { return static_cast<std::int64_t>(heavy_ptr.size()) - 1; }
  std::int64_t num_hot() const { return static_cast<std::int64_t>(hot_cols.size()); }
  friend bool operator==(const cached_stream&, const cached_stream&) = default;
};

/// `a` lies on the host and holds its invariants. Parallel; the result does not depend on the number of threads. Reads
/// A twice, and beside the result needs the memory of a rows_stream. Throws as to_rows_stream() does.
template <number T, index I>
cached_stream<T> to_cached_stream(const csr_view<T, I>& a, const cached_stream_options& options = {});

/// A stream on a GPU; device_compact.hpp says the same of its matrices.
template <number T>
struct device_cached_stream {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::int64_t num_panels = 1, panel_slots = 0, stages = 1;
  std::int64_t cold_entries = 0, num_partials = 0;
  core::device_buffer<core::cached_piece> pieces;
  core::device_buffer<core::entry_pair<T>> pairs;
  core::device_buffer<std::int32_t> hot_cols, heavy_ptr;

  std::int64_t num_pieces() const { return pieces.size() / num_panels; }
  std::int64_t num_heavy() const { return heavy_ptr.size() - 1; }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(pieces.bytes() + pairs.bytes() + hot_cols.bytes() + heavy_ptr.bytes());
  }
};

/// Returns when the copy is done.
template <number T>
device_cached_stream<T> upload(int device, const cached_stream<T>& a) {
  return {a.rows,
          a.cols,
          a.nnz,
          a.num_panels,
          a.panel_slots,
          a.stages,
          a.cold_entries,
          a.num_partials,
          {device, std::span<const core::cached_piece>(a.pieces)},
          {device, std::span<const core::entry_pair<T>>(a.pairs)},
          {device, std::span<const std::int32_t>(a.hot_cols)},
          {device, std::span<const std::int32_t>(a.heavy_ptr)}};
}

}  // namespace bcsc::converters
