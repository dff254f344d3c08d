// Every format, to and from every other, in every element and index type: what a matrix holds against a sorted list of
// its entries, and the arrays of a conversion bit by bit against those made straight from CSR. On the battery, and on
// the real matrices. Everything is enumerated: a new format or type is tested as soon as it has its line in a table.
#include <gtest/gtest.h>

#include <map>

#include "bcsc/any_matrix.hpp"
#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "test/support/any_oracle.hpp"
#include "test/support/battery.hpp"
#include "test/support/count_blocks.hpp"
#include "test/support/real_matrices.hpp"

namespace bcsc::test {
namespace {

/// A format with its block sizes.
struct variant {
  std::string name;
  matrix_format format;
  conversion_options options;
  bool uneven = false;  ///< compact: row blocks of individual heights
};

/// How thoroughly: every block size worth a look, or a few.
enum class depth { all, some, one };

std::vector<variant> variants(matrix_format format, depth deep) {
  std::vector<variant> list;
  const auto add = [&](const std::string& name, const conversion_options& options, depth least = depth::all,
                       bool uneven = false) {
    if (deep <= least) list.push_back({std::string(to_string(format)) + name, format, options, uneven});
  };
  switch (format) {
    case matrix_format::coo:
    case matrix_format::csr:
    case matrix_format::csc:
      add("", {}, depth::one);
      break;
    case matrix_format::bsr:
      add("_4x4", {.row_block = 4, .col_block = 4}, depth::one);
      add("_2x3", {.row_block = 2, .col_block = 3}, depth::some);
      for (const auto& [r, c] : {std::pair{1, 1}, {16, 5}, {64, 3}, {1000, 1000}}) {
        add("_" + std::to_string(r) + "x" + std::to_string(c), {.row_block = r, .col_block = c});
      }
      break;
    case matrix_format::ell:
      add("_8", {.ell_block = 8}, depth::one);
      add("_3", {.ell_block = 3}, depth::some);
      for (const std::int64_t block : {1, 2, 32, 1000}) add("_" + std::to_string(block), {.ell_block = block});
      break;
    case matrix_format::dense:
      add("_rows", {.order = layout::row_major}, depth::one);
      add("_cols", {.order = layout::col_major}, depth::some);
      break;
    case matrix_format::bcsc:
      add("_32", {.blocks = {.m_block = 32}}, depth::one);
      add("_7", {.blocks = {.m_block = 7}}, depth::some);
      for (const std::int64_t m : {std::int64_t{1}, std::int64_t{2}, std::int64_t{257}, std::int64_t{1} << 40}) {
        add("_" + std::to_string(m), {.blocks = {.m_block = m}});
      }
      break;
    case matrix_format::compact_bcsc:
      add("_32", {.blocks = {.m_block = 32}}, depth::one);
      add("_7_dense_from_3", {.blocks = {.m_block = 7, .dense_from = 3}}, depth::some);
      add("_32_narrow", {.blocks = {.m_block = 32, .narrow_columns = true}}, depth::some);
      add("_uneven_dense_from_1", {.blocks = {.m_block = 11, .dense_from = 1}}, depth::some, true);
      for (const std::int64_t m : {1, 2, 7, 256, 257, 65536}) {
        for (const std::int64_t dense_from : {0, 1, 3}) {
          const std::string dense = dense_from == 0 ? "" : "_dense_from_" + std::to_string(dense_from);
          add("_" + std::to_string(m) + dense, {.blocks = {.m_block = m, .dense_from = dense_from}});
          add("_" + std::to_string(m) + "_uneven_narrow" + dense,
              {.blocks = {.m_block = m, .dense_from = dense_from, .narrow_columns = true}}, depth::all, true);
        }
      }
      break;
  }
  return list;
}

/// Row blocks 1, 2, 3 ... rows high, as high as m_block at most, and then from 1 again.
std::vector<std::int64_t> uneven_boundaries(std::int64_t rows, std::int64_t m_block) {
  std::vector<std::int64_t> boundaries{0};
  for (std::int64_t height = 1; boundaries.back() < rows;
       height = height == std::min<std::int64_t>(m_block, 19) ? 1 : height + 1) {
    boundaries.push_back(std::min(rows, boundaries.back() + height));
  }
  return boundaries;
}

any_matrix convert_to(const any_view& a, const variant& to, index_type indices) {
  conversion_options options = to.options;
  options.indices = indices;
  const std::vector<std::int64_t> boundaries = uneven_boundaries(a.rows(), options.blocks.m_block);
  if (to.uneven) options.blocks.boundaries = boundaries;
  return convert(a, to.format, options);
}

bool same(const any_matrix& a, const any_matrix& b) { return raw(a) == raw(b); }

/// A matrix in one pair of types: as CSR made from the triplets by hand, and as the sorted list of its entries; whole,
/// and as formats that pad with zeros leave it.
struct typed_case {
  std::string name;
  any_matrix csr[2];
  std::vector<stored_entry> entries[2];
};

typed_case typed(const sparse_case& a, value_type element, index_type indices) {
  return with_types(element, indices, [&]<class T, class I>() {
    typed_case out{a.name, {}, {}};
    std::map<std::pair<std::int64_t, std::int64_t>, T> by_place;
    for (const triplet& e : a.entries)
      by_place.insert_or_assign(by_place.end(), {e.row, e.col}, static_cast<T>(e.value));
    for (const bool padded : {false, true}) {
      std::vector<I> row_ptr(static_cast<std::size_t>(a.rows) + 1, 0), col_ind;
      element_array<T> values;
      for (const auto& [place, value] : by_place) {
        if (padded && number<T> && is_zero(value)) continue;
        ++row_ptr[static_cast<std::size_t>(place.first) + 1];
        col_ind.push_back(static_cast<I>(place.second));
        values.push_back(value);
        out.entries[padded].push_back({place.first, place.second, bits_of(value)});
      }
      for (std::size_t i = 1; i < row_ptr.size(); ++i) row_ptr[i] += row_ptr[i - 1];
      out.csr[padded] = csr_matrix<T, I>(a.rows, a.cols, row_ptr, col_ind, std::move(values), trust::trusted);
    }
    return out;
  });
}

/// The battery, and values that are easily lost.
std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::real);
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  all.push_back({"odd_values",
                 3,
                 5,
                 {{0, 0, 0.0},
                  {0, 1, -0.0},
                  {0, 4, nan},
                  {1, 0, -nan},
                  {1, 2, inf},
                  {1, 3, -inf},
                  {2, 0, 1e-310},
                  {2, 1, 6e-8},
                  {2, 2, 65504},
                  {2, 3, 1e-40},
                  {2, 4, -1e300}}});
  return all;
}

