// Every config of a kernel that stages MMA tiles for thread blocks, on the emulated GPU: exact on small integers for
// what the kernel meets, within its error bound on reals, and non-finite values multiplied by stored entries alone.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "bcsc/convert.hpp"
#include "kernels/forms/mma_tiles/mma_tiles.hpp"
#include "test/emulation/emulated_launchers.hpp"
#include "test/emulation/emulated_nonfinite.hpp"
#include "test/emulation/emulated_product.hpp"
#include "test/emulation/emulated_tiles.hpp"
#include BCSC_ALGORITHM_HEADER

namespace bcsc::test {
namespace {

using kernels::tables::accuracy;
using algorithm = kernels::tables::BCSC_ALGORITHM;
using config_type = std::remove_cvref_t<decltype(algorithm::configs[0])>;
constexpr auto launchers = emulated_launchers<algorithm>();

using setting = tiles_setting;

template <class T>
std::vector<dense_table<T>> run_batch(std::size_t config, const sparse_case& a, const std::vector<dense_table<T>>& b,
                                      const std::vector<dense_table<T>>& c0, const setting& s) {
  return run_tiles<T>(launchers[config], algorithm::configs[config].tile_rows(), a, b, c0, s);
}

template <class T>
dense_table<T> run(std::size_t config, const sparse_case& a, const dense_table<T>& b, const dense_table<T>& c0,
                   const setting& s) {
  return run_batch<T>(config, a, {b}, {c0}, s).front();
}

class every_config : public ::testing::TestWithParam<std::size_t> {
 protected:
  const config_type& config() const { return algorithm::configs[GetParam()]; }

