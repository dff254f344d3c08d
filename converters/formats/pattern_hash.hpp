#pragma once

#include <cstdint>

#include "bcsc/formats.hpp"

namespace bcsc::converters {

/// 128 bits that are equal for matrices of equal shape and pattern, whatever their values and the width of their
/// indices, and differ for all others except by chance.
///
/// Source: sums of hashes of (position, word): Bellare and Micciancio, "A new paradigm for collision-free hashing:
/// incrementality at reduced cost", EUROCRYPT 1997; the mixing steps are those of Steele, Lea and Flood's splitmix64,
/// OOPSLA 2014.
struct pattern_hash {
  std::uint64_t low = 0, high = 0;

  /// Adds word `i`. The order does not matter, so the sums do not depend on the threads.
  constexpr void add(std::int64_t i, std::uint64_t word) {
    const std::uint64_t hash = mix(mix(static_cast<std::uint64_t>(i) + 0x9e3779b97f4a7c15u) + word);
    low += hash;
    high += (hash >> 32) * (hash & 0xffffffffu);
  }
  /// Of the words of both.
  constexpr pattern_hash& operator+=(const pattern_hash& other) {
    low += other.low;
    high += other.high;
    return *this;
  }
  friend constexpr bool operator==(const pattern_hash&, const pattern_hash&) = default;

 private:
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }
};

/// What is hashed: the shape, then the index arrays of CSR, one after the other, two numbers per word. They lie on the
/// host or on a device.
template <index I>
struct csr_pattern {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  const I* row_ptr = nullptr;
  const I* col_ind = nullptr;

  template <class T>
  explicit csr_pattern(const csr_view<T, I>& a)
      : rows(a.rows), cols(a.cols), nnz(a.nnz()), row_ptr(a.row_ptr.data()), col_ind(a.col_ind.data()) {}

  constexpr std::int64_t size() const { return 1 + words(rows + 1) + words(nnz); }
  constexpr std::uint64_t operator[](std::int64_t i) const {
    if (i == 0) return word(rows, cols);
    i -= 1;
    if (i < words(rows + 1)) return word_of(row_ptr, rows + 1, i);
    return word_of(col_ind, nnz, i - words(rows + 1));
  }

 private:
  static constexpr std::int64_t words(std::int64_t n) { return (n + 1) / 2; }
  static constexpr std::uint64_t word(std::int64_t first, std::int64_t second) {
    const auto high = static_cast<std::uint64_t>(second);
    return static_cast<std::uint64_t>(first) + (high << 32 | high >> 32);
  }
  static constexpr std::uint64_t word_of(const I* array, std::int64_t n, std::int64_t i) {
    return word(array[2 * i], 2 * i + 1 < n ? array[2 * i + 1] : 0);
  }
};

/// Of a matrix on the host, by all threads.
template <index I>
pattern_hash hash_pattern(const csr_pattern<I>& pattern);

/// Of a matrix on the device: the same. Waits. Throws error{no_device} in a build without CUDA.
template <index I>
pattern_hash hash_pattern_on_device(int device, const csr_pattern<I>& pattern);

}  // namespace bcsc::converters
