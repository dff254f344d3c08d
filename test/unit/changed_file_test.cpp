#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>

#include "bcsc/container.hpp"
#include "bcsc/error.hpp"
#include "converters/files/source.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/file_samples.hpp"

/// Files that another process writes while they are read: an error of the library, never a signal.
namespace bcsc {
namespace {

namespace fs = std::filesystem;
using test::temporary_folder;

/// A file of every format, so large that the first progress report comes before all of it is read. Made once.
struct samples {
  temporary_folder folder;
  std::map<std::string, fs::path> paths;

  const fs::path& path(const std::string& name) {
    auto& made = paths[name];
    if (!made.empty()) return made;
    // 8 to 10 MB each: progress is reported after 4 MiB.
    const bool is_binary =
        name.find("mat") != name.npos || name.find("npz") != name.npos || name.find("bcsc") != name.npos;
    return made = test::write_sample(folder, name, test::sample(name == "a.smtx" ? 4000 : is_binary ? 2800 : 1700));
  }
  static samples& all() {
    static samples instance;
    return instance;
  }
};

/// A copy that was written an hour ago: clocks of file systems tick slowly.
fs::path old_copy(const temporary_folder& folder, const std::string& name) {
  const auto path = folder.path() / name;
  fs::copy_file(samples::all().path(name), path);
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  return path;
}

/// What happens to a file.
struct change {
  const char* name;
  bool shortens;
  void (*apply)(const fs::path& path);
};
void PrintTo(const change& what, std::ostream* out) { *out << what.name; }
const change changes[] = {
    {"emptied", true, [](const fs::path& path) { fs::resize_file(path, 0); }},
    {"shortened", true, [](const fs::path& path) { fs::resize_file(path, 7 * fs::file_size(path) / 8); }},
    {"shortened_by_a_byte", true, [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) - 1); }},
    {"lengthened", false, [](const fs::path& path) { std::ofstream(path, std::ios::app) << '\n'; }},
    {"overwritten", false,
     [](const fs::path& path) {
       std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
       const char first = static_cast<char>(file.get());
       file.seekp(0);
       file.put(first);
     }},
};

/// A progress callback that acts at its first call.
struct once {
  std::function<void()> act;
  bool done = false;

  progress_callback callback() {
    return [this](std::int64_t, std::int64_t) {
      if (!std::exchange(done, true)) act();
      return true;
    };
  }
};

template <class Read>
std::optional<error> failure_of(Read&& read) {
  try {
    read();
    return std::nullopt;
  } catch (const error& caught) {
    return caught;
  }
}

class changed_file : public testing::TestWithParam<std::tuple<std::string, change>> {};

TEST_P(changed_file, is_an_error) {
  const auto& [name, what] = GetParam();
  const temporary_folder folder;
  const auto path = old_copy(folder, name);
  once changing{[&, apply = what.apply] { apply(path); }};
  const auto failure = failure_of([&] { (void)read_csr<double>(path, {.progress = changing.callback()}); });
  ASSERT_TRUE(changing.done);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->where().path, path.string());
  EXPECT_EQ(failure->code(), what.shortens ? errc::truncated : errc::io_error) << failure->what();
}

std::string name_of(const testing::TestParamInfo<std::tuple<std::string, change>>& info) {
  return test::as_identifier(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
}
INSTANTIATE_TEST_SUITE_P(while_read, changed_file,
                         testing::Combine(testing::ValuesIn(test::sample_names()), testing::ValuesIn(changes)),
                         name_of);

class file_replaced : public testing::TestWithParam<std::string> {};

/// Renaming another file into place takes nothing away: what was opened is read.
TEST_P(file_replaced, is_read_as_it_was) {
  const temporary_folder folder;
  const auto path = old_copy(folder, GetParam());
  const auto wanted = read_csr<double>(path);
  once replacing{[&] { fs::rename(folder.file("other", "no matrix"), path); }};
  const auto got = read_csr<double>(path, {.progress = replacing.callback()});
  ASSERT_TRUE(replacing.done);
  EXPECT_EQ(test::bytes_of(path), "no matrix");
  EXPECT_TRUE(std::ranges::equal(got.view().col_ind, wanted.view().col_ind));
  EXPECT_TRUE(std::ranges::equal(got.view().values, wanted.view().values));
}

INSTANTIATE_TEST_SUITE_P(while_read, file_replaced, testing::ValuesIn(test::sample_names()),
                         [](const auto& info) { return test::as_identifier(info.param); });

/// A change between the look at its size and the reading of what follows the first chunk.
TEST(changed_source, is_an_error_wherever_it_is_cut) {
  const temporary_folder folder;
  constexpr std::size_t chunk = std::size_t{256} << 10, size = 3 * chunk;
  for (const std::size_t left : {std::size_t{0}, std::size_t{1}, chunk, chunk + 1, 2 * chunk, size - 1}) {
    for (const bool whole : {false, true}) {
      const auto path = folder.file("a", std::string(size, 'x'));
      files::source in(path, read_options{});
      fs::resize_file(path, left);
      const auto failure = failure_of([&] {
        char piece[1000];
        if (whole) in.content();
        while (in.read(piece, sizeof piece) > 0) {
        }
      });
      ASSERT_TRUE(failure) << left;
      EXPECT_EQ(failure->code(), errc::truncated) << failure->what();
      EXPECT_NE(std::string(failure->what()).find("786432 bytes"), std::string::npos) << failure->what();
    }
  }
}

// --- Containers -----------------------------------------------------------------------------------------------------

bool is_mapped(const fs::path& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(path.string())) return true;
  }
  return false;
}

