// Every pair of formats, there and back through the CSR hub: bit-equal arrays, on the whole battery. A new format is
// one line in `formats`.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "bcsc/convert.hpp"
#include "test/support/battery.hpp"

namespace bcsc::test {
namespace {

template <class T, class I>
struct format {
  std::string name;
  /// To the format, its check, and back.
  std::function<csr_matrix<T, I>(const csr_matrix<T, I>&)> through;
  bool keeps_explicit_zeros = true;
};

template <class Matrix>
auto checked_back(const Matrix& a) {
  validate(a.view());
  return to_csr(a);
}

template <class T, class I>
std::vector<format<T, I>> formats() {
  using csr = csr_matrix<T, I>;
  std::vector<format<T, I>> list{
      {"csr", [](const csr& a) { return a; }},
      {"coo", [](const csr& a) { return checked_back(to_coo(a)); }},
      {"csc", [](const csr& a) { return checked_back(to_csc(a)); }},
      {"transpose", [](const csr& a) { return transpose(transpose(a)); }},
      {"wider_types", [](const csr& a) { return cast<T, I>(cast<double, std::int64_t>(a)); }},
  };
  for (const auto& [r, c] : {std::pair{1, 1}, {2, 3}, {4, 4}, {16, 5}, {64, 3}}) {
    list.push_back({"bsr_" + std::to_string(r) + "x" + std::to_string(c),
                    [r = r, c = c](const csr& a) { return checked_back(to_bsr(a, r, c)); }, false});
  }
  for (const std::int64_t m : {1, 2, 3, 8, 32, 64, 1000}) {
    list.push_back({"bcsc_" + std::to_string(m), [m](const csr& a) { return checked_back(to_bcsc(a, m)); }});
  }
  return list;
}

/// What a format without explicit zeros leaves of a case.
sparse_case without_zeros(sparse_case a) {
  std::erase_if(a.entries, [](const triplet& e) { return e.value == 0; });
  return a;
}

template <class X>
void expect_same_bits(std::span<const X> a, std::span<const X> b, const char* array) {
  ASSERT_EQ(a.size(), b.size()) << array;
  if (a.empty()) return;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0) << array;
}

template <class T, class I>
void expect_same(const csr_matrix<T, I>& a, const csr_matrix<T, I>& b) {
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.cols(), b.cols());
  expect_same_bits(a.view().row_ptr, b.view().row_ptr, "row_ptr");
  expect_same_bits(a.view().col_ind, b.view().col_ind, "col_ind");
  expect_same_bits(a.view().values, b.view().values, "values");
}

/// A case of the battery, whole and as a format without explicit zeros leaves it.
template <class T, class I>
struct prepared_case {
  std::string name;
  csr_matrix<T, I> whole, without_zeros;
};

/// The battery, built once.
template <class T, class I>
const std::vector<prepared_case<T, I>>& prepared_battery() {
  static const auto all = [] {
    std::vector<prepared_case<T, I>> list;
    for (const sparse_case& c : battery(values::real)) {
      list.push_back({c.name, csr_of<T, I>(c), csr_of<T, I>(without_zeros(c))});
    }
    return list;
  }();
  return all;
}

struct pair_of_formats {
  std::string name;
  std::function<void()> run;
};

template <class T, class I>
void add_pairs(std::vector<pair_of_formats>& all, const std::string& types) {
  for (const auto& first : formats<T, I>()) {
    for (const auto& second : formats<T, I>()) {
      all.push_back({types + "_" + first.name + "_then_" + second.name, [first, second] {
                       const bool keeps = first.keeps_explicit_zeros && second.keeps_explicit_zeros;
                       for (const auto& c : prepared_battery<T, I>()) {
                         SCOPED_TRACE(c.name);
                         expect_same(keeps ? c.whole : c.without_zeros, second.through(first.through(c.whole)));
                       }
                     }});
    }
  }
}

std::vector<pair_of_formats> all_pairs() {
  std::vector<pair_of_formats> all;
  add_pairs<float, std::int32_t>(all, "fp32_int32");
  add_pairs<float, std::int64_t>(all, "fp32_int64");
  add_pairs<double, std::int32_t>(all, "fp64_int32");
  add_pairs<double, std::int64_t>(all, "fp64_int64");
  return all;
}

class formats_roundtrip : public ::testing::TestWithParam<pair_of_formats> {};

TEST_P(formats_roundtrip, changes_no_bit) { GetParam().run(); }

INSTANTIATE_TEST_SUITE_P(pairs, formats_roundtrip, ::testing::ValuesIn(all_pairs()),
                         [](const auto& info) { return info.param.name; });

TEST(formats_roundtrip, bsr_keeps_the_block_of_an_explicit_zero_but_not_the_entry) {
  const csr_matrix<double> a(4, 4, {0, 1, 1, 1, 2}, {0, 3}, {0.0, 7.0});
  const auto b = to_bsr(a, 2, 2);
  EXPECT_EQ(b.num_blocks(), 2);
  EXPECT_EQ(to_csr(b).nnz(), 1);
}

}  // namespace
}  // namespace bcsc::test
