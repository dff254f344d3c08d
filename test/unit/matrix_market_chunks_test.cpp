#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <new>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "bcsc/files.hpp"
#include "bcsc/formats.hpp"
#include "converters/files/matrix_market_read.hpp"
#include "converters/files/source.hpp"
#include "test/support/thread_counts.hpp"
#include "test/unit/matrix_market_support.hpp"

/// However the text is split and however many threads read it: the same bits, and little memory.

namespace {
/// Bytes that this process holds by operator new, and the most it ever held.
std::atomic<std::int64_t> bytes_held{0}, max_held{0};

void hold(void* memory) {
  const std::int64_t held = bytes_held += static_cast<std::int64_t>(::malloc_usable_size(memory));
  std::int64_t most = max_held;
  while (held > most && !max_held.compare_exchange_weak(most, held)) {
  }
}
}  // namespace

// Not inlined: GCC would report free() as a mismatch to new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  hold(memory);
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory != nullptr) bytes_held -= static_cast<std::int64_t>(::malloc_usable_size(memory));
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace bcsc {
namespace {

using test::gzipped;
using test::thread_counts;
using test::with_threads;

/// How the entries of a file lie.
enum class order { by_row, by_column, shuffled };

struct shape {
  std::string name;
  file_symmetry symmetry = file_symmetry::general;
  std::int64_t rows = 0, cols = 0;
  std::int64_t entries = 0;
  order lie = order::shuffled;
  bool duplicates = false;
  bool noise = false;  ///< blank lines, comments, odd blanks and signs among them
};

void PrintTo(const shape& s, std::ostream* out) { *out << s.name; }

std::string digits_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

/// A matrix in sorted COO, made here, and a file that holds it.
struct example {
  std::string text;
  std::vector<std::int32_t> row, col;
  std::vector<double> values;
  std::int64_t rows = 0;
};

example make(const shape& s, bool with_matrix = true) {
  struct stored {
    std::int32_t row, col;
    double value;
  };
  std::mt19937_64 random(17);
  std::vector<stored> entries;
  std::map<std::pair<std::int32_t, std::int32_t>, int> seen;
  while (static_cast<std::int64_t>(entries.size()) < s.entries) {
    auto row = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(s.rows));
    auto col = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(s.cols));
    if (s.symmetry != file_symmetry::general && row < col) std::swap(row, col);
    if (s.symmetry == file_symmetry::skew_symmetric && row == col) continue;
    if (!s.duplicates && seen[{row, col}]++ > 0) continue;
    entries.push_back(
        {row, col, std::ldexp(static_cast<double>(random()) - 0x1p63, -40 - static_cast<int>(random() % 60))});
  }
  const auto by_row = [](const stored& a, const stored& b) {
    return std::pair(a.row, a.col) < std::pair(b.row, b.col);
  };
  const auto by_col = [](const stored& a, const stored& b) {
    return std::pair(a.col, a.row) < std::pair(b.col, b.row);
  };
  if (s.lie == order::by_row) std::stable_sort(entries.begin(), entries.end(), by_row);
  if (s.lie == order::by_column) std::stable_sort(entries.begin(), entries.end(), by_col);

  example e;
  e.rows = s.rows;
  const char* const symmetry = s.symmetry == file_symmetry::general     ? "general"
                               : s.symmetry == file_symmetry::symmetric ? "symmetric"
                                                                        : "skew-symmetric";
  e.text = std::string("%%MatrixMarket matrix coordinate real ") + symmetry + "\n" + std::to_string(s.rows) + " " +
           std::to_string(s.cols) + " " + std::to_string(s.entries) + "\n";
  std::map<std::pair<std::int32_t, std::int32_t>, double> sums;
  const auto add = [&](std::int32_t row, std::int32_t col, double value) {
    const auto [at, is_new] = sums.try_emplace({row, col}, value);
    if (!is_new) at->second += value;
  };
  for (const auto& [row, col, value] : entries) {
    const std::string place = std::to_string(row + 1) + " " + std::to_string(col + 1) + " ", digits = digits_of(value);
    switch (s.noise ? random() % 12 : 0) {
      case 1:
        e.text += "% " + std::string(random() % 90, '1') + "\n" + place + digits + "\n";
        break;
      case 2:
        e.text += "\n \t\n" + place + digits + "  \r\n";
        break;
      case 3:
        e.text += "  +" + place + "\t" + digits + "\n";
        break;
      default:
        e.text += place + digits + "\n";
    }
    if (!with_matrix) continue;
    add(row, col, value);
    if (s.symmetry != file_symmetry::general && row != col) {
      add(col, row, s.symmetry == file_symmetry::symmetric ? value : -value);
    }
  }
  for (const auto& [at, value] : sums) {
    e.row.push_back(at.first);
    e.col.push_back(at.second);
    e.values.push_back(value);
  }
  return e;
}