const std::vector<typed_case>& typed_cases(value_type element, index_type indices) {
  static std::map<std::pair<value_type, index_type>, std::vector<typed_case>> made;
  auto& list = made[{element, indices}];
  if (list.empty()) {
    for (const sparse_case& a : cases()) list.push_back(typed(a, element, indices));
  }
  return list;
}

/// What a variant makes of a case, seen from every side.
void expect_variant(const typed_case& a, const variant& v, value_type element, index_type indices) {
  const bool padded = is_padded(v.format);
  const any_matrix made = convert_to(a.csr[0], v, indices);
  EXPECT_EQ(made.format(), v.format);
  EXPECT_EQ(made.element(), element);
  if (v.format != matrix_format::dense) {
    EXPECT_EQ(made.indices(), indices);
  }
  EXPECT_NO_THROW(validate(made.view()));
  EXPECT_EQ(sorted_entries(made), a.entries[padded]);
  made.view().visit([&]<class View>(const View& view) {
    if constexpr (format_of<View> == matrix_format::compact_bcsc) {
      EXPECT_TRUE((v.options.blocks.narrow_columns ? view.col_ind.size() : view.col_ind16.size()) == 0);
    }
  });
  EXPECT_EQ(made.view().bytes(), raw(made).bytes());
  const auto csr_of = [&](const any_matrix& any, bool transposed) {
    return convert(any.view(), matrix_format::csr, {.indices = indices, .transposed = transposed});
  };
  EXPECT_TRUE(same(csr_of(made, false), a.csr[padded]));
  EXPECT_TRUE(same(csr_of(made, true), csr_of(a.csr[padded], true)));
}

