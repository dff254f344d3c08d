// Every config of the CPU kernels, on every instruction set this machine has, against a dense product in long double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/formats.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/pack.hpp"
#include "kernels/tables/cpu.hpp"
#include "test/support/cpu_stored.hpp"
#include "test/support/operands.hpp"
#include "test/support/thread_counts.hpp"
#include "test/unit/cpu_kernels.hpp"

namespace {

using namespace bcsc;
namespace tables = kernels::tables;
using kernels::launch_env;
using kernels::launch_fn;
using kernels::operand_form;
using test::available_isas;
using test::cpu_stored;
using test::kernel_case;
using test::teams;
using test::words;

// --- The battery
// ------------------------------------------------------------------------------------------------------

struct triplet {
  int row, col;
  double value;
};

/// A product to compute. m_block 0 means the kernel's own m_tile, -1 one that is not a multiple of it.
struct product {
  std::string name;
  int rows, cols, n;
  std::vector<triplet> entries;  ///< sorted by row, then column
  int m_block = 0;
  double alpha = 1, beta = 0;
  int ld_excess = 0;   ///< what the leading dimensions have beyond the least
  int misaligned = 0;  ///< values by which B and C lie off a 64-byte boundary
  bool scalars_at_pointers = false;
};

std::vector<triplet> random_entries(int rows, int cols, double density, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> chance(0, 1), value(-1, 1);
  std::vector<triplet> entries;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      if (chance(engine) < density) entries.push_back({i, j, value(engine)});
    }
  }
  return entries;
}

/// Row i has about cols / (i + 1) entries: nearly all the work lies in the first rows.
std::vector<triplet> power_law(int rows, int cols) {
  std::vector<triplet> entries;
  for (int i = 0; i < rows; ++i) {
    for (int j = i % 3; j < cols; j += i + 1) entries.push_back({i, j, 1.0 / (1 + (i * 7 + j) % 13)});
  }
  return entries;
}

std::vector<triplet> without_rows(std::vector<triplet> entries, int first, int last) {
  std::erase_if(entries, [&](const triplet& t) { return t.row >= first && t.row < last; });
  return entries;
}

const std::vector<product>& battery() {
  static const std::vector<product> all{
      {.name = "no columns", .rows = 5, .cols = 0, .n = 3, .entries = {}, .beta = 2},
      {.name = "no entries", .rows = 9, .cols = 8, .n = 17, .entries = {}, .beta = -1},
      {.name = "one row", .rows = 1, .cols = 40, .n = 33, .entries = random_entries(1, 40, 0.7, 1)},
      {.name = "one column of C", .rows = 70, .cols = 71, .n = 1, .entries = random_entries(70, 71, 0.4, 2), .beta = 1},
      {.name = "empty rows, ragged",
       .rows = 37,
       .cols = 29,
       .n = 9,
       .entries = without_rows(random_entries(37, 29, 0.3, 3), 8, 21)},
      {.name = "full",
       .rows = 13,
       .cols = 17,
       .n = 130,
       .entries = random_entries(13, 17, 2, 4),
       .alpha = -1.5,
       .beta = 0.5},
      {.name = "other m_block",
       .rows = 150,
       .cols = 50,
       .n = 21,
       .entries = random_entries(150, 50, 0.2, 5),
       .m_block = -1,
       .alpha = 0.5,
       .ld_excess = 5,
       .misaligned = 1},
      {.name = "m_block 1", .rows = 40, .cols = 30, .n = 7, .entries = random_entries(40, 30, 0.3, 6), .m_block = 1},
      {.name = "m_block beyond the rows",
       .rows = 90,
       .cols = 30,
       .n = 70,
       .entries = random_entries(90, 30, 0.3, 7),
       .m_block = 1000,
       .alpha = 2,
       .beta = -0.25},
      {.name = "power law", .rows = 300, .cols = 290, .n = 64, .entries = power_law(300, 290)},
      {.name = "one column, long rows and many short ones",
       .rows = 700,
       .cols = 2900,
       .n = 1,
       .entries = without_rows(power_law(700, 2900), 301, 330),
       .alpha = 0.5,
       .beta = -2,
       .ld_excess = 2,
       .misaligned = 1},
      {.name = "2 columns", .rows = 41, .cols = 43, .n = 2, .entries = random_entries(41, 43, 0.3, 10)},
      {.name = "4 columns", .rows = 41, .cols = 43, .n = 4, .entries = random_entries(41, 43, 0.3, 11), .beta = 1},
      {.name = "5 columns", .rows = 41, .cols = 43, .n = 5, .entries = random_entries(41, 43, 0.3, 12), .ld_excess = 3},
      {.name = "8 columns", .rows = 41, .cols = 43, .n = 8, .entries = random_entries(41, 43, 0.3, 13), .alpha = 2},
      {.name = "wide",
       .rows = 21,
       .cols = 19,
       .n = 1037,
       .entries = random_entries(21, 19, 0.5, 8),
       .alpha = 3,
       .beta = 1,
       .ld_excess = 3,
       .misaligned = 3},
      {.name = "scalars at pointers",
       .rows = 31,
       .cols = 33,
       .n = 15,
       .entries = random_entries(31, 33, 0.4, 9),
       .alpha = -2,
       .beta = 0.75,
       .misaligned = 1,
       .scalars_at_pointers = true}};
  return all;
}

