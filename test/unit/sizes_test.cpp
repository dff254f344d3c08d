// Sizes at and past 2^31 and 2^32 with little memory: views of few entries in huge matrices, and numbers of entries
// that are never allocated. Every product of sizes must be 64 bits wide or refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "bcsc/any_matrix.hpp"
#include "bcsc/error.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"
#include "test/support/any_oracle.hpp"
#include "test/support/code_of.hpp"

namespace bcsc {
namespace {

using test::code_of;

__extension__ typedef __int128 wide;
constexpr wide greatest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t sizes[] = {(std::int64_t{1} << 31) - 1, std::int64_t{1} << 31, (std::int64_t{1} << 32) + 512};

class size : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(of, size, ::testing::ValuesIn(sizes));

bool fits(wide x) { return x <= greatest; }
wide ceil_div(wide a, wide b) { return (a + b - 1) / b; }

/// What a footprint must be; nothing where it does not fit.
void expect_footprint(wide wanted, const std::function<std::int64_t()>& footprint) {
  if (fits(wanted)) {
    EXPECT_EQ(footprint(), static_cast<std::int64_t>(wanted));
  } else {
    EXPECT_EQ(code_of([&] { footprint(); }), errc::size_overflow);
  }
}

TEST_P(size, footprints_are_exact_or_refused) {
  const std::int64_t n = GetParam();
  const wide w = n;
  for (const value_type type : all_value_types) {
    for (const wide i : {4, 8}) {
      const wide s = size_of(type);
      const auto width = static_cast<std::int64_t>(i);
      SCOPED_TRACE(std::string(to_string(type)) + " " + std::to_string(width));
      for (const std::int64_t many : {std::int64_t{1}, std::int64_t{1000}, n, std::int64_t{1} << 60}) {
        const wide m = many;
        expect_footprint((2 * i + s) * m * 1, [&] { return footprint::coo(many, type, width); });
        expect_footprint((i + s) * m + i * (w + 1), [&] { return footprint::csr(n, many, type, width); });
        expect_footprint((i + s) * m + i * (w + 1), [&] { return footprint::csc(n, many, type, width); });
        expect_footprint(i * (ceil_div(w, 32) + 1 + w + w + 1 + m) + s * m,
                         [&] { return footprint::bcsc(n, 32, n, many, type, width); });
        for (const auto& [m_block, bytes] : {std::pair{32, 1}, {257, 2}}) {
          expect_footprint(i * (2 * ceil_div(w, m_block) + 2 + w) + bytes * (w + m) + s * m, [&, m_block = m_block] {
            return footprint::compact_bcsc(n, m_block, n, many, type, width);
          });
        }
        expect_footprint((i + s) * m + i * (w + 1),
                         [&] { return footprint::compact_bcsc(n, 1, many, many, type, width); });
        if (!can_hold(matrix_format::bsr, type)) continue;
        expect_footprint(i * (ceil_div(w, 3) + 1 + m) + s * 12 * m,
                         [&] { return footprint::bsr(n, 3, 4, many, type, width); });
        if (ceil_div(w, 16) * m <= greatest / 256) {
          expect_footprint(ceil_div(w, 16) * m * (i + 256 * s),
                           [&] { return footprint::ell(n, 16, many, type, width); });
        } else {
          EXPECT_EQ(code_of([&] { footprint::ell(n, 16, many, type, width); }), errc::size_overflow);
        }
        if (fits(w * m)) {
          expect_footprint(s * w * m, [&] { return footprint::dense(n, many, type); });
        } else {
          EXPECT_EQ(code_of([&] { footprint::dense(n, many, type); }), errc::size_overflow);
        }
      }
    }
  }
}

TEST_P(size, is_narrowed_to_32_bits_only_where_it_fits) {
  const std::int64_t n = GetParam();
  const bool narrow = n == sizes[0];
  EXPECT_EQ(code_of([&] { EXPECT_EQ(core::narrow<std::int32_t>(n, "n"), n); }),
            narrow ? errc::ok : errc::size_overflow);
  EXPECT_EQ(core::narrow<std::int64_t>(n, "n"), n);
  for (const std::int64_t m : sizes) {
    const wide product = wide{n} * m;
    EXPECT_EQ(code_of([&] { EXPECT_EQ(core::checked_product(n, m, "n x m"), static_cast<std::int64_t>(product)); }),
              fits(product) ? errc::ok : errc::size_overflow);
  }

  // One entry, far to the right.
  const csr_matrix<float, std::int64_t> a(1, n, {0, 1}, {n - 1}, {2});
  for (const matrix_format to : {matrix_format::coo, matrix_format::csr, matrix_format::bsr, matrix_format::ell,
                                 matrix_format::bcsc, matrix_format::compact_bcsc}) {
    SCOPED_TRACE(to_string(to));
    const any_matrix made = convert(any_view(a), to);
    EXPECT_EQ(made.indices(), narrow ? index_type::int32 : index_type::int64);
    EXPECT_EQ(test::sorted_entries(made), (std::vector<test::stored_entry>{{0, n - 1, test::bits_of(2.0f)}}));
    EXPECT_EQ(code_of([&] { convert(any_view(a), to, {.indices = index_type::int32}); }),
              narrow ? errc::ok : errc::size_overflow);
  }
}

/// A view of entries that do not exist: sizes must be refused before any is read.
template <class X>
std::span<const X> imaginary(std::int64_t size) {
  static const X one{};
  return {&one, static_cast<std::size_t>(size)};
}

TEST_P(size, of_the_entries_is_refused_where_32_bits_do_not_count_them) {
  const std::int64_t n = GetParam();
  if (n == sizes[0]) return;  // they do
  using I = std::int32_t;
  const auto patterns = pattern_span(static_cast<std::size_t>(n));
  const csr_view<pattern, std::int64_t> wide{1, 1, imaginary<std::int64_t>(2), imaginary<std::int64_t>(n), patterns};
  EXPECT_EQ(any_view(wide).num_values(), n);
  const std::function<void()> refused[] = {
      [&] {
        validate(csr_view<pattern, I>{1, 1, imaginary<I>(2), imaginary<I>(n), patterns});
      },
      [&] {
        validate(csc_view<pattern, I>{1, 1, imaginary<I>(2), imaginary<I>(n), patterns});
      },
      [&] {
        validate(bcsc_view<pattern, I>{1, 1, 1, imaginary<I>(2), imaginary<I>(n), imaginary<I>(n + 1), imaginary<I>(n),
                                       patterns});
      },
      [&] {
        validate(compact_bcsc_view<pattern, I>{1,
                                               1,
                                               1,
                                               {},
                                               imaginary<I>(2),
                                               imaginary<I>(2),
                                               {},
                                               imaginary<I>(n),
                                               {nullptr, static_cast<std::size_t>(n), 0},
                                               {nullptr, static_cast<std::size_t>(n), 0},
                                               patterns});
      },
      [&] {
        to_csr(coo_view<pattern, I>{1, 1, imaginary<I>(n), imaginary<I>(n), patterns});
      },
      [&] { cast<pattern, I>(wide); },
      [&] { convert(any_view(wide), matrix_format::csr, {.indices = index_type::int32}); },
      [&] { validate(coo_view<float, I>{.rows = n, .cols = 1}); },
      [&] { validate(ell_view<float, I>{.rows = 1, .cols = n}); },
      [&] { to_csr<I>(dense_view<const float>(nullptr, n, 0)); },
      [&] { to_csr<I>(dense_view<const float>(nullptr, 0, n)); },
  };
  for (std::size_t k = 0; k < std::size(refused); ++k) EXPECT_EQ(code_of(refused[k]), errc::size_overflow) << k;
}

TEST_P(size, of_the_columns_keeps_every_index_in_every_format) {
  const std::int64_t n = GetParam();
  // Three rows, with entries at both ends and in the middle.
  const csr_matrix<double, std::int64_t> a(3, n, {0, 3, 3, 5}, {0, n / 2, n - 1, n / 2 - 1, n - 1}, {1, 2, 3, 4, 5});
  const std::vector<test::stored_entry> entries = test::sorted_entries(a);
  const auto expect = [&](const any_matrix& made) {
    SCOPED_TRACE(std::string(to_string(made.format())));
    EXPECT_NO_THROW(validate(made.view()));
    EXPECT_EQ(test::sorted_entries(made), entries);
    const any_matrix back = convert(made.view(), matrix_format::csr, {.indices = index_type::int64});
    EXPECT_TRUE(test::raw(back) == test::raw(any_view(a)));
  };
  for (const std::int64_t c : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1} << 18}) {
    const auto bsr = to_bsr(a, 2, c);
    std::vector<std::int64_t> columns;
    for (const std::int64_t row_block : {0, 1}) {
      std::vector<std::int64_t> of_row;
      for (const auto& e : entries) {
        if (e.row / 2 == row_block) of_row.push_back(e.col / c);
      }
      of_row.erase(std::unique(of_row.begin(), of_row.end()), of_row.end());
      columns.insert(columns.end(), of_row.begin(), of_row.end());
    }
    EXPECT_EQ(std::vector<std::int64_t>(bsr.view().bcol_ind.begin(), bsr.view().bcol_ind.end()), columns);
    expect(bsr);
  }
  for (const std::int64_t block : {1, 7, 500}) expect(to_ell(a, block));
  for (const std::int64_t m_block : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, n}) expect(to_bcsc(a, m_block));
  for (const std::int64_t m_block : {1, 2, 257}) {
    for (const std::int64_t dense_from : {0, 2}) {
      expect(to_compact(a, {.m_block = m_block, .dense_from = dense_from}));
    }
  }
  expect(to_coo(a));
}