/// From every variant of a format to every other: the arrays that CSR gives, bit for bit.
void expect_pairs(const typed_case& a, matrix_format from, matrix_format to, index_type indices, depth deep) {
  for (const variant& first : variants(from, deep)) {
    const any_matrix between = convert_to(a.csr[0], first, indices);
    for (const variant& second : variants(to, deep)) {
      SCOPED_TRACE(first.name + " to " + second.name);
      EXPECT_TRUE(raw(convert_to(between, second, indices)) ==
                  raw(convert_to(a.csr[is_padded(from)], second, indices)));
    }
  }
}

// --- The battery ----------------------------------------------------------------------------------------------------

struct kind {
  value_type element;
  index_type indices;
  matrix_format format;
};

std::vector<kind> kinds() {
  std::vector<kind> all;
  for (const value_type element : all_value_types) {
    for (const index_type indices : all_index_types) {
      for (const matrix_format format : all_matrix_formats) {
        if (can_hold(format, element)) all.push_back({element, indices, format});
      }
    }
  }
  return all;
}

std::string kind_name(const ::testing::TestParamInfo<kind>& info) {
  return std::string(to_string(info.param.element)) + "_" + std::string(to_string(info.param.indices)) + "_" +
         std::string(to_string(info.param.format));
}

class formats_roundtrip : public ::testing::TestWithParam<kind> {};

TEST_P(formats_roundtrip, holds_the_entries_and_gives_them_back) {
  const auto [element, indices, format] = GetParam();
  for (const typed_case& a : typed_cases(element, indices)) {
    for (const variant& v : variants(format, depth::all)) {
      SCOPED_TRACE(a.name + " as " + v.name);
      expect_variant(a, v, element, indices);
    }
  }
}