double value_of(const triplet& t, bool whole) { return whole ? (t.row * 3 + t.col * 5) % 9 - 4 : t.value; }
/// In [-1, 1), with many bits, and different at places near each other, so that a value from the wrong one shows.
/// Sines took a quarter of the test's time.
double spread(std::int64_t i, std::int64_t j) {
  return static_cast<double>((i * 1009 + j * 31) * 7919 % 1000003) / 500001.5 - 1;
}
double b_of(int k, int j, bool whole) { return whole ? (k * 7 + j * 3) % 11 - 5 : spread(k, j); }
double c_of(int i, int j, bool whole) { return whole ? (i * 5 + j) % 7 - 3 : spread(i + 1, j); }

/// The exact sums of one product: for each entry of C, sum of a * b, sum of |a * b| and the number of terms.
struct oracle {
  std::vector<long double> sum, absolute;
  std::vector<int> terms;
};

/// Rounded to T first, as the kernel gets them.
template <class T>
const oracle& oracle_of(const product& p, bool whole) {
  static std::map<std::pair<const product*, bool>, oracle> known;
  auto [at, is_new] = known.try_emplace({&p, whole});
  oracle& o = at->second;
  if (!is_new) return o;
  const std::size_t size = static_cast<std::size_t>(p.rows) * p.n;
  o.sum.assign(size, 0);
  o.absolute.assign(size, 0);
  o.terms.assign(p.rows, 0);
  for (const triplet& t : p.entries) {
    ++o.terms[t.row];
    for (int j = 0; j < p.n; ++j) {
      const long double term = static_cast<long double>(static_cast<T>(value_of(t, whole))) *
                               static_cast<long double>(static_cast<T>(b_of(t.col, j, whole)));
      o.sum[static_cast<std::size_t>(t.row) * p.n + j] += term;
      o.absolute[static_cast<std::size_t>(t.row) * p.n + j] += std::abs(term);
    }
  }
  return o;
}

template <class T, class I>
cpu_stored<T, I> stored(const product& p, operand_form form, int m_block, bool whole) {
  std::vector<I> row_ptr(p.rows + 1, 0), col_ind;
  std::vector<T> values;
  for (const triplet& t : p.entries) {
    ++row_ptr[t.row + 1];
    col_ind.push_back(static_cast<I>(t.col));
    values.push_back(static_cast<T>(value_of(t, whole)));
  }
  for (int i = 0; i < p.rows; ++i) row_ptr[i + 1] += row_ptr[i];
  const csr_matrix<T, I> csr(p.rows, p.cols, std::move(row_ptr), std::move(col_ind), std::move(values));
  return {form, csr, {.m_block = m_block}};
}

