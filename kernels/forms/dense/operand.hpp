#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/forms/product_args.hpp"

namespace bcsc::kernels {

/// Entries per word of the mask.
inline constexpr std::int64_t dense_mask_bits = 32;

/// In units of rounding of fp32: what an fp16 pair may lose of a value before it counts as lossy, and what lossy values
/// may cost a sum before it is multiplied once more.
inline constexpr int terms_of_halves = 16, terms_of_lossy_halves = 64;

/// A in fp16 parts (kernels/forms/dense/halves.cuh), three times as wide as it is: its low parts, its high parts, and
/// these times 2^11. Times B's high, low and high parts they add up to A * B times 2^11 and the scales of both. Or its
/// high parts alone, times B's.
struct halves_of_a {
  int count = 0;                            ///< fp16 numbers stored for a value: 3, 1, or 0 where there are none
  const half* parts = nullptr;              ///< [rows][count * ld]; null: of no use
  std::int64_t ld = 0;                      ///< columns with the padding: a multiple of 16 bytes
  const float* back = nullptr;              ///< [rows] what sums are multiplied by, 2^-11 of three parts included
  const std::int32_t* num_lossy = nullptr;  ///< [rows] values that lose bits
};

/// A with its zeros, and which of its entries are stored: non-finite values of B are multiplied by those alone.
template <class T>
struct dense_operand {
  std::int64_t rows, cols;
  std::int64_t nnz;        ///< stored entries, zeros among them or not
  std::int64_t ld;         ///< values from a row to the next: a multiple of 16 bytes
  const T* values;         ///< [rows][ld], row-major, in the order of C's rows; aligned to 16 bytes
  std::int64_t row_words;  ///< of the mask
  /// [rows][row_words] bit c % 32 of word c / 32: the entry in column c is stored. Only read where a product is not
  /// finite.
  const std::uint32_t* mask;
  scalar_of<T>* sums;  ///< [rows][n] or [n][rows], as C lies: workspace, written and read by each run
  void* spare;         ///< more workspace, aligned to 256 bytes, which the product may do without
  std::int64_t spare_bytes;
  /// Sums have room for B's parts, too, if there are A's (halves_workspace).
  halves_of_a halves = {};
};

/// What a product of halves keeps in its workspace, one after the other, each aligned to 32 bytes: sums as C lies,
/// lines padded; B's parts as B lies; of each column what its largest magnitude is, in chunks of rows, what sums
/// are multiplied by, and how many of its values lose bits.
class halves_workspace {
 public:
  static constexpr std::int64_t max_chunks = 32, grain = 8;

  /// `count`: as of halves_of_a.
  constexpr halves_workspace(std::int64_t rows, int count, std::int64_t ld, std::int64_t n)
      : begin_(rows), end_(rows + count * ld / 2), padded_((n + grain - 1) / grain * grain) {}

  /// In rows of padded() values of four bytes.
  constexpr std::int64_t num_rows() const { return end_ + max_chunks + 2; }
  constexpr std::int64_t padded() const { return padded_; }  ///< n
  half* parts(float* first) const { return reinterpret_cast<half*>(first + begin_ * padded_); }
  std::uint32_t* largest(float* first) const { return reinterpret_cast<std::uint32_t*>(row(first, 0)); }
  float* back(float* first) const { return row(first, max_chunks); }
  std::int32_t* num_lossy(float* first) const { return reinterpret_cast<std::int32_t*>(row(first, max_chunks + 1)); }

 private:
  float* row(float* first, std::int64_t i) const { return first + (end_ + i) * padded_; }

  std::int64_t begin_, end_;  ///< of the parts, in rows
  std::int64_t padded_;
};

template <class T>
using dense_args = product_args<T, dense_operand<T>>;

}  // namespace bcsc::kernels
