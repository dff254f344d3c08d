#include "converters/files/source.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>
#include <string>
#include <thread>

#include "bcsc/error.hpp"
#include "test/unit/matrix_market_support.hpp"

/// Where the readers' bytes come from: files, pipes, memory; plain and compressed.
namespace bcsc::files {
namespace {

using test::gzipped;
using test::temporary_folder;

std::string noise(std::size_t size) {
  std::mt19937 random(3);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() % 64);
  return bytes;
}

errc code_of(source& in) {
  try {
    in.content();
  } catch (const error& caught) {
    return caught.code();
  }
  return errc::ok;
}

/// Short, and longer than every buffer.
class SourceContent : public testing::TestWithParam<std::size_t> {};

TEST_P(SourceContent, IsAllOfTheFileWhereverItComesFrom) {
  const std::string bytes = noise(GetParam());
  const temporary_folder folder;
  const std::string members = gzipped(bytes.substr(0, bytes.size() / 3)) + gzipped(bytes.substr(bytes.size() / 3));
  for (const std::string& stored : {bytes, members}) {
    SCOPED_TRACE(stored.size());
    source from_file(folder.file("a", stored), read_options{});
    EXPECT_EQ(from_file.head(10), bytes.substr(0, 10));
    EXPECT_EQ(from_file.content(), bytes);
    EXPECT_EQ(from_file.content().data(), from_file.content().data());
    EXPECT_EQ(from_file.head(10), bytes.substr(0, 10));
    char more;
    EXPECT_EQ(from_file.read(&more, 1), 0u);

    source from_memory(stored, "memory", read_options{});
    EXPECT_EQ(from_memory.content(), bytes);
    if (stored == bytes) {
      EXPECT_EQ(from_memory.content().data(), stored.data()) << "was copied";
    }

    const auto pipe = folder.path() / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << stored; });
    source from_pipe(pipe, read_options{});
    EXPECT_EQ(from_pipe.content(), bytes);
    writer.join();
    std::filesystem::remove(pipe);
  }
}

INSTANTIATE_TEST_SUITE_P(OfSize, SourceContent, testing::Values(0, 1, 11, 5000, 3 << 20));

TEST(SourceContent, KeepsTheLimitsOfExpansion) {
  const std::string bomb = gzipped(std::string(std::size_t{8} << 20, 'x'));
  read_options options;
  options.max_expansion_ratio = 100;
  source by_ratio(bomb, "bomb", options);
  EXPECT_EQ(code_of(by_ratio), errc::decompression_limit);
  options = {.max_expanded_bytes = 1000};
  source by_size(bomb, "bomb", options);
  EXPECT_EQ(code_of(by_size), errc::decompression_limit);
  source harmless(bomb, "bomb", read_options{.max_expansion_ratio = 1e6});
  EXPECT_EQ(code_of(harmless), errc::ok);
}

TEST(SourceContent, CanBeCancelled) {
  const temporary_folder folder;
  const std::string bytes = noise(10);
  read_options options;
  options.progress = [](std::int64_t, std::int64_t) { return false; };
  for (const std::string& stored : {bytes, gzipped(bytes)}) {
    source in(folder.file("a", stored), options);
    EXPECT_EQ(code_of(in), errc::cancelled);
  }
}

}  // namespace
}  // namespace bcsc::files
