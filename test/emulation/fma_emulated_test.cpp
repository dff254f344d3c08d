// Every config of the kernel with tiles in registers on the emulated GPU: exact on small integers for what it meets
// (empty, long and ragged row blocks, layouts, alignments, scalars, slabs that are not full), with threads in several
// orders; the same bits in every order; non-finite values multiplied by stored entries alone.
#include "kernels/cuda/fma.cuh"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "bcsc/convert.hpp"
#include "kernels/forms/fma_tiles/fma_tiles.hpp"
#include "test/emulation/emulated_launchers.hpp"
#include "test/emulation/emulated_nonfinite.hpp"
#include "test/emulation/emulated_product.hpp"
#include "test/emulation/row_pieces.hpp"

namespace bcsc::test {
namespace {

using table = kernels::tables::fma;
constexpr auto launchers = emulated_launchers<table>();

struct setting : dense_setting {
  bool own_heights = false, permuted = false;
};

setting setting_of(std::size_t k) {
  constexpr std::int64_t widths[] = {1, 3, 4, 31, 32, 33, 64, 100, 128, 130, 257};
  test_random random(9000 + k);
  const std::int64_t n = one_of(random, widths);
  setting s{draw_dense(random, n, false)};
  s.own_heights = random.below(3) == 0;
  s.permuted = random.below(3) == 0;
  return s;
}

std::string words(const setting& s) {
  return words(static_cast<const dense_setting&>(s)) + (s.own_heights ? ", own heights" : "") +
         (s.permuted ? ", permuted" : "");
}

template <class T>
std::vector<dense_table<T>> run_batch(std::size_t index, const sparse_case& a, const setting& s,
                                      const std::vector<dense_table<T>>& b, const std::vector<dense_table<T>>& c0) {
  const std::int64_t height = table::configs[index].height;
  emulated_product<T> there(s, b, c0);
  const auto row_of = s.permuted ? permutation<std::int32_t>(a.rows) : std::vector<std::int32_t>{};
  const auto boundaries = s.own_heights ? uneven_boundaries(a.rows, height) : std::vector<std::int64_t>{};
  const auto blocks = to_compact(csr_of<T>(s.permuted ? with_rows(a, row_of) : a),
                                 {.m_block = height, .boundaries = boundaries, .narrow_columns = a.cols % 2 == 0});
  const auto tiles = forms::to_fma_tiles(blocks.view());
  there.may_read(tiles.blocks), there.may_read(tiles.steps), there.may_read(tiles.tiles), there.may_read(tiles.masks);
  there.may_read(row_of);
  return there.run_batch(launchers[index], kernels::fma_operand_of<T>(tiles, s.permuted ? row_of.data() : nullptr), 0);
}

template <class T>
dense_table<T> run(std::size_t index, const sparse_case& a, const setting& s, const dense_table<T>& b,
                   const dense_table<T>& c0) {
  return run_batch<T>(index, a, s, {b}, {c0}).front();
}

class every_config : public ::testing::TestWithParam<std::size_t> {
 protected:
  template <class Body>
  void with_type(const Body& body) const {
    if (table::configs[GetParam()].type == value_type::fp32) return body.template operator()<float>();
    body.template operator()<double>();
  }
};

TEST_P(every_config, is_exact_on_small_integers) {
  with_type([&]<class T>() {
    std::size_t k = GetParam() * 7919;
    for (const sparse_case& a : battery(values::small_integers)) {
      if (a.rows == 0) continue;  // nothing is launched then
      for (int turn = 0; turn < 3; ++turn, ++k) {
        const setting s = setting_of(k);
        SCOPED_TRACE(a.name + ", " + words(s));
        const integer_product<T> task(a, s, k);
        expect_exact<T>(task.wanted, run<T>(GetParam(), a, s, task.b, task.c0), "");
        if (HasFailure()) return;
      }
    }
  });
}

// Row blocks of so many steps that the ring of tiles goes round, and of every number of steps up to that.
TEST_P(every_config, is_exact_for_row_blocks_of_every_length) {
  with_type([&]<class T>() {
    const sparse_case a = every_length(values::small_integers);
    for (std::size_t k = 0; k < 6; ++k) {
      const setting s = setting_of(GetParam() * 31 + k);
      SCOPED_TRACE(words(s));
      const integer_product<T> task(a, s, k);
      expect_exact<T>(task.wanted, run<T>(GetParam(), a, s, task.b, task.c0), "");
      if (HasFailure()) return;
    }
  });
}

TEST_P(every_config, multiplies_a_batch_in_one_launch) {
  const sparse_case a = make_case("scattered", 90, 200, scatter(90, 200, 3000, 5), values::small_integers, 4);
  std::size_t k = GetParam() * 15485863;
  for (int turn = 0; turn < 6; ++turn, ++k) {
    with_type([&]<class T>() {
      check_batch<T>(a, setting_of(k), k, [&](const setting& s, const auto& b, const auto& c0) {
        return run_batch<T>(GetParam(), a, s, b, c0);
      });
    });
    if (HasFailure()) return;
  }
}

TEST_P(every_config, gives_the_same_bits_in_every_order) {
  const sparse_case a = every_length(values::real);
  setting s{};
  s.n = 70;
  s.alpha = 1.5;
  s.beta = -0.25;
  with_type([&]<class T>() {
    const auto b = random_table<T>(a.cols, s.n, values::real, 1);
    const auto c0 = random_table<T>(a.rows, s.n, values::real, 2);
    const auto first = run<T>(GetParam(), a, s, b, c0);
    expect_within_bound<T>(multiply<T>(a, false, s.alpha, b, s.beta, c0), first, words(s));
    for (const auto order : {emulation::run_order::backward, emulation::run_order::random}) {
      s.gpu = {order, 5};
      EXPECT_EQ(run<T>(GetParam(), a, s, b, c0).at, first.at) << words(s);
    }
  });
}

TEST_P(every_config, multiplies_what_is_not_finite_by_stored_entries_alone) {
  sparse_case a = make_case("stored zeros", 75, 130, scatter(75, 130, 900, 21), values::real, 3);
  for (std::size_t e = 0; e < a.entries.size(); e += 7) a.entries[e].value = 0;
  with_type([&]<class T>() {
    check_stored_entries_alone<T>(
        a, {}, GetParam() * 611953, [](std::size_t k) { return setting_of(k); },
        [&](const sparse_case& of, const auto& b, const auto& c0, const auto& s) {
          return run<T>(GetParam(), of, s, b, c0);
        });
  });
}

TEST_P(every_config, keeps_what_is_not_finite_in_a_in_its_row) {
  with_type([&]<class T>() {
    check_odd_values_in_their_rows<T>({}, setting{},
                                      [&](const sparse_case& of, const auto& b, const auto& c0, const auto& s) {
                                        return run<T>(GetParam(), of, s, b, c0);
                                      });
  });
}

// Rows of B that lie 2 and 4 GiB apart: memory that is reserved, and of which only a few pages exist.
TEST_P(every_config, reads_rows_of_b_that_lie_far_apart) {
  with_type([&]<class T>() {
    for (const int bits : {31, 32}) {
      const std::int64_t ldb = (std::int64_t{1} << bits) / static_cast<std::int64_t>(sizeof(T)), n = 37;
      const sparse_case a = make_case("scattered", 75, 3, scatter(75, 3, 120, 5), values::small_integers, 2);
      const auto bytes = static_cast<std::size_t>(2 * ldb + n) * sizeof(T);
      void* const memory =
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) GTEST_SKIP() << "no address space for 8 GiB";
      const auto b = random_table<T>(3, n, values::small_integers, 3);
      T* const far_b = static_cast<T*>(memory);
      for (std::int64_t k = 0; k < 3; ++k) std::copy_n(&b.at[static_cast<std::size_t>(k * n)], n, far_b + k * ldb);
      const auto c0 = random_table<T>(75, n, values::small_integers, 4);

      const auto blocks = to_compact(csr_of<T>(a), {.m_block = table::configs[GetParam()].height});
      const auto tiles = forms::to_fma_tiles(blocks.view());
      dense_table<T> c = c0;
      const kernels::fma_tiles_args<T> args{
          kernels::fma_operand_of<T>(tiles, nullptr), far_b, ldb, n, c.at.data(), n, 1, T{2}, T{-1}, nullptr, nullptr};
      emulation::current_settings() = {};
      const auto range = [](const auto& array, bool lasting) {
        return emulation::memory_range{array.data(), array.size() * sizeof(array[0]), !lasting, lasting};
      };
      emulation::current_settings().global_memory = {
          range(tiles.blocks, true), range(tiles.steps, true), range(tiles.tiles, true),
          range(tiles.masks, true),  {far_b, bytes},           range(c.at, false)};
      EXPECT_EQ(launchers[GetParam()](&args, {{}, nullptr, 1}), 0) << emulation::report();
      expect_exact<T>(multiply<T>(a, false, 2, b, -1, c0), c, "");
      munmap(memory, bytes);
    }
  });
}

TEST(fma_configs, refuse_row_blocks_of_another_height_and_a_column_major_b) {
  kernels::fma_tiles_args<float> args{};
  args.a.height = table::configs[0].height + 1;
  args.ldb = args.b_col_stride = 1;
  EXPECT_EQ(launchers[0](&args, {{}, nullptr, 1}), cudaErrorInvalidValue);
  args.a.height = table::configs[0].height;
  args.b_col_stride = 5;
  EXPECT_EQ(launchers[0](&args, {{}, nullptr, 1}), cudaErrorInvalidValue);
}

INSTANTIATE_TEST_SUITE_P(fma, every_config, ::testing::Range(std::size_t{0}, table::configs.size()),
                         [](const auto& info) { return config_name<table>(info.param); });

}  // namespace
}  // namespace bcsc::test
