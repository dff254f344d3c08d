#include "converters/files/source.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "bcsc/error.hpp"
#include "converters/files/tar.hpp"
#include "test/unit/matrix_market_support.hpp"

/// Where the readers' bytes come from: files, pipes, memory; plain and compressed.
namespace bcsc::files {
namespace {

using test::gzipped;
using test::tarred;
using test::temporary_folder;

std::string noise(std::size_t size) {
  std::mt19937 random(3);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() % 64);
  return bytes;
}

/// How asking for all of what is stored ends, as a file or in memory.
template <class Stored>
errc code_of(const Stored& stored, const read_options& options) {
  try {
    if constexpr (std::is_same_v<Stored, std::string>) {
      source(stored, "memory", options).content();
    } else {
      source(stored, options).content();
    }
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
  EXPECT_EQ(code_of(bomb, {.max_expansion_ratio = 100}), errc::decompression_limit);
  EXPECT_EQ(code_of(bomb, {.max_expanded_bytes = 1000}), errc::decompression_limit);
  EXPECT_EQ(code_of(bomb, {.max_expansion_ratio = 1e6}), errc::ok);
}

TEST(SourceContent, CanBeCancelled) {
  const temporary_folder folder;
  read_options options;
  options.progress = [](std::int64_t, std::int64_t) { return false; };
  const std::string bytes = noise(1000), members = gzipped(bytes);
  std::vector<std::string> all{bytes, members};
  if (can_read_tar()) all.push_back(tarred({{"a/a.mtx", bytes}}));
  for (const std::string& stored : all) {
    EXPECT_EQ(code_of(stored, options), errc::cancelled);
    EXPECT_EQ(code_of(folder.file("a", stored), options), errc::cancelled);
  }
}

// --- Archives -------------------------------------------------------------------------------------------------------

struct archive_case {
  std::string name;
  std::vector<test::tar_file> files;
  std::string member;  ///< asked for
  std::string found;   ///< the member read, or
  errc code = errc::ok;
};

void PrintTo(const archive_case& a, std::ostream* out) { *out << a.name; }

class SourceOfArchive : public testing::TestWithParam<archive_case> {
 protected:
  void SetUp() override {
    if (!can_read_tar()) GTEST_SKIP() << "built without libarchive";
  }
};

TEST_P(SourceOfArchive, IsTheMember) {
  const archive_case& a = GetParam();
  const temporary_folder folder;
  read_options options;
  options.member = a.member;
  const std::string tar = tarred(a.files), old_tar = tarred(a.files, {.mark = false});
  for (const std::string& stored :
       {tar, old_tar, gzipped(tar), gzipped(tar.substr(0, 700)) + gzipped(tar.substr(700))}) {
    SCOPED_TRACE(stored.size());
    const auto path = folder.file("stored", stored);
    if (a.code != errc::ok) {
      EXPECT_EQ(code_of(stored, options), a.code);
      EXPECT_EQ(code_of(path, options), a.code);
      continue;
    }
    const auto expected =
        std::find_if(a.files.begin(), a.files.end(), [&](const auto& f) { return f.name == a.found; });
    ASSERT_NE(expected, a.files.end());
    source in_memory(stored, "memory", options), in_file(path, options);
    EXPECT_EQ(in_memory.member(), a.found);
    EXPECT_EQ(in_memory.content(), expected->content);
    EXPECT_EQ(in_file.member(), a.found);
    EXPECT_EQ(in_file.head(3), expected->content.substr(0, 3));
    std::string read;
    char piece[1000];
    while (const std::size_t size = in_file.read(piece, sizeof piece)) read.append(piece, size);
    EXPECT_EQ(read, expected->content);
  }
}

std::vector<archive_case> archives() {
  const std::string matrix = "the matrix\n", other = "another\n", large = noise(3 << 20);
  const test::tar_file a{"a/a.mtx", matrix}, b{"a/a_b.mtx", other}, readme{"a/README.txt", "read me\n"};
  const auto link = [](std::string name, char type) {
    return test::tar_file{.name = std::move(name), .type = type, .link = "/etc/passwd"};
  };
  const std::string long_folder(120, 'f');
  return {
      {"alone", {a}, "", "a/a.mtx"},
      {"of_megabytes", {{"a/a.mtx", large}}, "", "a/a.mtx"},
      {"named_like_its_folder_first", {a, b}, "", "a/a.mtx"},
      {"named_like_its_folder_last", {readme, b, a}, "", "a/a.mtx"},
      {"only_matrix", {readme, b, {"z", large}}, "", "a/a_b.mtx"},
      {"only_matrix_after_megabytes", {{"z", large}, b}, "", "a/a_b.mtx"},
      {"in_no_folder", {{"a.mtx", matrix}}, "", "a.mtx"},
      {"rutherford_boeing", {readme, {"a/a.rb", matrix}}, "", "a/a.rb"},
      {"with_a_folder_entry", {{.name = "a/", .type = '5'}, a}, "", "a/a.mtx"},
      {"with_dot_slash", {{"./a/a.mtx", matrix}}, "", "./a/a.mtx"},
      {"member", {a, b}, "a/a_b.mtx", "a/a_b.mtx"},
      {"member_before", {b, a}, "a/a_b.mtx", "a/a_b.mtx"},
      {"member_of_any_name", {a, readme}, "a/README.txt", "a/README.txt"},
      {"member_without_its_dot_slash", {b, {"./a/a.mtx", matrix}}, "a/a.mtx", "./a/a.mtx"},
      {"empty_member", {{"a/a.mtx", ""}, b}, "", "a/a.mtx"},
      {"name_of_pax",
       {{long_folder + "/" + long_folder + ".mtx", matrix}, b},
       "",
       long_folder + "/" + long_folder + ".mtx"},
      {"hostile_names",
       {{"../../../../tmp/x.mtx", other}, {"/etc/passwd", other}, {std::string("a\x1b[2J\n/\xff\xfe", 9), other}, a},
       "",
       "a/a.mtx"},
      {"links_are_no_files", {link("a/a.mtx", '2'), link("a/b.mtx", '1'), b}, "", "a/a_b.mtx"},

      {"a_folder_alone", {{.name = "a/", .type = '5'}}, "", "", errc::unsupported},
      {"no_matrix", {readme}, "", "", errc::unsupported},
      {"two_matrices", {b, {"a/c.mtx", matrix}}, "", "", errc::invalid_argument},
      {"two_named_like_their_folders", {a, {"b/b.mtx", matrix}}, "", "", errc::invalid_argument},
      {"the_same_twice", {a, a}, "", "", errc::invalid_argument},
      {"absent_member", {a, b}, "a/c.mtx", "", errc::invalid_argument},
      {"file_name_for_a_member", {a, b}, "a_b.mtx", "", errc::invalid_argument},
      {"folder_for_a_member", {{.name = "a/", .type = '5'}, a}, "a/", "", errc::invalid_argument},
      {"link_for_a_member", {link("a/a.mtx", '2'), b}, "a/a.mtx", "", errc::invalid_argument},
      {"absent_member_of_hostile_name", {a}, "../\x1b[2J", "", errc::invalid_argument},
  };
}

INSTANTIATE_TEST_SUITE_P(Holding, SourceOfArchive, testing::ValuesIn(archives()),
                         [](const auto& info) { return info.param.name; });

TEST(SourceOfArchive, NamesTheCandidates) {
  if (!can_read_tar()) GTEST_SKIP() << "built without libarchive";
  std::vector<test::tar_file> many;
  for (int k = 0; k < 1000; ++k) many.push_back({"a/" + std::string(60, 'x') + std::to_string(k) + ".mtx", ""});
  const auto message_of = [](const std::vector<test::tar_file>& files, std::string member) -> std::string {
    read_options options;
    options.member = std::move(member);
    try {
      const std::string tar = tarred(files);
      source(tar, "memory", options).content();
    } catch (const error& caught) {
      return caught.what();
    }
    return "";
  };
  EXPECT_EQ(message_of({{"a/x.mtx", ""}, {"a/y\x1b.mtx", ""}, {"a/z", ""}}, ""),
            "memory: member: must say which, the archive holds 'a/x.mtx', 'a/y\\x1b.mtx'");
  EXPECT_EQ(message_of({{"a/x.mtx", ""}, {"a/z", ""}}, "q"),
            "memory: member = 'q': is not in the archive, which holds 'a/x.mtx', 'a/z'");
  EXPECT_LT(message_of(many, "").size(), 1000u);
  EXPECT_LT(message_of(many, std::string(100'000, 'q')).size(), 1000u);
}

/// Nothing is known before the last file of the archive has been seen, and a pipe cannot be read twice.
TEST(SourceOfArchive, FromAPipeNeedsItsMemberNamed) {
  if (!can_read_tar()) GTEST_SKIP() << "built without libarchive";
  const temporary_folder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string tar = gzipped(tarred({{"a/b.mtx", "matrix"}}));
  for (const std::string member : {"", "a/b.mtx"}) {
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << tar; });
    read_options options;
    options.member = member;
    EXPECT_EQ(code_of(pipe, options), member.empty() ? errc::unsupported : errc::ok);
    writer.join();
  }
}

TEST(SourceOfArchive, TellsProgressThatNeverFalls) {
  if (!can_read_tar()) GTEST_SKIP() << "built without libarchive";
  const std::string tar = tarred({{"a/b.mtx", noise(12 << 20)}, {"z", noise(12 << 20)}});
  std::vector<std::int64_t> told;
  read_options options;
  options.progress = [&](std::int64_t done, std::int64_t) {
    told.push_back(done);
    return true;
  };
  EXPECT_EQ(code_of(tar, options), errc::ok);
  EXPECT_GT(told.size(), 8u);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), static_cast<std::int64_t>(tar.size()));
}

}  // namespace
}  // namespace bcsc::files