TEST_P(formats_roundtrip, changes_no_bit_on_the_way_to_any_other) {
  const auto [element, indices, format] = GetParam();
  for (const typed_case& a : typed_cases(element, indices)) {
    SCOPED_TRACE(a.name);
    for (const matrix_format to : all_matrix_formats) {
      if (can_hold(to, element)) expect_pairs(a, format, to, indices, depth::some);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(types, formats_roundtrip, ::testing::ValuesIn(kinds()), kind_name);

TEST(formats_roundtrip, a_pattern_cannot_be_padded) {
  const csr_matrix<pattern> a(1, 1, {0, 1}, {0}, pattern_array(1));
  const csr_matrix<float> b(1, 1, {0, 1}, {0}, {2});
  for (const matrix_format to : all_matrix_formats) {
    SCOPED_TRACE(to_string(to));
    for (const bool from_numbers : {false, true}) {
      const any_view source = from_numbers ? any_view(b) : any_view(a);
      try {
        convert(source, to, {.element = value_type::pattern});
        EXPECT_FALSE(is_padded(to));
      } catch (const error& e) {
        EXPECT_TRUE(is_padded(to));
        EXPECT_EQ(e.code(), errc::unsupported);
        EXPECT_NE(std::string(e.what()).find(to_string(to)), std::string::npos) << e.what();
      }
    }
  }
}

TEST(formats_roundtrip, padded_formats_drop_zeros_but_keep_their_blocks) {
  const csr_matrix<double> a(4, 4, {0, 1, 1, 1, 3}, {0, 0, 3}, {0.0, -0.0, 7.0});
  const auto bsr = to_bsr(a, 2, 2);
  EXPECT_EQ(bsr.num_blocks(), 3);
  EXPECT_EQ(to_csr(bsr).nnz(), 1);
  const auto ell = to_ell(a, 2);
  EXPECT_EQ(ell.blocks_per_row(), 2);
  EXPECT_EQ(to_csr(ell).nnz(), 1);
  const auto dense = to_dense(a);
  EXPECT_TRUE(std::signbit(dense(3, 0)));
  EXPECT_EQ(to_csr<std::int32_t>(dense).nnz(), 1);
}

// --- The real matrices ----------------------------------------------------------------------------------------------

/// How many values a format with padding stores.
std::int64_t padded_values(const csr_view<double, std::int64_t>& a, const variant& v) {
  if (v.format == matrix_format::dense) return a.rows * a.cols;
  const bool bsr = v.format == matrix_format::bsr;
  const std::int64_t r = bsr ? v.options.row_block : v.options.ell_block;
  const std::int64_t c = bsr ? v.options.col_block : v.options.ell_block;
  const block_count blocks = count_blocks(a, r, c);
  return bsr ? blocks.all * r * c : (a.rows / r + 1) * r * blocks.most * c;
}

sparse_case read_case(const std::string& name) {
  const auto a = read_coo<double>(real_matrix_path(name), read_real_matrix_with());
  sparse_case out{name, a.rows(), a.cols(), {}};
  const auto v = a.view();
  for (std::size_t k = 0; k < v.values.size(); ++k) out.entries.push_back({v.row_ind[k], v.col_ind[k], v.values[k]});
  return out;
}

class real_matrix : public ::testing::TestWithParam<std::string> {};
// Without the folder of matrices there are none.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(real_matrix);

TEST_P(real_matrix, keeps_every_bit_in_every_format_and_type) {
  sparse_case a;
  try {
    a = read_case(GetParam());
  } catch (const error& e) {
    if (e.code() != errc::unsupported) throw;
    GTEST_SKIP() << e.what();
  }
  if (!is_for_every_run(a.entries.size())) {
    GTEST_SKIP() << a.entries.size() << " entries: only with BCSC_ROUNDTRIP_ALL=1";
  }
  const csr_matrix<double, std::int64_t> csr = csr_of<double, std::int64_t>(a);
  std::map<std::string, std::int64_t> num_padded;
  for (const matrix_format format : all_matrix_formats) {
    if (!is_padded(format)) continue;
    for (const variant& v : variants(format, depth::one)) num_padded[v.name] = padded_values(csr.view(), v);
  }
  std::string left_out;
  for (const value_type element : all_value_types) {
    for (const index_type indices : all_index_types) {
      SCOPED_TRACE(std::string(to_string(element)) + " " + std::string(to_string(indices)));
      const typed_case b = typed(a, element, indices);
      // Every format straight from CSR, checked against the entries; then each from each.
      struct reference {
        variant v;
        any_matrix made[2];  ///< whole, and what the formats with padding leave
      };
      std::vector<reference> all;
      const bool has_zeros = b.entries[0].size() != b.entries[1].size();
      for (const matrix_format format : all_matrix_formats) {
        if (!can_hold(format, element)) continue;
        for (const variant& v : variants(format, depth::one)) {
          if (is_padded(format) && num_padded.at(v.name) * size_of(element) > padded_limit()) {
            left_out += v.name + "_" + std::string(to_string(element)) + " ";
            continue;
          }
          SCOPED_TRACE(v.name);
          any_matrix made = convert_to(b.csr[0], v, indices);
          EXPECT_NO_THROW(validate(made.view()));
          EXPECT_TRUE(sorted_entries(made) == b.entries[is_padded(format)]);
          all.push_back({v, {std::move(made), has_zeros ? convert_to(b.csr[1], v, indices) : any_matrix()}});
        }
      }
      for (const reference& from : all) {
        for (const reference& to : all) {
          SCOPED_TRACE(from.v.name + " to " + to.v.name);
          EXPECT_TRUE(same(convert_to(from.made[0], to.v, indices), to.made[has_zeros && is_padded(from.v.format)]));
        }
      }
    }
  }
  if (!left_out.empty()) RecordProperty("beyond_the_limit", left_out);
}

INSTANTIATE_TEST_SUITE_P(matrices, real_matrix, ::testing::ValuesIn(real_matrix_names()), real_matrix_test_name);

TEST(real_matrices, are_there) {
  if (!matrices_folder()) GTEST_SKIP() << "no folder of real matrices";
  EXPECT_GE(real_matrix_names().size(), 1u);
}

}  // namespace
}  // namespace bcsc::test