/// `size` values whose first lies `misaligned` values off a 64-byte boundary.
template <class T>
class block_of_values {
 public:
  block_of_values(std::size_t size, int misaligned, T fill) : storage_(size + 64 / sizeof(T) + misaligned, fill) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    data_ = storage_.data() + (64 - address % 64) % 64 / sizeof(T) + misaligned;
  }
  T* data() { return data_; }

 private:
  std::vector<T> storage_;
  T* data_;
};

constexpr double sentinel = -12345;

/// What a product is told beside its operands.
struct circumstances {
  bool scattered = false;    ///< A meets the rows of B in no order
  bool fast_gather = false;  ///< the CPU's gather instruction is fast
  bool z_apart = false;      ///< beta multiplies another matrix than C, which holds NaN
};

/// Runs `launch` on p and returns C, row by row. Checks that nothing but C was written.
template <class T, class I>
std::vector<T> run(launch_fn launch, const product& p, const cpu_stored<T, I>& a, layout c_order, bool whole,
                   const core::team& who, circumstances told = {}) {
  const std::int64_t ldb = std::max(1, p.n + p.ld_excess);
  // B ends with its last entry; what ld spans between its rows is NaN.
  const std::size_t b_size = p.cols == 0 ? 0 : static_cast<std::size_t>((p.cols - 1) * ldb + p.n);
  block_of_values<T> b(b_size, p.misaligned, std::numeric_limits<T>::quiet_NaN());
  for (int k = 0; k < p.cols; ++k) {
    for (int j = 0; j < p.n; ++j) b.data()[k * ldb + j] = static_cast<T>(b_of(k, j, whole));
  }
  const bool by_rows = c_order == layout::row_major;
  const std::int64_t ldc = (by_rows ? p.n : p.rows) + p.ld_excess;
  const std::int64_t row_stride = by_rows ? ldc : 1, col_stride = by_rows ? 1 : ldc;
  const std::size_t c_size = static_cast<std::size_t>(ldc * (by_rows ? p.rows : p.n));
  block_of_values<T> c(c_size, p.misaligned, static_cast<T>(sentinel));
  block_of_values<T> z(c_size, p.misaligned, std::numeric_limits<T>::quiet_NaN());
  for (int i = 0; i < p.rows; ++i) {
    for (int j = 0; j < p.n; ++j) {
      const T addend = p.beta == 0 ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(c_of(i, j, whole));
      c.data()[i * row_stride + j * col_stride] = told.z_apart ? std::numeric_limits<T>::quiet_NaN() : addend;
      z.data()[i * row_stride + j * col_stride] = addend;
    }
  }
  const auto alpha = static_cast<scalar_of<T>>(p.alpha), beta = static_cast<scalar_of<T>>(p.beta);
  const scalar_of<T> wrong = 99;
  const bool at = p.scalars_at_pointers;
  const forms::dense_side<T> dense{.b = b.data(),
                                   .ldb = ldb,
                                   .b_col_stride = 1,
                                   .b_readable_cols = p.n,
                                   .n = p.n,
                                   .c = c.data(),
                                   .c_row_stride = row_stride,
                                   .c_col_stride = col_stride,
                                   .alpha = at ? wrong : alpha,
                                   .beta = at ? wrong : beta,
                                   .alpha_at = at ? &alpha : nullptr,
                                   .beta_at = at ? &beta : nullptr,
                                   .partials = nullptr,
                                   .z_offset = told.z_apart ? forms::elements_between(c.data(), z.data()) : 0};
  EXPECT_EQ(a.launch(launch, dense, launch_env{who, nullptr, 0, told.fast_gather}, told.scattered), 0);

  std::vector<T> result;
  for (int i = 0; i < p.rows; ++i) {
    for (int j = 0; j < p.n; ++j) result.push_back(c.data()[i * row_stride + j * col_stride]);
  }
  std::size_t kept = 0;
  for (std::size_t k = 0; k < c_size; ++k) kept += c.data()[k] == static_cast<T>(sentinel);
  EXPECT_EQ(kept, c_size - result.size()) << p.name << ": written beyond C";
  return result;
}

