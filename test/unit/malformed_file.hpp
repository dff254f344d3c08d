#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <ostream>
#include <string>

#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "test/unit/matrix_market_support.hpp"

/// A table's row of a file that must be refused, and the check. To be included by only one source of an executable: it
/// replaces operator new to count what is allocated.
namespace bcsc::test {
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

using reader = std::function<void(const std::filesystem::path&, const read_options&)>;

inline const reader as_fp64 = [](const auto& path, const auto& options) { read_coo<double>(path, options); };
inline const reader as_fp32 = [](const auto& path, const auto& options) { read_coo<float>(path, options); };
inline const reader as_int64 = [](const auto& path, const auto& o) { read_coo<double, std::int64_t>(path, o); };
inline const reader as_csr = [](const auto& path, const auto& options) { read_csr<double>(path, options); };
inline const reader as_info = [](const auto& path, const auto& options) { read_file_info(path, options); };

struct malformed {
  std::string name;
  std::string bytes;
  errc code;
  std::int64_t byte = -1;  ///< where the fault lies; -1: the path alone
  reader read = as_fp64;
  read_options options = {};
};

inline void PrintTo(const malformed& file, std::ostream* out) { *out << file.name; }

/// The error of reading, or nothing.
inline std::optional<error> error_of(const reader& read, const std::filesystem::path& path,
                                     const read_options& options = {}) {
  try {
    read(path, options);
  } catch (const error& caught) {
    return caught;
  }
  return std::nullopt;
}

/// Refused with the code and at the place, soon, and without memory for what the file merely announces.
inline void expect_refused(const malformed& file, const std::string& extension) {
  const temporary_folder folder;
  const std::filesystem::path path = folder.file(file.name + extension, file.bytes);
  const std::int64_t allocated_before = bytes_allocated;
  const auto start = std::chrono::steady_clock::now();
  const auto caught = error_of(file.read, path, file.options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(caught.has_value()) << "was accepted";
  EXPECT_EQ(to_string(caught->code()), to_string(file.code)) << caught->what();
  EXPECT_EQ(caught->where().path, path.string());
  EXPECT_NE(std::string(caught->what()).find(path.string()), std::string::npos) << caught->what();
  EXPECT_EQ(caught->where().byte, file.byte) << caught->what();
  EXPECT_LT(bytes_allocated - allocated_before, std::int64_t{16} << 20);
  EXPECT_LT(seconds.count(), 2.0);
}

}  // namespace bcsc::test
