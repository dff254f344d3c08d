#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "bcsc/formats.hpp"
#include "core/checked.hpp"
#include "kernels/forms/gray_code.hpp"

/// The order in which a row block's columns go into tiles, on the host.
namespace bcsc::forms {

/// The columns of one row block, in the order in which they go into groups: those that reach the same parts, of
/// `part_rows` rows each, beside each other, or as they stand in A. At most 16 parts.
template <number T, index I>
class block_order {
 public:
  struct column {
    std::int64_t index;  ///< in col_ind
    std::int64_t entry;  ///< the first of its entries
    unsigned parts;
  };

  block_order(const compact_bcsc_view<T, I>& a, int part_rows, bool by_parts)
      : a_(a), part_rows_(part_rows), by_parts_(by_parts) {}

  const std::vector<column>& of(std::int64_t block) {
    using core::at;
    const std::int64_t first = a_.brow_ptr[at(block)], last = a_.brow_ptr[at(block) + 1];
    found_.clear();
    std::int64_t entry = a_.entry_ptr[at(block)];
    for (std::int64_t j = first; j < last; ++j) {
      column c{j, entry, 0};
      entry += a_.col_count[at(j)] + 1;
      for (std::int64_t k = c.entry; k < entry; ++k) c.parts |= 1u << a_.row_in_block[at(k)] / part_rows_;
      found_.push_back(c);
    }
    if (!by_parts_) return found_;
    for (int bit = 0; bit < most_parts && bit * part_rows_ < a_.m_block; bit += digit_bits) sort_by(bit);
    return found_;
  }

 private:
  static constexpr int most_parts = 16, digit_bits = 8;

  /// Keeps the order of columns whose ranks have the same digit there.
  void sort_by(int bit) {
    using core::at;
    const auto digit = [&](const column& c) { return gray_rank(c.parts) >> bit & ((1u << digit_bits) - 1); };
    std::array<std::int64_t, 1 << digit_bits> next{};
    for (const column& c : found_) ++next[digit(c)];
    std::int64_t before = 0;
    for (std::int64_t& n : next) before += std::exchange(n, before);
    ordered_.resize(found_.size());
    for (const column& c : found_) ordered_[at(next[digit(c)]++)] = c;
    found_.swap(ordered_);
  }

  const compact_bcsc_view<T, I>& a_;
  int part_rows_;
  bool by_parts_;
  std::vector<column> found_, ordered_;
};

/// The parts that columns first ... first + count - 1 reach, as far as there are so many.
template <class Column>
unsigned parts_of_group(const std::vector<Column>& columns, std::size_t first, std::size_t count) {
  unsigned parts = 0;
  for (std::size_t j = first; j < first + count && j < columns.size(); ++j) parts |= columns[j].parts;
  return parts;
}

}  // namespace bcsc::forms