void expect_equal(const csr_view<double>& a, const csr_view<double>& b) {
  EXPECT_TRUE(std::ranges::equal(a.row_ptr, b.row_ptr));
  EXPECT_TRUE(std::ranges::equal(a.col_ind, b.col_ind));
  EXPECT_TRUE(std::ranges::equal(a.values, b.values));
}

TEST(container_in_memory, is_not_mapped_and_equal) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.bcsc";
  const auto a = test::sample(2800);
  write_container(path, a);
  for (const bool map : {true, false}) {
    SCOPED_TRACE(map);
    const auto looking = [&](bool& seen) {
      return [&](std::int64_t, std::int64_t) {
        seen |= is_mapped(path);
        return true;
      };
    };
    bool by_class = false, by_copy = false, by_csr = false, by_coo = false, by_any = false;
    const mapped_matrix held(path, {.map = map, .progress = looking(by_class)});
    EXPECT_EQ(is_mapped(path), map);
    expect_equal(held.as<csr_view<double>>(), a.view());
    EXPECT_EQ(held.info().num_values, a.nnz());
    if (map) continue;
    const any_matrix copy = read_container(path, {.map = false, .progress = looking(by_copy)});
    expect_equal(copy.view().visit([&]<class View>(const View& view) -> csr_view<double> {
      if constexpr (std::same_as<View, csr_view<double>>) return view;
      return {};
    }),
                 a.view());
    read_options reading{.map_containers = false, .progress = looking(by_csr)};
    expect_equal(viewed(read_csr<double>(path, reading)), a.view());
    reading.progress = looking(by_coo);
    EXPECT_EQ(read_coo<double>(path, reading).nnz(), a.nnz());
    reading.progress = looking(by_any);
    EXPECT_EQ(viewed(read_matrix(path, reading)).num_values(), a.nnz());
    EXPECT_FALSE(by_class || by_copy || by_csr || by_coo || by_any);
  }
}

class changed_container : public testing::TestWithParam<change> {};

TEST_P(changed_container, is_an_error_where_it_is_not_mapped) {
  const temporary_folder folder;
  const auto a = test::sample(2800);
  const std::function<void(const fs::path&, progress_callback)> readers[] = {
      [](const fs::path& path, progress_callback progress) {
        mapped_matrix(path, {.map = false, .progress = std::move(progress)});
      },
      [](const fs::path& path, progress_callback progress) {
        (void)read_container(path, {.map = false, .progress = std::move(progress)});
      },
      [](const fs::path& path, progress_callback progress) {
        (void)read_csr<double>(path, {.map_containers = false, .progress = std::move(progress)});
      },
      [](const fs::path& path, progress_callback progress) {
        (void)read_matrix(path, {.map_containers = false, .progress = std::move(progress)});
      }};
  for (const auto& reader : readers) {
    const auto path = folder.path() / "a.bcsc";
    write_container(path, a);
    fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
    once changing{[&] { GetParam().apply(path); }};
    const auto failure = failure_of([&] { reader(path, changing.callback()); });
    ASSERT_TRUE(changing.done);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), GetParam().shortens ? errc::truncated : errc::io_error) << failure->what();
    EXPECT_EQ(failure->where().path, path.string());
  }
}

INSTANTIATE_TEST_SUITE_P(while_read, changed_container, testing::ValuesIn(changes),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(container_in_memory, outlives_what_is_done_to_its_file) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.bcsc";
  const auto a = test::sample(500);
  for (const change& what : changes) {
    SCOPED_TRACE(what.name);
    write_container(path, a);
    const mapped_matrix held(path, {.map = false});
    what.apply(path);
    expect_equal(held.as<csr_view<double>>(), a.view());
  }
}

}  // namespace
}  // namespace bcsc
