// The file of a tuning cache: what it holds, and what becomes of it among other processes and on a bad disk.
#include "bcsc/tuning_cache.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/support/code_of.hpp"
#include "test/support/in_child.hpp"

namespace bcsc::test {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

class cache_file : public ::testing::Test {
 protected:
  cache_file() {
    std::string name = testing::TempDir() + "bcsc-tuning-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
    folder_ = name;
  }
  ~cache_file() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "cache.txt") const { return (folder_ / name).string(); }
  tuning_cache cache() const { return tuning_cache(path()); }
  void put(const std::string& key, const std::string& value) const {
    const std::array entries{cache_entry{key, value}};
    cache().put(entries);
  }
  /// Three entries, and the file that holds them.
  std::string filled() const {
    for (const auto& [key, value] : known_) put(key, value);
    return contents(path());
  }
  /// That what is there is what was written, as far as it is there.
  void expect_nothing_made_up(const std::string& what) const {
    for (const cache_entry& entry : cache().entries()) {
      const auto found = known_.find(entry.key);
      ASSERT_NE(found, known_.end()) << what << ": " << entry.key;
      EXPECT_EQ(entry.value, found->second) << what;
    }
    for (const auto& [key, value] : known_) {
      const auto found = cache().find(key);
      if (found) {
        EXPECT_EQ(*found, value) << what;
      }
    }
  }

  const std::map<std::string, std::string> known_{
      {"first | of N 32", "kernel=a m_block=1"}, {"second", "kernel=b"}, {"third", "kernel=c seconds=1e-05"}};
  fs::path folder_;
};

TEST_F(cache_file, holds_what_was_put_last) {
  EXPECT_TRUE(cache().entries().empty());
  EXPECT_FALSE(cache().find("second"));
  filled();
  expect_nothing_made_up("as written");
  EXPECT_EQ(cache().entries().size(), known_.size());
  put("second", "kernel=d");
  EXPECT_EQ(cache().find("second"), "kernel=d");
  EXPECT_EQ(cache().entries().size(), known_.size());
  EXPECT_EQ(cache().entries().back().key, "second");
  EXPECT_FALSE(cache().find("sec"));
  EXPECT_FALSE(cache().find("kernel=a m_block=1"));
  cache().clear();
  EXPECT_TRUE(cache().entries().empty());
  put("second", "kernel=e");
  EXPECT_EQ(cache().find("second"), "kernel=e");
}

TEST_F(cache_file, is_carried_from_one_to_another) {
  filled();
  const tuning_cache other(path("other.txt"));
  const std::array own{cache_entry{"own", "kernel=o"}, cache_entry{"second", "kernel=old"}};
  other.put(own);
  other.put(cache().entries());
  EXPECT_EQ(other.entries().size(), known_.size() + 1);
  EXPECT_EQ(other.find("own"), "kernel=o");
  EXPECT_EQ(other.find("second"), "kernel=b");
}

TEST_F(cache_file, refuses_what_would_break_its_lines) {
  for (const cache_entry& bad : std::vector<cache_entry>{{"a\tb", "v"}, {"a", "v\nw"}, {"", "v"}, {"a", ""}}) {
    const std::array entries{bad};
    EXPECT_EQ(code_of([&] { cache().put(entries); }), errc::invalid_argument);
  }
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(cache_file, forgets_the_oldest_of_too_many) {
  std::vector<cache_entry> many;
  for (std::size_t i = 0; i < tuning_cache::max_entries + 10; ++i) many.push_back({fmt::format("key {}", i), "v"});
  cache().put(many);
  EXPECT_EQ(cache().entries().size(), tuning_cache::max_entries);
  EXPECT_FALSE(cache().find("key 9"));
  EXPECT_TRUE(cache().find("key 10"));
  put("newest", "v");
  EXPECT_EQ(cache().entries().size(), tuning_cache::max_entries);
  EXPECT_FALSE(cache().find("key 10"));
  EXPECT_TRUE(cache().find("newest"));
}

TEST_F(cache_file, survives_being_cut_off_anywhere) {
  const std::string whole = filled();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string what = fmt::format("{} of {} bytes", size, whole.size());
    write(path(), whole.substr(0, size));
    expect_nothing_made_up(what);
    put("second", known_.at("second"));
    expect_nothing_made_up(what + ", written to");
    ASSERT_EQ(cache().find("second"), known_.at("second")) << what;
  }
}

TEST_F(cache_file, survives_any_flipped_bit) {
  const std::string whole = filled();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      const std::string what = fmt::format("bit {} of byte {}", bit, at);
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ 1 << bit);
      write(path(), flipped);
      expect_nothing_made_up(what);
      // One flip costs two lines at the most: where it joins them.
      EXPECT_GE(cache().entries().size() + 2, at < 20 ? 2u : known_.size()) << what;
    }
  }
}

TEST_F(cache_file, leaves_alone_what_is_something_else) {
  for (const std::string& foreign : {std::string("%PDF-1.7 a thesis"), std::string("\x89PNG\r\n\x1a\n\0\0", 10),
                                     std::string(1 << 16, '\n'), std::string("00000000\tkey\tvalue\n")}) {
    write(path(), foreign);
    EXPECT_EQ(code_of([&] { cache().entries(); }), errc::invalid_format);
    EXPECT_EQ(code_of([&] { put("key", "value"); }), errc::invalid_format);
    EXPECT_EQ(code_of([&] { cache().clear(); }), errc::invalid_format);
    EXPECT_FALSE(cache().find("key"));
    EXPECT_EQ(contents(path()), foreign);
    EXPECT_FALSE(fs::exists(path() + ".lock"));
  }
  write(path(), "");
  put("key", "value");
  EXPECT_EQ(cache().find("key"), "value") << "an empty file may become one";
}

