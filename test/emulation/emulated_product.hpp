#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/forms/product_args.hpp"
#include "kernels/forms/storing.hpp"
#include "test/emulation/include/emulated_gpu.hpp"
#include "test/support/battery.hpp"
#include "test/support/left_dots.hpp"
#include "test/support/operands.hpp"

/// What tests of all kernels on the emulated GPU share: everything about a product but the form of A.
namespace bcsc::test {

/// Where B and C lie, what they are multiplied by, and how the GPU goes about it.
struct dense_setting {
  std::int64_t n = 1;
  placement for_b = {}, for_c = {};
  double alpha = 1, beta = 0;
  bool scalars_in_memory = false;
  bool z_apart = false;        ///< beta multiplies another matrix than C, which holds NaN
  bool z_is_b = false;         ///< and that is B; C lies as B does
  bool reads_padding = false;  ///< what lies between the rows of B may be read; it is NaN
  batch_placement batch_b = {}, batch_c = {};
  emulation::settings gpu = {};
};

template <class List>
auto one_of(test_random& random, const List& list) {
  return list[static_cast<std::size_t>(random.below(std::ssize(list)))];
}

/// Everything mixed with everything but n. `strides`: the kernels make up for a grid that is cut short.
inline dense_setting draw_dense(test_random& random, std::int64_t n, bool strides) {
  constexpr std::pair<double, double> scalars[] = {{1, 0}, {2, -1}, {-1, 1}, {0, 2}, {0, 0}, {3, 0}, {1, 1}};
  constexpr unsigned grids[] = {2147483647u, 3};
  dense_setting s;
  s.n = n;
  s.for_b = {layout::row_major, random.below(2) * random.below(9), random.below(2) * random.below(5)};
  s.for_c = {random.below(2) == 0 ? layout::row_major : layout::col_major, random.below(2) * random.below(9),
             random.below(2) * random.below(5)};
  std::tie(s.alpha, s.beta) = one_of(random, scalars);
  s.scalars_in_memory = random.below(4) == 0;
  s.z_apart = random.below(3) == 0;
  s.gpu.order = static_cast<emulation::run_order>(random.below(3));
  s.gpu.seed = random.bits();
  if (strides) s.gpu.largest_grid = one_of(random, grids);
  return s;
}

inline std::string words(const batch_placement& p) {
  return (p.shared ? "shared" : p.interleaved ? "interleaved" : "behind each other") + (" + " + std::to_string(p.gap));
}

inline std::string words(const dense_setting& s) {
  return "N = " + std::to_string(s.n) + ", B " + std::string(to_string(s.for_b.order)) + " + " +
         std::to_string(s.for_b.offset) + " ld + " + std::to_string(s.for_b.padding) + ", C " +
         std::string(to_string(s.for_c.order)) + " + " + std::to_string(s.for_c.offset) + " ld + " +
         std::to_string(s.for_c.padding) + ", alpha " + std::to_string(s.alpha) + ", beta " + std::to_string(s.beta) +
         (s.scalars_in_memory ? " in memory" : "") + (s.z_apart ? ", Z apart" : "") + (s.z_is_b ? ", Z is B" : "") +
         (s.reads_padding ? ", reads padding" : "") + ", order " + std::to_string(static_cast<int>(s.gpu.order)) +
         ", grid up to " + std::to_string(s.gpu.largest_grid) + ", members of B " + words(s.batch_b) + ", of C " +
         words(s.batch_c);
}

/// Where row blocks of at most `m_block` rows begin.
inline std::vector<std::int64_t> uneven_boundaries(std::int64_t rows, std::int64_t m_block) {
  test_random random(static_cast<std::uint64_t>(rows + m_block));
  std::vector<std::int64_t> begin{0};
  while (begin.back() < rows) begin.push_back(std::min(rows, begin.back() + 1 + random.below(m_block)));
  return begin;
}

template <class I>
std::vector<I> permutation(std::int64_t rows) {
  std::vector<I> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), I{0});
  test_random random(static_cast<std::uint64_t>(rows));
  for (std::int64_t i = rows - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.below(i + 1))]);
  }
  return order;
}