/// |C^ - C| <= gamma_{terms + 3}(u) (|alpha| |A| |B| + |beta| |C0|) + u_C |C|, and what is lost where C is subnormal.
template <class T>
void expect_within_bound(const product& p, const std::vector<T>& c, const std::string& what) {
  const oracle& o = oracle_of<T>(p, false);
  const long double u = std::numeric_limits<scalar_of<T>>::epsilon() / 2.0L;
  const long double u_c = static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2;
  const long double min_c = value<T> ? 0 : static_cast<long double>(std::numeric_limits<T>::denorm_min());
  int failures = 0;
  for (int i = 0; i < p.rows; ++i) {
    const long double steps = (o.terms[i] + 3) * u, gamma = steps / (1 - steps);
    for (int j = 0; j < p.n; ++j) {
      const std::size_t at = static_cast<std::size_t>(i) * p.n + j;
      const long double c0 = p.beta == 0 ? 0 : static_cast<long double>(static_cast<T>(c_of(i, j, false)));
      const long double exact = p.alpha * o.sum[at] + p.beta * c0;
      const long double bound =
          gamma * (std::abs(p.alpha) * o.absolute[at] + std::abs(p.beta * c0)) + u_c * std::abs(exact) + min_c;
      const auto got = static_cast<long double>(c[at]);
      if (!(std::abs(got - exact) <= bound) && ++failures <= 3) {
        ADD_FAILURE() << what << ", C[" << i << ", " << j << "] = " << got << " and not " << exact;
      }
    }
  }
}

// --- Every row x instruction set
// --------------------------------------------------------------------------------------

/// Calls body.template operator()<T, I>() with the types of the kernel.
template <class Body>
void with_types(const kernel_case& kernel, const Body& body) {
  test::with_value_type(kernel.type, [&]<class T>() {
    kernel.index_bits == 64 ? body.template operator()<T, std::int64_t>() : body.template operator()<T, std::int32_t>();
  });
}

int m_block_of(const product& p, const kernel_case& kernel) {
  return p.m_block > 0 ? p.m_block : p.m_block == 0 ? kernel.m_tile : 2 * kernel.m_tile + 1;
}

/// Products as one thread computes them, with C in either order.
template <class T, class I>
class on_one_thread {
 public:
  struct result {
    const product* p;
    const cpu_stored<T, I>* a;
    layout order;
    std::vector<T> c;

    std::string words() const {
      return p->name + ", N = " + std::to_string(p->n) + ", C " + std::string(to_string(order));
    }
  };

  explicit on_one_thread(launch_fn launch) : launch_(launch) {}

  void add(const product& p, operand_form form, int m_block) {
    const cpu_stored<T, I>& a = operands_.emplace_back(stored<T, I>(p, form, m_block, false));
    for (const layout order : {layout::row_major, layout::col_major}) {
      results_.push_back({&p, &a, order, run(launch_, p, a, order, false, {})});
    }
  }

  const std::vector<result>& results() const { return results_; }

  /// Neither the number of threads, nor the way to gather, nor where Z lies changes a bit. The outer loop is over
  /// teams: OpenMP ends and begins threads whenever their number changes.
  void expect_the_same_of_teams() const {
    const auto expect_same = [&](const core::team& who, circumstances told) {
      for (const result& one : results_) {
        EXPECT_TRUE(run(launch_, *one.p, *one.a, one.order, false, who, told) == one.c)
            << one.words() << ", " << words(who) << (told.fast_gather ? ", gathered at once" : "")
            << (told.z_apart ? ", Z apart" : "");
      }
    };
    bool z_apart = false;
    for (const core::team& who : teams()) expect_same(who, {.z_apart = z_apart = !z_apart});
    expect_same({.threads = 2}, {.fast_gather = true});
  }

 private:
  launch_fn launch_;
  std::deque<cpu_stored<T, I>> operands_;
  std::vector<result> results_;
};