TEST_F(cache_file, rewrites_one_of_another_version) {
  std::string older = filled();
  older.replace(older.find('1'), 1, "0");
  write(path(), older);
  EXPECT_TRUE(cache().entries().empty());
  EXPECT_FALSE(cache().find("second"));
  put("new", "kernel=n");
  EXPECT_EQ(cache().entries().size(), 1u);
}

TEST_F(cache_file, is_a_regular_file_or_none) {
  fs::create_directory(path("folder"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& name : {path("folder"), path("pipe"), std::string("/dev/full")}) {
    const std::array entries{cache_entry{"key", "value"}};
    EXPECT_NE(code_of([&] { tuning_cache(name).put(entries); }), errc::ok) << name;
    EXPECT_NE(code_of([&] { tuning_cache(name).entries(); }), errc::ok) << name;
  }
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(cache_file, says_where_it_cannot_be_written) {
  // Nobody may make a file there, root included.
  const std::array entries{cache_entry{"key", "value"}};
  EXPECT_EQ(code_of([&] { tuning_cache("/proc/bcsc/cache.txt").put(entries); }), errc::io_error);
  EXPECT_EQ(code_of([&] { tuning_cache("/proc/bcsc/cache.txt").clear(); }), errc::ok) << "nothing is there";
  EXPECT_TRUE(tuning_cache("/proc/bcsc/cache.txt").entries().empty());
}

TEST_F(cache_file, stays_whole_where_the_disk_is_full) {
  const std::string whole = filled();
  EXPECT_TRUE(test::holds_in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{64, 64};
    const std::array entries{cache_entry{"key", "value"}};
    return setrlimit(RLIMIT_FSIZE, &small) == 0 && code_of([&] { cache().put(entries); }) == errc::io_error;
  }));
  EXPECT_EQ(contents(path()), whole);
  EXPECT_FALSE(fs::exists(path() + ".new"));
}

TEST_F(cache_file, may_be_a_link) {
  fs::create_symlink(path("real.txt"), path());
  filled();
  EXPECT_TRUE(fs::is_symlink(path()));
  EXPECT_EQ(tuning_cache(path("real.txt")).entries().size(), known_.size());
}

TEST_F(cache_file, loses_nothing_among_32_processes) {
  constexpr int num_processes = 32, num_each = 8;
  std::vector<pid_t> children;
  for (int p = 0; p < num_processes; ++p) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        for (int i = 0; i < num_each; ++i) {
          put(fmt::format("process {} entry {}", p, i), fmt::format("kernel={}-{}", p, i));
          // Own entries are there from then on, whoever writes; others' are whole.
          for (int k = 0; k <= i; ++k) {
            if (cache().find(fmt::format("process {} entry {}", p, k)) != fmt::format("kernel={}-{}", p, k)) _exit(1);
          }
        }
      } catch (const std::exception&) {
        _exit(2);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  std::set<std::string> keys;
  for (const cache_entry& entry : cache().entries()) keys.insert(entry.key);
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(num_processes) * num_each);
}

/// Sets environment variables for as long as it lives.
class environment {
 public:
  void set(const std::string& name, const char* value) {
    if (!former_.contains(name)) {
      const char* const was = std::getenv(name.c_str());
      former_[name] = was != nullptr ? std::optional<std::string>(was) : std::nullopt;
    }
    value != nullptr ? setenv(name.c_str(), value, 1) : unsetenv(name.c_str());
  }
  ~environment() {
    for (const auto& [name, value] : former_) {
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    }
  }

 private:
  std::map<std::string, std::optional<std::string>> former_;
};

TEST(cache_name, follows_the_environment) {
  environment env;
  env.set("BCSC_TUNING_CACHE", nullptr);
  env.set("XDG_CACHE_HOME", "/xdg");
  env.set("HOME", "/home/me");
  EXPECT_EQ(tuning_cache().file(), "/xdg/bcsc/tuning-1.txt");
  env.set("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(tuning_cache().file(), "/home/me/.cache/bcsc/tuning-1.txt");
  env.set("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(tuning_cache().file(), "/home/me/.cache/bcsc/tuning-1.txt");
  env.set("HOME", nullptr);
  EXPECT_TRUE(tuning_cache().is_off());
  env.set("BCSC_TUNING_CACHE", "/elsewhere/cache.txt");
  EXPECT_EQ(tuning_cache().file(), "/elsewhere/cache.txt");
  EXPECT_EQ(tuning_cache("mine.txt").file(), "mine.txt");
  EXPECT_TRUE(tuning_cache("off").is_off());
  env.set("BCSC_TUNING_CACHE", "off");
  EXPECT_TRUE(tuning_cache().is_off());
  const std::array entries{cache_entry{"key", "value"}};
  tuning_cache().put(entries);
  EXPECT_FALSE(tuning_cache().find("key"));
}

}  // namespace
}  // namespace bcsc::test