/// The matrix whose row m is row order[m] of `a`.
template <class I>
sparse_case with_rows(const sparse_case& a, const std::vector<I>& order) {
  std::vector<std::int64_t> place(order.size());
  for (std::size_t m = 0; m < order.size(); ++m) place[static_cast<std::size_t>(order[m])] = std::int64_t(m);
  sparse_case other = a;
  for (triplet& e : other.entries) e.row = place[static_cast<std::size_t>(e.row)];
  std::ranges::sort(other.entries, {}, [](const triplet& e) { return std::pair(e.row, e.col); });
  return other;
}

/// The battery with as many rows as columns.
inline std::vector<sparse_case> square_cases(values kind) {
  std::vector<sparse_case> cases = battery(kind);
  std::erase_if(cases, [](const sparse_case& a) { return std::max(a.rows, a.cols) == 0; });
  for (sparse_case& a : cases) a.rows = a.cols = std::max(a.rows, a.cols);
  return cases;
}

/// What a kernel leaves of B'C, in memory that holds NaN before.
struct dots_left {
  std::vector<double> sums;
  std::int64_t rows = 0;

  explicit dots_left(std::int64_t room)
      : sums(static_cast<std::size_t>(room), std::numeric_limits<double>::quiet_NaN()) {}
};

/// On small integers: what was left adds up to B'C to the last bit, and nothing behind it was touched.
template <class T>
void expect_dots(const dots_left& left, const dense_table<T>& b, const dense_table<T>& c) {
  expect_left_dots(left.sums, left.rows, b, c);
  for (auto at = static_cast<std::size_t>(left.rows * b.cols); at < left.sums.size(); ++at) {
    ASSERT_TRUE(std::isnan(left.sums[at])) << "place " << at;
  }
}

/// B, C and the two scalars in memory as a setting says, and the memory that a kernel may touch: to the last element,
/// for a matrix may end where its last row or column does.
template <class T>
class emulated_product {
 public:
  emulated_product(const dense_setting& s, const dense_table<T>& b, const dense_table<T>& c0)
      : emulated_product(s, std::vector{b}, std::vector{c0}) {}
  /// The members of a batch.
  emulated_product(const dense_setting& s, const std::vector<dense_table<T>>& b, const std::vector<dense_table<T>>& c0)
      : setting_(fitting(s)),
        alpha_(static_cast<scalar_of<T>>(s.alpha)),
        beta_(static_cast<scalar_of<T>>(s.beta)),
        count_(std::ssize(c0)),
        b_(context::cpu(1), b, s.for_b, s.batch_b),
        c_(context::cpu(1), setting_.z_apart ? unset(c0) : c0, s.for_c, s.batch_c),
        z_(context::cpu(1), c0, s.for_c, s.batch_c) {}
  emulated_product(const emulated_product&) = delete;
  emulated_product& operator=(const emulated_product&) = delete;

  /// Arrays of A, which kernels may read while the kernel before them ends. B, C and the scalars they may not.
  template <class Array>
  void may_read(const Array& array) {
    may_read_bytes(array.data(), array.size() * sizeof(array[0]));
  }
  void may_read_bytes(const void* begin, std::size_t bytes) { memory_.push_back({begin, bytes, false, true}); }
  void may_write_bytes(const void* begin, std::size_t bytes) { memory_.push_back({begin, bytes, true}); }
  /// The next product is to leave B'C there.
  void wants(dots_left& dots) {
    may_write_bytes(dots.sums.data(), dots.sums.size() * sizeof(double));
    dots_ = {dots.sums.data(), std::ssize(dots.sums), &dots.rows};
  }

  /// C as the kernel leaves it. Fails if the launch does.
  template <class Operand>
  dense_table<T> run(kernels::launch_fn launch, const Operand& a, int num_multiprocessors = 1) {
    return run_batch(launch, a, 0, num_multiprocessors).front();
  }