class cpu_kernel : public testing::TestWithParam<kernel_case> {};

TEST_P(cpu_kernel, is_within_the_error_bound) {
  const kernel_case& kernel = GetParam();
  with_types(kernel, [&]<class T, class I>() {
    on_one_thread<T, I> alone(kernel.launch);
    for (const product& p : battery()) alone.add(p, kernel.form, m_block_of(p, kernel));
    for (const auto& one : alone.results()) expect_within_bound(*one.p, one.c, one.words());
    alone.expect_the_same_of_teams();
  });
}

/// Enough entries for all threads to take part.
TEST_P(cpu_kernel, gives_the_same_bits_on_any_number_of_threads) {
  const kernel_case& kernel = GetParam();
  const auto large = [](int n, double density, unsigned seed) {
    const auto entries = random_entries(1201, 900, density, seed);
    return product{.name = "large", .rows = 1201, .cols = 900, .n = n, .entries = entries, .alpha = 1.5, .beta = 0.5};
  };
  static const product of_vector = large(1, 0.2, 14), of_block = large(130, 0.04, 15);
  with_types(kernel, [&]<class T, class I>() {
    on_one_thread<T, I> alone(kernel.launch);
    for (const product* p : {&of_vector, &of_block}) alone.add(*p, kernel.form, kernel.m_tile);
    alone.expect_the_same_of_teams();
  });
}

TEST_P(cpu_kernel, is_exact_on_small_whole_numbers) {
  const kernel_case& kernel = GetParam();
  with_types(kernel, [&]<class T, class I>() {
    for (product p : battery()) {
      const oracle& o = oracle_of<T>(
          *std::find_if(battery().begin(), battery().end(), [&](const product& q) { return q.name == p.name; }), true);
      p.alpha = -2;
      p.beta = p.beta == 0 ? 0 : 3;
      const auto a = stored<T, I>(p, kernel.form, m_block_of(p, kernel), true);
      std::vector<T> exact;
      for (int i = 0; i < p.rows; ++i) {
        for (int j = 0; j < p.n; ++j) {
          exact.push_back(static_cast<T>(static_cast<double>(-2 * o.sum[static_cast<std::size_t>(i) * p.n + j] +
                                                             (p.beta == 0 ? 0 : 3 * c_of(i, j, true)))));
        }
      }
      for (layout order : {layout::row_major, layout::col_major}) {
        EXPECT_EQ(run(kernel.launch, p, a, order, true, {.threads = 2}), exact) << p.name << ", C " << to_string(order);
      }
    }
  });
}

TEST_P(cpu_kernel, alpha_zero_reads_neither_a_nor_b) {
  const kernel_case& kernel = GetParam();
  with_types(kernel, [&]<class T, class I>() {
    using S = scalar_of<T>;
    const auto numbers = [](std::initializer_list<int> list) {
      std::vector<T> all;
      for (const int x : list) all.push_back(static_cast<T>(x));
      return all;
    };
    std::vector<T> c;
    const auto expect_scaled = [&](auto a) {
      a.rows = 3;
      a.cols = 4;
      c = numbers({1, 2, 3, 4, 5, 6});
      kernels::product_args<T, decltype(a)> args{a, nullptr, 2, 2, c.data(), 2, 1, S(0), S(2), nullptr, nullptr};
      EXPECT_EQ(kernel.launch(&args, launch_env{{.threads = 2}, nullptr, 0}), 0);
      EXPECT_EQ(c, numbers({2, 4, 6, 8, 10, 12}));
      args.beta = 0;
      c.assign(6, std::numeric_limits<T>::quiet_NaN());
      EXPECT_EQ(kernel.launch(&args, launch_env{{.threads = 2}, nullptr, 0}), 0);
      EXPECT_EQ(c, std::vector<T>(6, T(0)));
    };
    if (kernel.form == operand_form::row_slices) return expect_scaled(kernels::row_slices_operand<T>{});
    expect_scaled(kernels::bcsc_operand<T, I>{.m_block = 2, .num_row_blocks = 2});
  });
}

