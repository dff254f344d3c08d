#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "bcsc/any_matrix.hpp"
#include "test/support/oracle.hpp"

/// What a matrix of any format holds, read off its arrays by loops that the library does not share.
namespace bcsc::test {

/// f.template operator()<T, I>() for the types that the run-time enumerators mean.
template <class F>
auto with_types(value_type element, index_type indices, F&& f) {
  const auto with_index = [&]<class T>(T) {
    return indices == index_type::int32 ? f.template operator()<T, std::int32_t>()
                                        : f.template operator()<T, std::int64_t>();
  };
  switch (element) {
    case value_type::fp32:
      return with_index(float{});
    case value_type::fp64:
      return with_index(double{});
    case value_type::fp16:
      return with_index(half{});
    case value_type::bf16:
      return with_index(bfloat16{});
    case value_type::pattern:
      break;
  }
  return with_index(pattern{});
}

/// One entry; the value by its bits, which are 0 in a pattern.
struct stored_entry {
  std::int64_t row, col;
  std::uint64_t bits;
  auto operator<=>(const stored_entry&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const stored_entry& e) {
  return out << "(" << e.row << ", " << e.col << "): 0x" << std::hex << e.bits << std::dec;
}

template <class T>
std::uint64_t bits_of(T value) {
  if constexpr (std::same_as<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else if constexpr (std::same_as<T, double>) {
    return std::bit_cast<std::uint64_t>(value);
  } else if constexpr (std::same_as<T, pattern>) {
    return 0;
  } else {
    return value.bits;
  }
}
/// 0 or -0: no bit but the sign.
template <class T>
bool is_zero(T value) {
  return (bits_of(value) << (64 - 8 * sizeof(T)) << 1) == 0;
}

/// The entries of a host view, in the order of its arrays; in formats with padding, those that are not 0.
template <class View>
std::vector<stored_entry> entries_of(const View& a) {
  std::vector<stored_entry> all;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  constexpr matrix_format format = format_of<View>;
  if constexpr (format == matrix_format::coo) {
    for (std::size_t k = 0; k < a.values.size(); ++k) all.push_back({a.row_ind[k], a.col_ind[k], bits_of(a.values[k])});
  } else if constexpr (format == matrix_format::csr) {
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (auto k = at(a.row_ptr[at(i)]); k < at(a.row_ptr[at(i + 1)]); ++k) {
        all.push_back({i, a.col_ind[k], bits_of(a.values[k])});
      }
    }
  } else if constexpr (format == matrix_format::csc) {
    for (std::int64_t j = 0; j < a.cols; ++j) {
      for (auto k = at(a.col_ptr[at(j)]); k < at(a.col_ptr[at(j + 1)]); ++k) {
        all.push_back({a.row_ind[k], j, bits_of(a.values[k])});
      }
    }
  } else if constexpr (format == matrix_format::bsr) {
    for (std::size_t b = 0; b + 1 < a.brow_ptr.size(); ++b) {
      for (auto k = at(a.brow_ptr[b]); k < at(a.brow_ptr[b + 1]); ++k) {
        for (std::int64_t r = 0; r < a.row_block; ++r) {
          for (std::int64_t c = 0; c < a.col_block; ++c) {
            const auto value = a.values[(k * at(a.row_block) + at(r)) * at(a.col_block) + at(c)];
            if (is_zero(value)) continue;
            all.push_back(
                {static_cast<std::int64_t>(b) * a.row_block + r, a.bcol_ind[k] * a.col_block + c, bits_of(value)});
          }
        }
      }
    }
  } else if constexpr (format == matrix_format::ell) {
    const std::int64_t width = a.blocks_per_row * a.block;
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(a.values.size()); ++k) {
      if (is_zero(a.values[at(k)])) continue;
      const std::int64_t row = k / width, slot = k % width / a.block;
      const std::int64_t block_col = a.bcol_ind[at(row / a.block * a.blocks_per_row + slot)];
      all.push_back({row, block_col * a.block + k % a.block, bits_of(a.values[at(k)])});
    }
  } else if constexpr (format == matrix_format::dense) {
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (std::int64_t j = 0; j < a.cols; ++j) {
        const auto value = a.data[a.order == layout::row_major ? i * a.ld + j : i + j * a.ld];
        if (!is_zero(value)) all.push_back({i, j, bits_of(value)});
      }
    }
  } else if constexpr (format == matrix_format::bcsc) {
    for (std::size_t j = 0; j < a.col_ind.size(); ++j) {
      for (auto k = at(a.col_ptr[j]); k < at(a.col_ptr[j + 1]); ++k) {
        all.push_back({a.row_ind[k], a.col_ind[j], bits_of(a.values[k])});
      }
    }
  } else {
    std::size_t k = 0;
    for (std::size_t b = 0; b + 1 < a.brow_ptr.size(); ++b) {
      const std::int64_t first_row =
          a.block_row.empty() ? static_cast<std::int64_t>(b) * a.m_block : std::int64_t{a.block_row[b]};
      for (auto j = at(a.brow_ptr[b]); j < at(a.brow_ptr[b + 1]); ++j) {
        for (std::int64_t n = a.col_count[j]; n >= 0; --n, ++k) {
          const std::int64_t col = a.col_ind16.empty() ? std::int64_t{a.col_ind[j]} : std::int64_t{a.col_ind16[j]};
          all.push_back({first_row + a.row_in_block[k], col, bits_of(a.values[k])});
        }
      }
    }
  }
  return all;
}

