#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/real_matrices.hpp"
#include "test/unit/matrix_market_support.hpp"

/// What the tests of the text formats share. One source of an executable includes it: it counts what is allocated.

namespace bcsc::test {
/// Bytes asked of operator new in this process, by the library too.
inline std::atomic<std::int64_t> bytes_allocated{0};
}  // namespace bcsc::test

// Not inlined: GCC would report free() as a mismatch to new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  bcsc::test::bytes_allocated += static_cast<std::int64_t>(size);
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  bcsc::test::bytes_allocated += static_cast<std::int64_t>(size);
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace bcsc::test {

template <class T>
using bits_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Equal in size, pattern and every bit of the values.
template <value T, index I, index J>
void expect_same_bits(const csr_matrix<T, I>& wanted, const csr_matrix<T, J>& got, const std::string& what) {
  ASSERT_EQ(wanted.rows(), got.rows()) << what;
  ASSERT_EQ(wanted.cols(), got.cols()) << what;
  ASSERT_EQ(wanted.nnz(), got.nnz()) << what;
  const auto a = wanted.view();
  const auto b = got.view();
  for (std::size_t i = 0; i < a.row_ptr.size(); ++i) ASSERT_EQ(a.row_ptr[i], b.row_ptr[i]) << what << ", row " << i;
  for (std::size_t k = 0; k < a.values.size(); ++k) {
    ASSERT_EQ(a.col_ind[k], b.col_ind[k]) << what << ", entry " << k;
    ASSERT_EQ(std::bit_cast<bits_of<T>>(a.values[k]), std::bit_cast<bits_of<T>>(b.values[k]))
        << what << ", entry " << k << ": " << a.values[k] << " became " << b.values[k];
  }
}

/// The same matrix with ones for values.
template <value T, index I>
csr_matrix<T, I> pattern_of(const csr_matrix<T, I>& a) {
  csr_matrix<T, I> ones = a;
  for (T& value : ones.values()) value = T{1};
  return ones;
}

/// What a file should be read as.
struct wanted_file {
  std::string name;
  std::string bytes;
  sparse_case matrix;
  read_options options = {};
};
inline void PrintTo(const wanted_file& file, std::ostream* out) { *out << file.name; }

/// `file`, written as `file_name`, is read as its matrix by every instance.
inline void expect_read(const wanted_file& file, const std::string& file_name) {
  const temporary_folder folder;
  const std::filesystem::path path = folder.file(file_name, file.bytes);
  expect_same_bits(csr_of<double, std::int32_t>(file.matrix), read_csr<double, std::int32_t>(path, file.options),
                   "fp64");
  expect_same_bits(csr_of<double, std::int64_t>(file.matrix), read_csr<double, std::int64_t>(path, file.options),
                   "fp64, 64-bit indices");
  expect_same_bits(csr_of<float, std::int32_t>(file.matrix), read_csr<float, std::int32_t>(path, file.options), "fp32");
  expect_same_bits(csr_of<float, std::int64_t>(file.matrix), read_csr<float, std::int64_t>(path, file.options),
                   "fp32, 64-bit indices");
}

/// Calls test(matrix, what) for each matrix of the battery in each instance.
template <class F>
void for_each_battery_matrix(F&& test) {
  for (const values kind : {values::real, values::small_integers}) {
    for (const sparse_case& a : battery(kind)) {
      const std::string what = a.name + (kind == values::real ? ", real" : ", integers");
      test(csr_of<double, std::int32_t>(a), what + ", fp64");
      test(csr_of<double, std::int64_t>(a), what + ", fp64, 64-bit indices");
      test(csr_of<float, std::int32_t>(a), what + ", fp32");
      test(csr_of<float, std::int64_t>(a), what + ", fp32, 64-bit indices");
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// A square matrix with the values that are hard to print: the extremes, halves of the last digit, zeros of both signs.
template <value T>
csr_matrix<T> hard_values() {
  using limits = std::numeric_limits<T>;
  std::vector<T> all{T(0),          T(-0.0),          limits::min(),     limits::denorm_min(),
                     limits::max(), limits::lowest(), limits::epsilon(), T(1) / T(3),
                     T(-1) / T(7),  T(0.1),           T(123456789),      T(1e10),
                     T(9.5e-10)};
  for (int exponent = limits::min_exponent; exponent < limits::max_exponent; ++exponent) {
    const T power = std::ldexp(T(1), exponent);
    all.insert(all.end(), {power, -std::nextafter(power, T(0)), std::nextafter(power, limits::max())});
  }
  const auto size = static_cast<std::int32_t>(all.size());
  std::vector<std::int32_t> row_ptr{0}, col_ind;
  for (std::int32_t i = 0; i < size; ++i) {
    col_ind.push_back(size - 1 - i);
    row_ptr.push_back(i + 1);
  }
  return {size, size, row_ptr, col_ind, all};
}

/// Calls test(path, name) for each Matrix Market file of the folder of real matrices.
template <class F>
void for_each_real_matrix(F&& test) {
  if (!matrices_folder()) GTEST_SKIP() << "no folder of real matrices";
  int num_read = 0;
  for (const std::string& name : real_matrix_names()) {
    const std::filesystem::path path = real_matrix_path(name);
    // No matrix holds complex values.
    if (read_file_info(path, {.real_part = true}).field == file_field::complex) continue;
    test(path, name);
    ++num_read;
  }
  EXPECT_GT(num_read, 20);
}

using reader = std::function<void(const std::filesystem::path&, const read_options&)>;
inline const reader as_fp64 = [](const auto& path, const auto& options) { read_coo<double>(path, options); };
inline const reader as_fp32 = [](const auto& path, const auto& options) { read_coo<float>(path, options); };
inline const reader as_fp64_int64 = [](const auto& path, const auto& options) {
  read_coo<double, std::int64_t>(path, options);
};
inline const reader as_info = [](const auto& path, const auto& options) { read_file_info(path, options); };

/// A file that must be refused: the code, and the line of the fault where it has one.
struct malformed_file {
  std::string name;
  std::string bytes;
  errc code;
  std::int64_t line = 0;
  reader read = as_fp64;
  read_options options = {};
};
inline void PrintTo(const malformed_file& file, std::ostream* out) { *out << file.name; }
inline const auto by_name = [](const auto& info) { return info.param.name; };

/// Refused with its code and line, and at no cost: neither time nor memory grows with what a file announces.
inline void expect_refused(const malformed_file& file, const std::string& file_name) {
  const temporary_folder folder;
  const std::filesystem::path path = folder.file(file_name, file.bytes);
  const std::int64_t allocated_before = bytes_allocated;
  const auto start = std::chrono::steady_clock::now();
  std::optional<error> caught;
  try {
    file.read(path, file.options);
  } catch (const error& thrown) {
    caught = thrown;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(caught.has_value()) << "was accepted";
  EXPECT_EQ(to_string(caught->code()), to_string(file.code)) << caught->what();
  EXPECT_EQ(caught->where().path, path.string());
  EXPECT_NE(std::string(caught->what()).find(path.string()), std::string::npos) << caught->what();
  EXPECT_EQ(caught->where().line, file.line) << caught->what();
  EXPECT_LT(bytes_allocated - allocated_before, (std::int64_t{16} << 20) + 32 * std::ssize(file.bytes));
  EXPECT_LT(seconds.count(), 5.0);
}

}  // namespace bcsc::test
