// The dense product on the emulated GPU: the form as the device makes it, and what is ours of the kernel, around a
// library that multiplies zeros as any would. Exact on small integers, non-finite values by stored entries alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bcsc/convert.hpp"
#include "kernels/cuda/gemm.cuh"
#include "kernels/forms/dense/dense_kernels.cuh"
#include "test/emulation/emulated_launchers.hpp"
#include "test/emulation/emulated_nonfinite.hpp"
#include "test/emulation/emulated_product.hpp"

namespace bcsc::kernels::cuda {

namespace {

/// Row by row and with every zero; unlike the real one it looks at what it is told of the leading dimensions.
template <class T, class C>
int multiply_all(const dense_product& p) {
  const auto element = [](const dense_side_of_product& m, std::int64_t i, std::int64_t j) {
    return static_cast<scalar_of<T>>(static_cast<const T*>(m.data)[m.row_major ? i * m.ld + j : i + j * m.ld]);
  };
  const bool fits = p.a.row_major && p.a.ld >= p.inner && p.b.ld >= (p.b.row_major ? p.cols : p.inner) &&
                    p.c_ld >= (p.c_row_major ? p.cols : p.rows);
  if (!fits) return cudaErrorInvalidValue;
  for (std::int64_t i = 0; i < p.rows; ++i) {
    for (std::int64_t j = 0; j < p.cols; ++j) {
      scalar_of<T> sum{0};
      for (std::int64_t k = 0; k < p.inner; ++k) sum += element(p.a, i, k) * element(p.b, k, j);
      static_cast<C*>(p.c)[p.c_row_major ? i * p.c_ld + j : i + j * p.c_ld] =
          static_cast<C>(static_cast<scalar_of<T>>(p.alpha) * sum);
    }
  }
  return cudaSuccess;
}

}  // namespace

std::string ready_dense_library(int) { return {}; }

int multiply_dense(const dense_product& p, CUstream_st*) {
  switch (p.type) {
    case value_type::fp64:
      return multiply_all<double, double>(p);
    case value_type::fp16:
      return p.c_type == p.type ? multiply_all<half, half>(p) : multiply_all<half, float>(p);
    case value_type::bf16:
      return p.c_type == p.type ? multiply_all<bfloat16, bfloat16>(p) : multiply_all<bfloat16, float>(p);
    default:
      return multiply_all<float, float>(p);
  }
}

}  // namespace bcsc::kernels::cuda