INSTANTIATE_TEST_SUITE_P(tables, cpu_kernel, testing::ValuesIn(test::untransposed_cpu_kernels()),
                         [](const auto& test) { return test.param.name; });

// --- A B so large that its rows are asked for from far away

TEST(scattered_operand, is_exact_where_b_is_large) {
  for (const int n : {1, 9, 23, 130}) {
    product p{.name = "scattered", .rows = 45, .cols = 1'100'000 / n, .n = n, .entries = {}};
    for (int i = 0; i < p.rows; ++i) {
      for (int k = 0; k < i; ++k) p.entries.push_back({i, static_cast<int>(p.cols / i * k + i % 7), 0});
    }
    std::vector<float> exact;
    for (int i = 0; i < p.rows; ++i) {
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (const triplet& t : p.entries) sum += t.row == i ? value_of(t, true) * b_of(t.col, j, true) : 0;
        exact.push_back(static_cast<float>(sum));
      }
    }
    for (const core::cpu_isa isa : available_isas()) {
      for (layout order : {layout::row_major, layout::col_major}) {
        const auto rows = stored<float, std::int32_t>(p, operand_form::compact, 1, true);
        EXPECT_EQ(run(kernels::cpu::launcher<tables::cpu_rows>(0, isa), p, rows, order, true, {.threads = 2},
                      {.scattered = true}),
                  exact)
            << "rows, N = " << n << ", " << to_string(isa);
        const auto blocks =
            stored<float, std::int32_t>(p, operand_form::compact, tables::cpu_blocks::configs[0].m_tile, true);
        EXPECT_EQ(run(kernels::cpu::launcher<tables::cpu_blocks>(0, isa), p, blocks, order, true, {.threads = 2},
                      {.scattered = true}),
                  exact)
            << "blocks, N = " << n << ", " << to_string(isa);
      }
    }
  }
}

// --- An A so large that slices of it are asked for ahead

TEST(streamed_slices, are_exact) {
  constexpr int rows = 40'000, band = 108;  // 17 MB of values in fp32
  product p{.name = "band", .rows = rows, .cols = rows + band, .n = 1, .entries = {}};
  std::vector<double> exact;
  for (int i = 0; i < rows; ++i) {
    double sum = 0;
    for (int k = 0; k < band; ++k) {
      p.entries.push_back({i, i + k + (k + 1 == band ? i % 3 / 2 : 0), 0});  // the last one by a gather in some rows
      sum += value_of(p.entries.back(), true) * b_of(p.entries.back().col, 0, true);
    }
    exact.push_back(sum);
  }
  const auto expect_exact = [&]<class T>(const kernel_case& kernel) {
    const std::vector<T> wanted(exact.begin(), exact.end());
    const auto a = stored<T, std::int32_t>(p, kernel.form, 1, true);
    for (const bool fast_gather : {false, true}) {
      EXPECT_TRUE(run(kernel.launch, p, a, layout::row_major, true, {.threads = 2}, {.fast_gather = fast_gather}) ==
                  wanted)
          << kernel.name << (fast_gather ? ", gathered at once" : "");
    }
  };
  for (const kernel_case& kernel : test::untransposed_cpu_kernels()) {
    if (kernel.form != operand_form::row_slices) continue;
    kernel.type == value_type::fp32 ? expect_exact.template operator()<float>(kernel)
                                    : expect_exact.template operator()<double>(kernel);
  }
}

// --- A C so large that it is written past the caches
// -------------------------------------------------------------------

class large_product : public testing::TestWithParam<kernel_case> {};