/// By row, then column.
inline std::vector<stored_entry> sorted_entries(const any_view& a) {
  std::vector<stored_entry> all = a.visit([](const auto& view) { return entries_of(view); });
  std::sort(all.begin(), all.end());
  return all;
}

/// A view as numbers and bytes: two are equal if every array is, bit for bit. Borrows the arrays.
struct raw_view {
  matrix_format format;
  value_type element;
  index_type indices;
  std::vector<std::int64_t> numbers;  ///< sizes, block sizes, layout, lengths
  std::vector<std::span<const std::byte>> arrays;

  std::int64_t bytes() const {
    std::size_t sum = 0;
    for (const auto& array : arrays) sum += array.size();
    return static_cast<std::int64_t>(sum);
  }
  friend bool operator==(const raw_view& a, const raw_view& b) {
    const auto same = [](auto x, auto y) {
      return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
    };
    return a.format == b.format && a.element == b.element && a.indices == b.indices && a.numbers == b.numbers &&
           std::equal(a.arrays.begin(), a.arrays.end(), b.arrays.begin(), b.arrays.end(), same);
  }
};

inline raw_view raw(const any_view& any) {
  raw_view out{any.format(), any.element(), any.indices(), {any.rows(), any.cols(), any.num_values()}, {}};
  const auto add = [&](const auto&... arrays) {
    (out.numbers.push_back(static_cast<std::int64_t>(arrays.size())), ...);
    const auto bytes = [](const auto& array) {
      return std::span(static_cast<const std::byte*>(static_cast<const void*>(array.data())), array.size_bytes());
    };
    (out.arrays.push_back(bytes(arrays)), ...);
  };
  any.visit([&]<class View>(const View& a) {
    constexpr matrix_format format = format_of<View>;
    if constexpr (format == matrix_format::coo) {
      add(a.row_ind, a.col_ind, a.values);
    } else if constexpr (format == matrix_format::csr) {
      add(a.row_ptr, a.col_ind, a.values);
    } else if constexpr (format == matrix_format::csc) {
      add(a.col_ptr, a.row_ind, a.values);
    } else if constexpr (format == matrix_format::bsr) {
      out.numbers.insert(out.numbers.end(), {a.row_block, a.col_block});
      add(a.brow_ptr, a.bcol_ind, a.values);
    } else if constexpr (format == matrix_format::ell) {
      out.numbers.insert(out.numbers.end(), {a.block, a.blocks_per_row});
      add(a.bcol_ind, a.values);
    } else if constexpr (format == matrix_format::dense) {
      out.numbers.insert(out.numbers.end(), {a.ld, std::int64_t{a.order == layout::row_major}});
      add(std::span(a.data, static_cast<std::size_t>(a.rows * a.cols)));  // packed
    } else if constexpr (format == matrix_format::bcsc) {
      out.numbers.push_back(a.m_block);
      add(a.brow_ptr, a.col_ind, a.col_ptr, a.row_ind, a.values);
    } else {
      out.numbers.push_back(a.m_block);
      // With m_block = 1 one array is both.
      add(a.block_row, a.brow_ptr, a.m_block == 1 ? a.brow_ptr.first(0) : a.entry_ptr, a.dense_end, a.col_ind,
          a.col_ind16, a.col_count, a.row_in_block, a.values);
    }
  });
  return out;
}

}  // namespace bcsc::test