TEST_P(size, of_a_block_or_a_dense_matrix_is_exact_or_refused) {
  const std::int64_t n = GetParam();
  const csr_matrix<double, std::int64_t> one(1, 1, {0, 1}, {0}, {1});
  for (const std::int64_t m : sizes) {
    // A block of n x m doubles is beyond any memory: which error it is depends on whether it is also beyond 63 bits.
    EXPECT_EQ(code_of([&] { to_bsr(one, n, m); }), fits(wide{n} * m) ? errc::out_of_memory : errc::size_overflow);
    if (!fits(wide{n} * m * 8)) {
      EXPECT_EQ(code_of([&] { dense_matrix<double>(n, m); }), errc::size_overflow);
      EXPECT_EQ(code_of([&] { validate(dense_view<const double>(nullptr, n, m)); }), errc::size_overflow);
      EXPECT_EQ(code_of([&] { validate(dense_view<const double>(nullptr, n, 1, m)); }), errc::size_overflow);
    }
  }
  EXPECT_EQ(code_of([&] { to_ell(one, n); }), fits(wide{n} * n) ? errc::out_of_memory : errc::size_overflow);
  EXPECT_EQ(detail::dense_size(n, 1000, 8), static_cast<std::size_t>(n) * 1000);
}

TEST_P(size, of_the_rows_is_held_by_views) {
  const std::int64_t n = GetParam();
  // The last row of the last block of each format.
  using I = std::int64_t;
  constexpr std::int64_t m_block = 1 << 16;
  const std::int64_t num_blocks = (n - 1) / m_block + 1, in_last = (n - 1) % m_block;
  std::vector<I> ptr(static_cast<std::size_t>(num_blocks) + 1, 0);
  ptr.back() = 1;
  const std::vector<I> zero{0}, ends{0, 1}, last_row{n - 1}, row_before{(num_blocks - 1) * m_block - 1};
  const std::vector<float> value{7};

  validate(coo_view<float, I>{n, 1, last_row, zero, value});
  bcsc_view<float, I> b{n, 1, m_block, ptr, zero, ends, last_row, value};
  validate(b);
  EXPECT_EQ(test::sorted_entries(b), (std::vector<test::stored_entry>{{n - 1, 0, test::bits_of(7.0f)}}));
  b.row_ind = row_before;
  EXPECT_EQ(code_of([&] { validate(b); }), errc::invalid_format);

  for (const std::int64_t row : {in_last, in_last + 1}) {
    const auto row_in_block = static_cast<std::uint16_t>(row);
    const std::uint16_t count = 0;
    const compact_bcsc_view<float, I> c{n,    1, m_block, {}, ptr, ptr, {}, zero, {&count, 1, 2}, {&row_in_block, 1, 2},
                                        value};
    if (row == in_last) {
      validate(c);
      EXPECT_EQ(c.first_row(num_blocks - 1), (num_blocks - 1) * m_block);
      EXPECT_EQ(c.first_row(num_blocks), n);
      EXPECT_EQ(test::sorted_entries(c), (std::vector<test::stored_entry>{{n - 1, 0, test::bits_of(7.0f)}}));
    } else if (row < m_block) {
      EXPECT_EQ(code_of([&] { validate(c); }), errc::index_out_of_range);
    }
  }

  std::vector<float> block(static_cast<std::size_t>(m_block), 0);
  block[static_cast<std::size_t>(in_last)] = 7;
  bsr_view<float, I> r{n, 1, m_block, 1, ptr, zero, block};
  validate(r);
  EXPECT_EQ(test::sorted_entries(r), (std::vector<test::stored_entry>{{n - 1, 0, test::bits_of(7.0f)}}));
  if (in_last + 1 < m_block) {
    std::swap(block[static_cast<std::size_t>(in_last)], block[static_cast<std::size_t>(in_last) + 1]);
    EXPECT_EQ(code_of([&] { validate(r); }), errc::invalid_format);
  }
  validate(ell_view<float, I>{.rows = n, .cols = n, .block = 7});

  // Sorting entries of a matrix with this many rows takes memory for the entries only.
  const coo_matrix<float, I> sorted(n, n, {n - 1, 0, n / 2, n - 1}, {n - 1, n - 1, 5, n - 1}, {1, 2, 3, 4});
  EXPECT_EQ(test::sorted_entries(sorted), (std::vector<test::stored_entry>{{0, n - 1, test::bits_of(2.0f)},
                                                                           {n / 2, 5, test::bits_of(3.0f)},
                                                                           {n - 1, n - 1, test::bits_of(5.0f)}}));
}

TEST_P(size, is_cut_evenly) {
  const std::int64_t n = GetParam();
  for (const std::int64_t pieces : {1, 2, 3, 7, 128}) {
    const auto cuts = converters::even_cuts(n, pieces, [](std::int64_t i) { return i; });
    ASSERT_EQ(cuts.size(), static_cast<std::size_t>(pieces) + 1);
    for (std::int64_t p = 0; p <= pieces; ++p) {
      const wide exact = wide{n} * p / pieces;
      EXPECT_LE(std::abs(cuts[static_cast<std::size_t>(p)] - static_cast<std::int64_t>(exact)), 1);
    }
  }
  // Heavy segments: of three rows the middle one has everything.
  const std::int64_t ptr[] = {0, 0, n, n};
  const auto cuts = converters::even_segment_cuts(ptr, 3);
  EXPECT_EQ(cuts.front(), 0);
  EXPECT_EQ(cuts.back(), 3);
  EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end(), std::less_equal<>()));
}

}  // namespace
}  // namespace bcsc