TEST_P(large_product, is_exact) {
  const kernel_case& kernel = GetParam();
  with_types(kernel, [&]<class T, class I>() {
    product p{.name = "diagonal and its neighbour", .rows = 50'003, .cols = 50'003, .n = 132, .entries = {}};
    for (int i = 0; i < p.rows; ++i) {
      p.entries.push_back({i, i, 0});
      if (i + 1 < p.cols) p.entries.push_back({i, i + 1, 0});
    }
    const struct {
      int ld_excess;  // rows on a 64-byte boundary, or not
      double beta;
    } ways[] = {{12, 0}, {13, 0}, {12, 3}};
    for (const auto& [ld_excess, beta] : ways) {
      p.ld_excess = ld_excess;
      p.beta = beta;
      const auto c = run(kernel.launch, p, stored<T, I>(p, kernel.form, kernel.m_tile, true), layout::row_major, true,
                         {.threads = 2}, {.z_apart = true});
      std::size_t wrong = 0;
      for (int i = 0; i < p.rows; ++i) {
        for (int j = 0; j < p.n; ++j) {
          double sum = value_of({i, i, 0}, true) * b_of(i, j, true);
          if (i + 1 < p.cols) sum += value_of({i, i + 1, 0}, true) * b_of(i + 1, j, true);
          if (beta != 0) sum += beta * c_of(i, j, true);
          wrong += c[static_cast<std::size_t>(i) * p.n + j] != static_cast<T>(sum);
        }
      }
      EXPECT_EQ(wrong, 0U) << "ld - n = " << ld_excess << ", beta " << beta;
    }
  });
}

/// One kernel of each algorithm, value type and instruction set.
std::vector<kernel_case> some_kernels() {
  std::vector<kernel_case> some;
  for (kernel_case& kernel : test::untransposed_cpu_kernels()) {
    const auto same = [&](const kernel_case& k) {
      const auto isa = [](const std::string& name) { return name.substr(name.rfind('_')); };
      return k.name[0] == kernel.name[0] && k.type == kernel.type && isa(k.name) == isa(kernel.name);
    };
    if (kernel.index_bits == 32 && std::none_of(some.begin(), some.end(), same)) some.push_back(std::move(kernel));
  }
  return some;
}
INSTANTIATE_TEST_SUITE_P(tables, large_product, testing::ValuesIn(some_kernels()),
                         [](const auto& test) { return test.param.name; });

// --- The tables, and pack
// ---------------------------------------------------------------------------------------------

TEST(cpu_tables, labels_are_unique_for_a_value_type) {
  std::map<std::pair<std::string, value_type>, int> seen;
  const auto count = [&](const auto& rows) {
    for (const auto& config : rows) ++seen[{config.label(), config.type}];
  };
  count(tables::cpu_rows::configs);
  count(tables::cpu_blocks::configs);
  count(tables::cpu_columns::configs);
  count(tables::cpu_slices::configs);
  for (const auto& [label, times] : seen) EXPECT_EQ(times, 1) << label.first;
}

TEST(cpu_tables, a_row_beyond_the_table_is_an_error) {
  EXPECT_ANY_THROW(kernels::cpu::launcher<tables::cpu_rows>(tables::cpu_rows::configs.size()));
}

class pack : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(pack, transposes_and_writes_nothing_else) {
  const auto [rows, cols] = GetParam();
  const int ldb = rows + 3, ld_packed = cols + 2;
  std::vector<double> b(static_cast<std::size_t>(ldb) * cols + 1),
      packed(static_cast<std::size_t>(rows) * ld_packed, -1);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i);
  kernels::cpu::pack_row_major(b.data(), ldb, rows, cols, packed.data(), ld_packed, {.threads = 3});
  std::size_t wrong = 0;
  for (int k = 0; k < rows; ++k) {
    for (int j = 0; j < ld_packed; ++j) {
      const double expected = j < cols ? k + static_cast<double>(j) * ldb : -1;
      wrong += packed[static_cast<std::size_t>(k) * ld_packed + j] != expected;
    }
  }
  EXPECT_EQ(wrong, 0U);
}
INSTANTIATE_TEST_SUITE_P(shapes, pack,
                         testing::Values(std::pair{1, 1}, std::pair{64, 16}, std::pair{65, 17}, std::pair{1000, 3},
                                         std::pair{3, 1000}, std::pair{700, 129}, std::pair{5, 0}, std::pair{0, 5}));

}  // namespace