namespace bcsc::test {
namespace {

using kernels::tables::accuracy;
using kernels::tables::gemm;
constexpr auto launchers = emulated_launchers<gemm>();

template <class T>
struct dense_form {
  std::int64_t ld, row_words;
  std::vector<T> values;
  std::vector<std::uint32_t> mask;
};

/// From the entries one by one; values that nobody wrote would be -1.
template <class T>
dense_form<T> dense_of(const sparse_case& a) {
  constexpr std::int64_t vector = 16 / sizeof(T);
  const std::int64_t ld = (a.cols + vector - 1) / vector * vector, words = (a.cols + 31) / 32;
  dense_form<T> f{ld, words, std::vector<T>(static_cast<std::size_t>(a.rows * ld), T(0)),
                  std::vector<std::uint32_t>(static_cast<std::size_t>(a.rows * words), 0)};
  for (const triplet& e : a.entries) {
    f.values[static_cast<std::size_t>(e.row * ld + e.col)] = static_cast<T>(e.value);
    f.mask[static_cast<std::size_t>(e.row * words + e.col / 32)] |= 1u << (e.col % 32);
  }
  return f;
}

/// Its values in fp16 parts, by the double precision of the host: low, high, high times 2^11; or high alone.
struct halves_form {
  std::int64_t ld = 0;
  std::vector<half> parts;
  std::vector<float> back;
  std::vector<std::int32_t> num_lossy;
};

halves_form halves_of(const dense_form<float>& f, std::int64_t rows, std::int64_t cols, int count) {
  const std::int64_t ld = (cols + 7) / 8 * 8;
  const int top = count == 1 ? 14 : 3, most_lost = count == 1 ? -11 : -20;
  halves_form h{ld, std::vector<half>(static_cast<std::size_t>(rows * count * ld), half(0.0f)), {}, {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* const row = f.values.data() + i * f.ld;
    float largest = 0;
    for (std::int64_t k = 0; k < cols; ++k) largest = std::max(largest, std::fabs(row[k]));
    // No power that is a subnormal number, nor one whose inverse is.
    const int up = largest > 0 && std::isfinite(largest) ? std::clamp(top - std::ilogb(largest), -126, 126) : 0;
    std::int32_t num_lossy = 0;
    for (std::int64_t k = 0; k < cols; ++k) {
      const double x = std::ldexp(static_cast<double>(row[k]), up);
      const half high(x), low((x - static_cast<double>(high)) * 2048);
      const double kept = static_cast<double>(high) + (count == 1 ? 0 : static_cast<double>(low) / 2048);
      num_lossy += std::fabs(x - kept) > std::ldexp(std::fabs(x), most_lost);
      half* const to = h.parts.data() + count * i * ld + k;
      to[0] = count == 1 ? high : low;
      if (count == 3) to[ld] = high, to[2 * ld] = half(static_cast<double>(high) * 2048);
    }
    h.back.push_back(static_cast<float>(std::ldexp(1.0, count == 1 ? -up : -up - 11)));
    h.num_lossy.push_back(num_lossy);
  }
  return h;
}

dense_setting setting_of(std::size_t k) {
  constexpr std::int64_t widths[] = {1, 2, 7, 8, 16, 31, 32, 33, 64};
  test_random random(9000 + k);
  dense_setting s = draw_dense(random, one_of(random, widths), true);
  if (k % 3 == 1) s.for_b.order = layout::col_major;  // read where it lies
  return s;
}

template <class T>
dense_table<T> run(std::size_t config, const sparse_case& a, const dense_table<T>& b, const dense_table<T>& c0,
                   const dense_setting& s) {
  emulated_product<T> there(s, {b}, {c0});
  const dense_form<T> f = dense_of<T>(a);
  there.may_read(f.values), there.may_read(f.mask);
  halves_form h;
  std::int64_t num_sums = a.rows * s.n;
  if constexpr (std::is_same_v<T, float>) {
    if (const int count = gemm::configs[config].halves(); count > 0) {
      h = halves_of(f, a.rows, a.cols, count);
      there.may_read(h.parts), there.may_read(h.back), there.may_read(h.num_lossy);
      const kernels::halves_workspace room(a.rows, count, h.ld, s.n);
      num_sums = room.num_rows() * room.padded();
    }
  }
  // Unwritten sums are NaN.
  std::vector<scalar_of<T>> sums(static_cast<std::size_t>(num_sums), std::numeric_limits<scalar_of<T>>::quiet_NaN());
  there.may_write_bytes(sums.data(), sums.size() * sizeof(sums[0]));
  const kernels::dense_operand<T> stored{a.rows,
                                         a.cols,
                                         std::ssize(a.entries),
                                         f.ld,
                                         f.values.data(),
                                         f.row_words,
                                         f.mask.data(),
                                         sums.data(),
                                         nullptr,
                                         0,
                                         {gemm::configs[config].halves(), h.parts.empty() ? nullptr : h.parts.data(),
                                          h.ld, h.back.data(), h.num_lossy.data()}};
  return there.run(launchers[config], stored);
}

/// The emulated library multiplies what it is given; of fp32 only fp16 parts are rounded.
arithmetic arithmetic_of(std::size_t config) {
  const auto& c = gemm::configs[config];
  return {c.more_terms(), c.halves() == 1 ? 0x1p-10 : 0};
}

class every_config : public ::testing::TestWithParam<std::size_t> {
 protected:
  template <class Check>
  void with_type(Check&& check) const {
    with_value_type(gemm::configs[GetParam()].type, [&]<class T>() { check(T{}); });
  }
};

TEST_P(every_config, is_exact_on_small_integers) {
  with_type([&]<class T>(T) {
    std::size_t k = GetParam() * 7919;
    for (const sparse_case& a : battery(values::small_integers)) {
      if (a.rows == 0 || a.rows * a.cols > 40000) continue;  // nothing is launched; the emulated library is slow
      for (int turn = 0; turn < 8; ++turn, ++k) {
        const dense_setting s = setting_of(k);
        SCOPED_TRACE(a.name + ", " + words(s));
        const integer_product<T> task(a, s, k);
        expect_exact<T>(task.wanted, run<T>(GetParam(), a, task.b, task.c0, s), "");
        if (HasFailure()) return;
      }
    }
  });
}

// Among them zeros that are stored.
TEST_P(every_config, multiplies_what_is_not_finite_by_stored_entries_alone) {
  with_type([&]<class T>(T) {
    sparse_case a = make_case("stored zeros", 45, 130, scatter(45, 130, 900, 21), values::real, 3);
    for (std::size_t e = 0; e < a.entries.size(); e += 7) a.entries[e].value = 0;
    const arithmetic by = arithmetic_of(GetParam());
    check_stored_entries_alone<T>(
        a, by, GetParam() * 611953, [](std::size_t k) { return setting_of(k); },
        [](const sparse_case& of, const auto& b, const auto& c0, const auto& s) {
          return run<T>(GetParam(), of, b, c0, s);
        });
  });
}

/// Values of any sign between 2^-span and 2^span, times 2^up.
template <class T>
T spread(test_random& random, std::int64_t span, int up) {
  const double x = std::ldexp(1 + static_cast<double>(random.below(1 << 20)) / (1 << 20),
                              up + static_cast<int>(random.below(2 * span + 1) - span));
  return static_cast<T>(random.below(2) == 0 ? x : -x);
}

/// Halves are brought into their range, line by line; what is lost then is multiplied once more.
void check_far_values(std::size_t config) {
  const arithmetic by = arithmetic_of(config);
  test_random random(77 + config);
  std::size_t k = 0;
  for (const std::int64_t span : {0, 4, 14, 22, 30, 60, 85}) {
    for (const auto& [up_a, up_b] : {std::pair(0, 0), std::pair(-100, 20), std::pair(60, -140), std::pair(-60, 64),
                                     std::pair(-70, -64), std::pair(-20, -40)}) {
      if (up_a + span > 120 || up_b + span > 120 || up_a + up_b + 2 * span > 115) continue;
      const dense_setting s = setting_of(++k);
      sparse_case a = make_case("spread", 37, 150, scatter(37, 150, k % 2 == 0 ? 60 : 1500, k), values::real, 3);
      for (triplet& e : a.entries) e.value = static_cast<double>(spread<float>(random, span, up_a));
      dense_table<float> b(a.cols, s.n);
      for (float& x : b.at) x = random.below(6) == 0 ? 0 : spread<float>(random, span, up_b);
      for (std::int64_t i = 0; i < b.rows; ++i) b(i, s.n / 2) = 0;
      const dense_table<float> c0(a.rows, s.n, std::numeric_limits<float>::quiet_NaN());
      dense_setting once = s;
      std::tie(once.alpha, once.beta) = std::pair(1.0, 0.0);
      expect_within_bound<float>(multiply<float>(a, false, 1, b, 0, c0, by), run<float>(config, a, b, c0, once),
                                 words(once) + ", span " + std::to_string(span) + ", up " + std::to_string(up_a) +
                                     ", " + std::to_string(up_b));
    }
  }
}

TEST(gemm_configs, keep_their_bound_in_fp32_however_far_values_lie_apart) {
  std::size_t checked = 0;
  for (std::size_t k = 0; k < gemm::configs.size(); ++k) {
    const auto& config = gemm::configs[k];
    if (config.type != value_type::fp32 || (config.keeps == accuracy::tf32 && config.halves() == 0)) continue;
    SCOPED_TRACE(config.label());
    check_far_values(k);
    ++checked;
  }
  EXPECT_EQ(checked, 3u);
}

// A row, and a column, in which nothing else loses bits; what is large there meets zeros.
TEST(gemm_configs, keep_what_a_power_of_two_makes_zero) {
  const double large = 0x1p120, tiny = 0x1p-100;
  const sparse_case a{.name = "far", .rows = 2, .cols = 2, .entries = {{0, 0, large}, {0, 1, tiny}, {1, 1, 1}}};
  dense_table<float> b(2, 2);
  b(0, 0) = 0, b(0, 1) = static_cast<float>(large);
  b(1, 0) = 1, b(1, 1) = static_cast<float>(tiny);
  dense_setting s;
  s.n = 2;
  std::tie(s.alpha, s.beta) = std::pair(1.0, 0.0);
  for (std::size_t k = 0; k < gemm::configs.size(); ++k) {
    if (gemm::configs[k].type != value_type::fp32) continue;
    const dense_table<float> c = run<float>(k, a, b, dense_table<float>(2, 2), s);
    EXPECT_EQ(c(0, 0), static_cast<float>(tiny)) << gemm::configs[k].label();
    EXPECT_EQ(c(1, 1), static_cast<float>(tiny)) << gemm::configs[k].label();
  }
}

TEST_P(every_config, keeps_what_is_not_finite_in_a_in_its_row) {
  with_type([&]<class T>(T) {
    const arithmetic by = arithmetic_of(GetParam());
    check_odd_values_in_their_rows<T>(by, dense_setting{},
                                      [](const sparse_case& of, const auto& b, const auto& c0, const auto& s) {
                                        return run<T>(GetParam(), of, b, c0, s);
                                      });
  });
}

TEST(gemm_configs, refuse_a_batch) {
  kernels::dense_args<float> args{};
  args.batch.count = 2;
  EXPECT_EQ(launchers[0](&args, {{}, nullptr, 1}), cudaErrorInvalidValue);
}

INSTANTIATE_TEST_SUITE_P(table, every_config, ::testing::Range(std::size_t{0}, gemm::configs.size()),
                         [](const auto& info) {
                           std::string name = gemm::configs[info.param].label();
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

/// Every value and every word of the mask is written, in the order of C's rows, the padding with zeros.
template <class T, class Value>
void check_form(const sparse_case& a, bool permuted) {
  SCOPED_TRACE(a.name + (permuted ? ", permuted" : ""));
  const auto row_of = permuted ? permutation<std::int32_t>(a.rows) : std::vector<std::int32_t>{};
  const dense_form<T> wanted = dense_of<T>(a);
  const auto csr = csr_of<T>(permuted ? with_rows(a, row_of) : a);
  const auto v = csr.view();
  std::vector<T> values(wanted.values.size(), T(-1));
  std::vector<std::uint32_t> mask(wanted.mask.size(), 0xabababab);
  const forms::steps::dense_word_body<Value> body{{a.rows, a.cols, wanted.ld, wanted.row_words, v.row_ptr.data(),
                                                   v.col_ind.data(), v.values.data(),
                                                   permuted ? row_of.data() : nullptr, values.data(), mask.data()}};
  for (std::int64_t k = a.rows * wanted.row_words; k-- > 0;) body(k);
  EXPECT_EQ(mask, wanted.mask);
  EXPECT_TRUE(values.empty() || std::memcmp(values.data(), wanted.values.data(), values.size() * sizeof(T)) == 0);
}

TEST(dense_form, holds_every_value_and_every_zero) {
  for (const sparse_case& a : battery(values::real)) {
    for (const bool permuted : {false, true}) {
      check_form<float, std::uint32_t>(a, permuted);
      check_form<double, std::uint64_t>(a, permuted);
      check_form<half, std::uint16_t>(a, permuted);
      if (HasFailure()) return;
    }
  }
}

// Every part of every value, and of the padding; among them rows of zeros, of tiny and of huge values.
void check_halves(int count) {
  for (sparse_case a : battery(values::real)) {
    if (a.rows == 0) continue;
    test_random random(a.entries.size());
    for (triplet& e : a.entries) {
      if (e.row % 3 == 0) e.value = static_cast<double>(spread<float>(random, 24, e.row % 2 == 0 ? 90 : -70));
    }
    SCOPED_TRACE(a.name);
    const dense_form<float> f = dense_of<float>(a);
    const halves_form wanted = halves_of(f, a.rows, a.cols, count);
    halves_form got{wanted.ld, std::vector<half>(wanted.parts.size(), half(-1.0f)),
                    std::vector<float>(wanted.back.size(), -1), std::vector<std::int32_t>(wanted.num_lossy.size(), -1)};
    const forms::steps::halves_job job{.count = count,
                                       .rows = a.rows,
                                       .cols = a.cols,
                                       .ld = f.ld,
                                       .halves_ld = wanted.ld,
                                       .values = f.values.data(),
                                       .parts = got.parts.data(),
                                       .back = got.back.data(),
                                       .num_lossy = got.num_lossy.data()};
    emulation::current_settings() = {};
    ASSERT_EQ(core::start(&forms::steps::split_rows_kernel, 3, forms::steps::threads_to_split, 0, nullptr, job), 0)
        << emulation::report();
    EXPECT_EQ(got.num_lossy, wanted.num_lossy);
    EXPECT_TRUE(std::ranges::equal(got.parts, wanted.parts, {}, &half::bits, &half::bits));
    for (std::int64_t i = 0; i < a.rows; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const bool is_zero = std::ranges::all_of(
          std::span(f.values).subspan(row * static_cast<std::size_t>(f.ld), static_cast<std::size_t>(f.ld)),
          [](float x) { return x == 0; });
      EXPECT_TRUE(is_zero || got.back[row] == wanted.back[row]) << "row " << i;
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(dense_form, holds_each_value_in_halves) { check_halves(3); }
TEST(dense_form, holds_each_value_rounded_to_fp16) { check_halves(1); }

}  // namespace
}  // namespace bcsc::test