  /// All members' C; `partials`: from one member's partial sums to the next one's.
  template <class Operand>
  std::vector<dense_table<T>> run_batch(kernels::launch_fn launch, const Operand& a, std::int64_t partials,
                                        int num_multiprocessors = 1) {
    constexpr auto nan = std::numeric_limits<scalar_of<T>>::quiet_NaN();
    const dense_view<T> b = b_.view(), c = c_.view(), z = setting_.z_is_b ? b : z_.view();
    const bool in_memory = setting_.scalars_in_memory;
    const std::int64_t readable_padding = setting_.reads_padding ? setting_.for_b.padding : 0;
    const kernels::product_args<T, Operand> args{a,
                                                 b.data,
                                                 b.row_stride(),
                                                 setting_.n,
                                                 c.data,
                                                 c.row_stride(),
                                                 c.col_stride(),
                                                 in_memory ? nan : alpha_,
                                                 in_memory ? nan : beta_,
                                                 in_memory ? &alpha_ : nullptr,
                                                 in_memory ? &beta_ : nullptr,
                                                 b.col_stride(),
                                                 setting_.n + readable_padding,
                                                 {count_, b_.stride(), c_.stride(), partials},
                                                 dots_,
                                                 setting_.z_apart ? forms::elements_between(c.data, z.data) : 0};
    memory_.push_back({b.data, b_.bytes() + static_cast<std::size_t>(readable_padding) * sizeof(T)});
    may_write_bytes(c.data, c_.bytes());
    if (setting_.z_apart && !setting_.z_is_b) memory_.push_back({z.data, z_.bytes()});
    if (in_memory) memory_.push_back({&alpha_, sizeof alpha_}), memory_.push_back({&beta_, sizeof beta_});
    emulation::current_settings() = setting_.gpu;
    emulation::current_settings().global_memory = memory_;
    EXPECT_EQ(launch(&args, {{}, nullptr, num_multiprocessors}), 0) << emulation::report();
    return c_.read();
  }

 private:
  static dense_setting fitting(dense_setting s) {
    s.z_apart = s.z_apart && !narrow_number<T>;
    return s;
  }
  static std::vector<dense_table<T>> unset(std::vector<dense_table<T>> members) {
    for (dense_table<T>& one : members) std::ranges::fill(one.at, std::numeric_limits<T>::quiet_NaN());
    return members;
  }

  dense_setting setting_;
  scalar_of<T> alpha_, beta_;
  std::int64_t count_;
  batch_operand<T> b_, c_, z_;
  kernels::dots_with_b dots_ = {};
  std::vector<emulation::memory_range> memory_;
};

/// B and C0 of small integers for a product with A or with A', NaN where nothing must be read, and what comes out.
template <class T>
struct integer_product {
  dense_table<T> b, c0;
  product wanted;

  integer_product(const sparse_case& a, const dense_setting& s, std::size_t seed, bool transposed = false)
      : b(random_table<T>(transposed ? a.rows : a.cols, s.n, values::small_integers, seed)),
        c0(random_table<T>(transposed ? a.cols : a.rows, s.n, values::small_integers, seed + 1)),
        wanted(multiply<T>(a, transposed, s.alpha, b, s.beta, c0)) {
    if (s.beta == 0) std::ranges::fill(c0.at, std::numeric_limits<T>::quiet_NaN());
    if (s.alpha == 0) std::ranges::fill(b.at, std::numeric_limits<T>::quiet_NaN());
  }
};

/// The same for three members of a batch, which lie as is drawn; they are checked against what they should be and
/// against products of their own: run(s, b, c0) multiplies the members it is given.
template <class T, class Setting, class Run>
void check_batch(const sparse_case& a, Setting s, std::size_t seed, const Run& run) {
  test_random random(seed + 1);
  for (batch_placement* placed : {&s.batch_b, &s.batch_c}) {
    *placed = {random.below(2) * random.below(9), random.below(3) == 0};
  }
  s.batch_b.shared = random.below(4) == 0;
  SCOPED_TRACE(words(s));
  constexpr std::size_t members = 3;
  std::vector<integer_product<T>> tasks;
  std::vector<dense_table<T>> b, c0;
  for (std::size_t k = 0; k < members; ++k) {
    tasks.emplace_back(a, s, s.batch_b.shared ? seed : seed + 2 * k);
    b.push_back(tasks.back().b);
    c0.push_back(tasks.back().c0);
  }
  const std::vector<dense_table<T>> together = run(s, b, c0);
  for (std::size_t k = 0; k < members; ++k) {
    const std::string what = "member " + std::to_string(k);
    expect_exact<T>(tasks[k].wanted, together[k], what);
    const dense_table<T> alone = run(s, std::vector{b[k]}, std::vector{c0[k]}).front();
    EXPECT_TRUE(alone.at.empty() ||
                std::memcmp(together[k].at.data(), alone.at.data(), alone.at.size() * sizeof(T)) == 0)
        << what;
  }
}

}  // namespace bcsc::test