template <class T>
std::vector<std::remove_const_t<T>> list(std::span<T> array) {
  return {array.begin(), array.end()};
}

std::vector<std::uint64_t> bits_of(const auto& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

void expect_equal(const example& expected, const coo_matrix<double>& a) {
  ASSERT_EQ(list(a.view().row_ind), expected.row);
  ASSERT_EQ(list(a.view().col_ind), expected.col);
  ASSERT_EQ(bits_of(a.view().values), bits_of(expected.values));
}

void expect_equal(const example& expected, const csr_matrix<double>& a) {
  std::vector<std::int32_t> row_ptr(static_cast<std::size_t>(expected.rows) + 1, 0);
  for (const std::int32_t row : expected.row) ++row_ptr[static_cast<std::size_t>(row) + 1];
  for (std::size_t row = 1; row < row_ptr.size(); ++row) row_ptr[row] += row_ptr[row - 1];
  ASSERT_EQ(list(a.view().row_ptr), row_ptr);
  ASSERT_EQ(list(a.view().col_ind), expected.col);
  ASSERT_EQ(bits_of(a.view().values), bits_of(expected.values));
}

class MatrixMarketInChunks : public testing::TestWithParam<shape> {};

TEST_P(MatrixMarketInChunks, IsTheSameMatrix) {
  namespace mm = files::matrix_market;
  const example e = make(GetParam());
  const std::string zipped = gzipped(e.text);
  for (const int threads : thread_counts) {
    const with_threads of_many(threads);
    for (const std::size_t chunk_bytes :
         {std::size_t{30}, std::size_t{1000}, std::size_t{40'000}, mm::usual_chunk_bytes}) {
      if (e.text.size() > chunk_bytes * 10'000) continue;
      SCOPED_TRACE(std::to_string(threads) + " threads, chunks of " + std::to_string(chunk_bytes));
      for (const std::string& stored : {e.text, zipped}) {
        files::source for_coo(stored, "in memory", {}), for_csr(stored, "in memory", {});
        expect_equal(e, mm::read_matrix<double, std::int32_t>(for_coo, chunk_bytes));
        expect_equal(e, mm::read_csr<double, std::int32_t>(for_csr, chunk_bytes));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, MatrixMarketInChunks,
    testing::Values(shape{"sorted_by_row", file_symmetry::general, 700, 900, 7'000, order::by_row},
                    shape{"sorted_by_column", file_symmetry::general, 700, 900, 7'000, order::by_column},
                    shape{"shuffled", file_symmetry::general, 700, 900, 7'000, order::shuffled},
                    shape{"shuffled_duplicates", file_symmetry::general, 90, 110, 7'000, order::shuffled, true},
                    shape{"sorted_duplicates", file_symmetry::general, 90, 110, 7'000, order::by_row, true},
                    shape{"with_noise", file_symmetry::general, 700, 900, 7'000, order::shuffled, true, true},
                    shape{"sorted_with_noise", file_symmetry::general, 700, 900, 7'000, order::by_row, false, true},
                    shape{"of_one_row", file_symmetry::general, 1, 40'000, 7'000, order::shuffled},
                    shape{"of_one_column", file_symmetry::general, 40'000, 1, 7'000, order::shuffled},
                    shape{"mostly_empty_rows", file_symmetry::general, 60'000, 50, 15'100, order::shuffled},
                    shape{"hypersparse", file_symmetry::general, 100'000, 100'000, 2000, order::shuffled, true},
                    shape{"sorted_hypersparse", file_symmetry::general, 100'000, 100'000, 2000, order::by_row},
                    shape{"many_buckets", file_symmetry::general, 20'000, 20'000, 100'000, order::by_column},
                    shape{"symmetric", file_symmetry::symmetric, 800, 800, 7'000, order::by_column},
                    shape{"symmetric_by_row", file_symmetry::symmetric, 800, 800, 7'000, order::by_row, true},
                    shape{"skew_symmetric", file_symmetry::skew_symmetric, 800, 800, 7'000, order::shuffled, true,
                          true}),
    [](const auto& info) { return info.param.name; });

/// The first fault of the file is reported, though later chunks may be read before it.
TEST(MatrixMarketInChunks, TellTheFirstOfManyFaults) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n9 9 200000\n";
  for (int k = 0; k < 200'000; ++k) text += k >= 60'000 && k % 7 == 3 ? "1 1 x\n" : "1 1 1\n";
  std::int64_t first = 60'000;
  while (first % 7 != 3) ++first;
  for (const int threads : thread_counts) {
    const with_threads of_many(threads);
    for (int repeat = 0; repeat < 20; ++repeat) {
      files::source in(text, "in memory", {});
      try {
        files::matrix_market::read_matrix<double, std::int32_t>(in, 500);
        FAIL() << "was accepted";
      } catch (const error& caught) {
        EXPECT_EQ(caught.code(), errc::parse_error);
        EXPECT_EQ(caught.where().line, first + 3);
      }
    }
  }
}

/// An exception of any type thrown by the callback ends the reading, in one thread at a time.
TEST(MatrixMarketInChunks, LetACallbacksExceptionThrough) {
  struct enough {};
  std::string text = "%%MatrixMarket matrix coordinate real general\n9 9 4000000\n";
  for (int k = 0; k < 4'000'000; ++k) text += "1 1 1\n";
  for (const int threads : thread_counts) {
    const with_threads of_many(threads);
    std::atomic<int> inside{0}, calls{0};
    read_options options;
    options.progress = [&](std::int64_t, std::int64_t) {
      EXPECT_EQ(++inside, 1);
      if (++calls == 4) throw enough();
      --inside;
      return true;
    };
    files::source in(text, "in memory", options);
    EXPECT_THROW((files::matrix_market::read_matrix<double, std::int32_t>(in)), enough) << threads << " threads";
    EXPECT_EQ(calls, 4) << threads << " threads";
  }
}

/// Reading CSR takes less than three times the matrix, whatever the order of the file, and some buffers.
template <class T, class I>
void expect_little_memory(const std::string& text) {
  const std::int64_t before = bytes_held;
  max_held = before;
  files::source in(text, "in memory", {});
  const auto a = files::matrix_market::read_csr<T, I>(in);
  const std::int64_t matrix = a.nnz() * static_cast<std::int64_t>(sizeof(T) + sizeof(I)) +
                              (a.rows() + 1) * static_cast<std::int64_t>(sizeof(I));
  constexpr std::int64_t buffers = std::int64_t{6} << 20;
  EXPECT_LT(max_held - before, 3 * matrix + buffers) << "for a matrix of " << matrix;
}

TEST(MatrixMarketMemory, IsBelowThreeMatrices) {
  const with_threads two(2);
  for (const order lie : {order::by_row, order::by_column, order::shuffled}) {
    for (const auto symmetry : {file_symmetry::general, file_symmetry::symmetric}) {
      SCOPED_TRACE(static_cast<int>(lie));
      const std::string text = make({"", symmetry, 50'000, 50'000, 600'000, lie, true}, false).text;
      expect_little_memory<double, std::int32_t>(text);
      expect_little_memory<float, std::int32_t>(text);
      expect_little_memory<float, std::int64_t>(text);
      expect_little_memory<double, std::int64_t>(text);
    }
  }
}

}  // namespace
}  // namespace bcsc