  template <class Check>
  void with_type(Check&& check) const {
    with_value_type(config().type, [&]<class T>() { check(T{}); });
  }
};

TEST_P(every_config, is_exact_on_small_integers) {
  with_type([&]<class T>(T) {
    std::size_t k = GetParam() * 7919;
    for (const sparse_case& a : battery(values::small_integers)) {
      if (a.rows == 0) continue;  // nothing is launched then
      for (int turn = 0; turn < 3; ++turn, ++k) {
        const setting s = tiles_setting_of(k);
        SCOPED_TRACE(a.name + ", " + words(s));
        const integer_product<T> task(a, s, k);
        expect_exact<T>(task.wanted, run<T>(GetParam(), a, task.b, task.c0, s), "");
        if (HasFailure()) return;
      }
    }
  });
}

TEST_P(every_config, multiplies_a_batch_in_one_launch) {
  with_type([&]<class T>(T) {
    const sparse_case a = make_case("scattered", 90, 200, scatter(90, 200, 3000, 5), values::small_integers, 4);
    std::size_t k = GetParam() * 15485863;
    for (int turn = 0; turn < 8; ++turn, ++k) {
      setting s = tiles_setting_of(k);
      s.max_groups = turn % 4;
      check_batch<T>(a, s, k, [&](const setting& placed, const auto& b, const auto& c0) {
        return run_batch<T>(GetParam(), a, b, c0, placed);
      });
      if (HasFailure()) return;
    }
  });
}

// Each sum one product of an integer of as many bits as the config keeps and a power of two.
TEST_P(every_config, keeps_as_many_bits_as_it_says) {
  with_type([&]<class T>(T) {
    const int bits = config().keeps == accuracy::tf32    ? 11
                     : config().type == value_type::fp32 ? 22
                     : config().type == value_type::fp64 ? 52
                                                         : std::numeric_limits<T>::digits;
    // With bfloat16 no more than its 8 bits hold.
    const std::int64_t min_bits = std::min<std::int64_t>(9, bits - 2);
    sparse_case a{"scattered", 70, 40, {}};
    test_random random(5);
    for (const auto& [i, j] : scatter(70, 40, 500, 11)) {
      a.entries.push_back(
          {i, j, std::ldexp(1.0, bits - 1) + static_cast<double>(random.below(1LL << min_bits) * 2 + 1)});
    }
    setting s;
    s.n = 33;
    dense_table<T> b(40, s.n);
    for (std::int64_t j = 0; j < s.n; ++j) b(j + 3, j) = j % 2 == 0 ? T(1) : T(-2);
    const dense_table<T> c0(70, s.n, std::numeric_limits<T>::quiet_NaN());
    expect_exact<T>(multiply<T>(a, false, 1, b, 0, c0), run<T>(GetParam(), a, b, c0, s), "");

    if (config().keeps != accuracy::tf32) return;
    const sparse_case one_bit_more{"one bit more", 1, 1, {{0, 0, 2049.0}}};
    const auto rounded = run<T>(GetParam(), one_bit_more, dense_table<T>(1, 1, T(1)), dense_table<T>(1, 1), {});
    EXPECT_EQ(rounded(0, 0), T(2050));
  });
}

// By entry, with n terms: what rounding of the factors, their products and the sums can lose.
TEST_P(every_config, stays_within_its_error_bound) {
  with_type([&]<class T>(T) {
    // 3xTF32: the product of the low parts, at most 2^-22, and twice the 2^-23 that a low part loses.
    const long double of_factors = config().keeps == accuracy::tf32    ? 0x1p-10L + 0x1p-22L
                                   : config().type == value_type::fp32 ? 0x1p-21L
                                                                       : 0.0L;
    std::size_t k = GetParam() * 104729;
    long double worst = 0;
    for (const sparse_case& a : battery(values::real)) {
      if (a.rows == 0) continue;
      setting s = tiles_setting_of(++k);
      std::tie(s.alpha, s.beta) = std::pair(1.0, 0.0);
      SCOPED_TRACE(a.name + ", " + words(s));
      const auto b = random_table<T>(a.cols, s.n, values::real, k);
      const dense_table<T> c0(a.rows, s.n, std::numeric_limits<T>::quiet_NaN());
      const dense_table<T> got = run<T>(GetParam(), a, b, c0, s);
      const product wanted = multiply<T>(a, false, 1, b, 0, c0);
      sparse_case a_magnitude = a;
      for (triplet& e : a_magnitude.entries) e.value = std::fabs(e.value);
      dense_table<T> b_magnitude = b;
      for (T& x : b_magnitude.at) x = T(std::fabs(static_cast<double>(x)));
      const product magnitude = multiply<T>(a_magnitude, false, 1, b_magnitude, 0, c0);
      for (std::size_t i = 0; i < got.at.size(); ++i) {
        const long double error = std::fabs(static_cast<long double>(got.at[i]) - wanted.value.at[i]);
        const long double bound = wanted.bound.at[i] + of_factors * magnitude.value.at[i];
        ASSERT_LE(error, bound) << "entry " << i;
        if (magnitude.value.at[i] > 0) worst = std::max(worst, error / magnitude.value.at[i]);
      }
    }
    RecordProperty("worst", std::to_string(static_cast<double>(worst * 1e9L)) + "e-9");
  });
}

// Whole row blocks and others in pieces, whose partial sums are checked one by one; zeros that are stored.
TEST_P(every_config, multiplies_what_is_not_finite_by_stored_entries_alone) {
  with_type([&]<class T>(T) {
    sparse_case a = make_case("stored zeros", 75, 130, scatter(75, 130, 900, 21), values::real, 3);
    for (std::size_t e = 0; e < a.entries.size(); e += 7) a.entries[e].value = 0;
    const arithmetic by{config().more_terms(), config().keeps == accuracy::tf32 ? 0x1p-10L : 0.0L};
    check_stored_entries_alone<T>(
        a, by, GetParam() * 611953,
        [](std::size_t k) {
          setting s = tiles_setting_of(k);
          s.n = std::min<std::int64_t>(s.n, 70);
          s.max_groups = static_cast<std::int64_t>(k % 3);
          return s;
        },
        [](const sparse_case& of, const auto& b, const auto& c0, const auto& s) {
          return run<T>(GetParam(), of, b, c0, s);
        });
  });
}

// The same for A's own values, which reach only their own rows.
TEST_P(every_config, keeps_what_is_not_finite_in_a_in_its_row) {
  with_type([&]<class T>(T) {
    const arithmetic by{config().more_terms(), config().keeps == accuracy::tf32 ? 0x1p-10L : 0.0L};
    check_odd_values_in_their_rows<T>(by, setting{},
                                      [](const sparse_case& of, const auto& b, const auto& c0, const auto& s) {
                                        return run<T>(GetParam(), of, b, c0, s);
                                      });
  });
}

TEST_P(every_config, does_not_depend_on_the_order_of_threads) {
  with_type([&]<class T>(T) {
    const sparse_case a = make_case("scattered", 90, 200, scatter(90, 200, 3000, 5), values::real, 4);
    setting s;
    s.n = 70;
    s.max_groups = 2;
    const auto b = random_table<T>(a.cols, s.n, values::real, 1);
    const dense_table<T> c0(a.rows, s.n);
    const dense_table<T> first = run<T>(GetParam(), a, b, c0, s);
    for (const auto order : {emulation::run_order::backward, emulation::run_order::random}) {
      s.gpu.order = order;
      s.gpu.seed = 5;
      const dense_table<T> again = run<T>(GetParam(), a, b, c0, s);
      EXPECT_EQ(std::memcmp(first.at.data(), again.at.data(), first.at.size() * sizeof(T)), 0);
    }
  });
}

// A grid is at most 65535 thread blocks high.
TEST(configs, cover_more_slabs_than_a_grid_is_high) {
  const auto narrowest = std::ranges::min_element(algorithm::configs, {}, [](const config_type& config) {
    return std::pair(kernels::tables::is_narrow(config.type), config.tile_cols());
  });
  with_value_type(narrowest->type, [&]<class T>() {
    setting s;
    s.n = std::int64_t{65535} * narrowest->tile_cols() + 5;
    std::tie(s.alpha, s.beta) = std::pair(0.0, 2.0);  // A and B would take too long
    s.gpu.watch_memory = false;                       // and so would watching what happens to each element of C
    const sparse_case a{"1x1", 1, 1, {{0, 0, 1.0}}};
    const dense_table<T> b(1, s.n);
    const auto c0 = random_table<T>(1, s.n, values::small_integers, 6);
    const auto config = static_cast<std::size_t>(narrowest - algorithm::configs.begin());
    expect_exact<T>(multiply<T>(a, false, 0, b, 2, c0), run<T>(config, a, b, c0, s), "");
  });
}

// Indices of B that lie 2^31 bytes apart: memory that is reserved, and of which only a few pages exist.
TEST_P(every_config, reads_rows_of_b_that_lie_far_apart) {
  with_type([&]<class T>(T) {
    const std::int64_t ldb = (std::int64_t{1} << 31) / static_cast<std::int64_t>(sizeof(T)), n = 37;
    const sparse_case a = make_case("scattered", 75, 3, scatter(75, 3, 120, 5), values::small_integers, 2);
    const auto bytes = static_cast<std::size_t>(2 * ldb + n) * sizeof(T);
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) GTEST_SKIP() << "no address space for 4 GiB";
    const auto b = random_table<T>(3, n, values::small_integers, 3);
    T* const far_b = static_cast<T*>(memory);
    for (std::int64_t k = 0; k < 3; ++k) std::copy_n(&b.at[static_cast<std::size_t>(k * n)], n, far_b + k * ldb);
    const auto c0 = random_table<T>(75, n, values::small_integers, 4);

    const auto matrix = to_compact(csr_of<T>(a), {.m_block = config().tile_rows()});
    const auto f = forms::to_mma_tiles(matrix.view());
    dense_table<T> c = c0;
    const auto stored = operand_of<T>(f, nullptr, nullptr);
    const kernels::mma_tiles_args<T> args{stored,           far_b,   ldb,    n, c.at.data(), n, 1, scalar_of<T>{2},
                                          scalar_of<T>{-1}, nullptr, nullptr};
    emulation::current_settings() = {};
    const auto of_a = [](const auto& array) {
      return emulation::memory_range{array.data(), array.size() * sizeof(array[0]), false, true};
    };
    emulation::current_settings().global_memory = {of_a(f.items),
                                                   of_a(f.groups),
                                                   of_a(f.col_ind),
                                                   of_a(f.tiles),
                                                   of_a(f.masks),
                                                   {memory, bytes},
                                                   {c.at.data(), c.at.size() * sizeof(T), true}};
    EXPECT_EQ(launchers[GetParam()](&args, {{}, nullptr, 1}), 0) << emulation::report();
    expect_exact<T>(multiply<T>(a, false, 2, b, -1, c0), c, "");
    munmap(memory, bytes);
  });
}

TEST(configs, refuse_row_blocks_of_another_height) {
  with_value_type(algorithm::configs[0].type, []<class T>() {
    kernels::mma_tiles_args<T> args{};
    args.a.height = 2 * algorithm::configs[0].tile_rows();
    args.ldb = 1;
    EXPECT_EQ(launchers[0](&args, {{}, nullptr, 1}), cudaErrorInvalidValue);
  });
}

INSTANTIATE_TEST_SUITE_P(table, every_config, ::testing::Range(std::size_t{0}, algorithm::configs.size()),
                         [](const auto& info) {
                           std::string name = algorithm::configs[info.param].label();
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace bcsc::test
