#include "core/memory.hpp"
#include "core/cpu_caches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "bcsc/container.hpp"
#include "bcsc/error.hpp"
#include "core/cpu_caches.hpp"
#include "test/unit/file_samples.hpp"

/// How much memory there is, according to files that the test writes, and what the readers do when it is too little.
namespace bcsc {
namespace {

using test::temporary_folder;
using amount = std::optional<std::int64_t>;

struct told_file {
  std::string path, text;
};
struct memory_case {
  std::string name;
  std::vector<told_file> files;
  amount address_space;
  amount system, control_group, left_of_address_space;
};
void PrintTo(const memory_case& c, std::ostream* out) { *out << c.name; }

class measured_memory : public testing::TestWithParam<memory_case> {};

TEST_P(measured_memory, is_what_the_system_tells) {
  const memory_case& c = GetParam();
  const temporary_folder root;
  for (const told_file& file : c.files) {
    std::filesystem::create_directories((root.path() / file.path).parent_path());
    root.file(file.path, file.text);
  }
  const core::memory_limits limits = core::measure_memory(root.path(), c.address_space);
  EXPECT_EQ(limits.system, c.system);
  EXPECT_EQ(limits.control_group, c.control_group);
  EXPECT_EQ(limits.address_space, c.left_of_address_space);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const amount& a : {c.system, c.control_group, c.left_of_address_space})
    least = std::min(least, a.value_or(least));
  EXPECT_EQ(limits.least(), least);
}

std::vector<memory_case> memory_cases() {
  const std::string groups = "sys/fs/cgroup/", stat = "anon 5\nfile 70\ninactive_file 40\nactive_file 20\n";
  const told_file in_a{"proc/self/cgroup", "0::/a/b\n"}, in_root{"proc/self/cgroup", "0::/\n"};
  const told_file version_1{"proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/x/y\n0::/\n"};
  const std::string memory = groups + "memory/";
  return {
      {"nothing", {}, {}, {}, {}, {}},
      {"meminfo", {{"proc/meminfo", "MemTotal: 900 kB\nMemFree: 1 kB\nMemAvailable:   300 kB\n"}}, {}, 307200, {}, {}},
      {"meminfo_of_an_old_kernel", {{"proc/meminfo", "MemTotal: 900 kB\nMemFree: 1 kB\n"}}, {}, {}, {}, {}},
      {"meminfo_of_nonsense", {{"proc/meminfo", "MemAvailable: much\n\xff\n:\n"}}, {}, {}, {}, {}},
      {"version_2",
       {in_root, {groups + "memory.max", "1000\n"}, {groups + "memory.current", "300\n"}},
       {},
       {},
       700,
       {}},
      {"version_2_without_a_limit",
       {in_root, {groups + "memory.max", "max\n"}, {groups + "memory.current", "300\n"}},
       {},
       {},
       {},
       {}},
      {"version_2_page_cache_is_given_back",
       {in_root,
        {groups + "memory.max", "1000\n"},
        {groups + "memory.current", "300\n"},
        {groups + "memory.stat", stat}},
       {},
       {},
       760,
       {}},
      {"version_2_used_up",
       {in_root, {groups + "memory.max", "1000\n"}, {groups + "memory.current", "1200\n"}},
       {},
       {},
       0,
       {}},
      {"version_2_the_group_itself",
       {in_a,
        {groups + "a/b/memory.max", "1000\n"},
        {groups + "a/b/memory.current", "300\n"},
        {groups + "a/memory.max", "max\n"},
        {groups + "a/memory.current", "300\n"}},
       {},
       {},
       700,
       {}},
      {"version_2_a_group_around_it",
       {in_a,
        {groups + "a/b/memory.max", "9000\n"},
        {groups + "a/b/memory.current", "300\n"},
        {groups + "a/memory.max", "2000\n"},
        {groups + "a/memory.current", "1500\n"}},
       {},
       {},
       500,
       {}},
      {"version_1",
       {version_1,
        {memory + "x/y/memory.limit_in_bytes", "5000\n"},
        {memory + "x/y/memory.usage_in_bytes", "1000\n"},
        {memory + "x/y/memory.stat", "inactive_file 1\ntotal_inactive_file 100\ntotal_active_file 50\n"}},
       {},
       {},
       4150,
       {}},
      {"version_1_path_of_the_host",
       {version_1, {memory + "memory.limit_in_bytes", "5000\n"}, {memory + "memory.usage_in_bytes", "1000\n"}},
       {},
       {},
       4000,
       {}},
      {"groups_of_nonsense",
       {{"proc/self/cgroup", "::\n\n0\nx:memory\n0::/a/../../..\n"}, {groups + "memory.max", "many\n"}},
       {},
       {},
       {},
       {}},
      {"address_space", {}, 1 << 20, {}, {}, 1 << 20},
      {"address_space_used_up", {{"proc/self/statm", "1000000 5 5 5\n"}}, 1 << 20, {}, {}, 0},
      {"all",
       {{"proc/meminfo", "MemAvailable: 1 kB\n"},
        in_root,
        {groups + "memory.max", "1000\n"},
        {groups + "memory.current", "100\n"}},
       500,
       1024,
       900,
       500},
  };
}

INSTANTIATE_TEST_SUITE_P(of, measured_memory, testing::ValuesIn(memory_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(memory, of_this_machine_is_some) { EXPECT_GT(core::measure_memory().least(), std::int64_t{1} << 20); }

TEST(memory, is_said_in_readable_units) {
  EXPECT_EQ(core::bytes_text(1023), "1023 B");
  EXPECT_EQ(core::bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(core::bytes_text(std::int64_t{5} << 40), "5.0 TiB");
  EXPECT_EQ(core::bytes_text(std::numeric_limits<std::int64_t>::max()), "8.0 EiB");
}

TEST(memory, counts_are_grouped_by_thousands) {
  EXPECT_EQ(core::count_text(0), "0");
  EXPECT_EQ(core::count_text(999), "999");
  EXPECT_EQ(core::count_text(1000), "1,000");
  EXPECT_EQ(core::count_text(-123456), "-123,456");
  EXPECT_EQ(core::count_text(std::numeric_limits<std::int64_t>::max()), "9,223,372,036,854,775,807");
}

TEST(memory, products_end_at_the_largest_number) {
  EXPECT_EQ(core::saturating_product(1 << 20, 1 << 20), std::int64_t{1} << 40);
  EXPECT_EQ(core::saturating_product(std::int64_t{1} << 40, std::int64_t{1} << 40),
            std::numeric_limits<std::int64_t>::max());
}

// --- Readers --------------------------------------------------------------------------------------------------------

std::optional<error> failure_of(const std::filesystem::path& path, const read_options& options) {
  try {
    (void)read_csr<double>(path, options);
    return std::nullopt;
  } catch (const error& caught) {
    return caught;
  }
}

class too_little_memory : public testing::TestWithParam<std::string> {};

TEST_P(too_little_memory, is_an_error_that_says_both_sizes) {
  const temporary_folder folder;
  const auto a = test::sample(300);  // 9000 entries of 16 bytes
  const auto path = test::write_sample(folder, GetParam(), a);
  EXPECT_FALSE(failure_of(path, {.max_memory_bytes = std::int64_t{16} << 20}));
  const auto failure = failure_of(path, {.max_memory_bytes = 20'000});
  ASSERT_TRUE(failure);
  const bool expands = GetParam() == "a.npz.gz" || GetParam() == "a.bcsc.gz";
  EXPECT_EQ(failure->code(), expands ? errc::decompression_limit : errc::out_of_memory) << failure->what();
  EXPECT_EQ(failure->where().path, path.string());
  const std::string message = failure->what();
  EXPECT_NE(message.find("iB of memory"), std::string::npos) << message;
  EXPECT_NE(message.find("19.5 KiB are available"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(to_read, too_little_memory, testing::ValuesIn(test::sample_names()),
                         [](const auto& info) { return test::as_identifier(info.param); });

TEST(expansion, of_a_variable_needs_memory) {
  const temporary_folder folder;
  auto a = test::sample(300);
  std::ranges::fill(a.values(), 1.0);
  const auto path = test::write_sample(folder, "deflated.mat", a);
  ASSERT_LT(std::filesystem::file_size(path), 50'000u);
  const auto failure = failure_of(path, {.max_memory_bytes = 60'000});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code(), errc::decompression_limit);
  EXPECT_NE(std::string(failure->what()).find("what it expands to: needs 10"), std::string::npos) << failure->what();
  EXPECT_NE(std::string(failure->what()).find("58.6 KiB are available"), std::string::npos) << failure->what();
}

/// Known from the size line, before any entry is read: the first of them is wrong.
TEST(announced_entries, that_the_file_can_hold_are_refused_at_once) {
  const temporary_folder folder;
  std::string text = "%%MatrixMarket matrix coordinate real general\n9 9 100000\nwrong\n";
  text.append(800'000, ' ');
  const auto path = folder.file("a.mtx", text);
  const auto failure = failure_of(path, {.max_memory_bytes = 1 << 20});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code(), errc::out_of_memory);
  EXPECT_EQ(failure->where().line, 2);
  EXPECT_NE(std::string(failure->what()).find("the list of 100000 entries: needs 1.5 MiB of memory, 1.0 MiB are"),
            std::string::npos)
      << failure->what();
}

/// A header is not believed beyond what the file can hold.
TEST(announced_entries, that_the_file_cannot_hold_are_a_lie) {
  const temporary_folder folder;
  const std::string text = "%%MatrixMarket matrix coordinate real general\n9 9 1000000000000\n1 1 1\n";
  for (const auto& path : {folder.file("a.mtx", text), folder.file("a.mtx.gz", test::gzipped(text))}) {
    const auto failure = failure_of(path, {.max_memory_bytes = std::int64_t{16} << 20});
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::truncated) << failure->what();
  }
}

TEST(announced_rows, need_memory_for_their_pointers) {
  const temporary_folder folder;
  const auto path = folder.file("a.mtx", "%%MatrixMarket matrix coordinate real general\n2000000000 9 1\n1 1 1\n");
  const auto failure = failure_of(path, {.max_memory_bytes = std::int64_t{1} << 30});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code(), errc::out_of_memory);
  EXPECT_NE(std::string(failure->what()).find("needs 7.5 GiB of memory, 1.0 GiB are"), std::string::npos);
  EXPECT_EQ(read_coo<double>(path, {.max_memory_bytes = 1 << 20}).nnz(), 1);
}

/// One cache of cpu0, as Linux describes it.
void tell_cache(const temporary_folder& root, int index, const std::string& level, const std::string& type,
                const std::string& size) {
  const std::string folder = "sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
  std::filesystem::create_directories(root.path() / folder);
  root.file(folder + "level", level + "\n");
  root.file(folder + "type", type + "\n");
  root.file(folder + "size", size + "\n");
}

TEST(cpu_caches, are_those_that_the_system_tells) {
  const temporary_folder root;
  tell_cache(root, 0, "1", "Data", "48K");
  tell_cache(root, 1, "1", "Instruction", "64K");
  tell_cache(root, 2, "2", "Unified", "2048K");
  tell_cache(root, 3, "3", "Unified", "98304K");
  const core::cpu_caches found = core::find_cpu_caches(root.path());
  EXPECT_EQ(found.l1, 48 << 10);
  EXPECT_EQ(found.l2, 2 << 20);
  EXPECT_EQ(found.l3, 96 << 20);
}

TEST(cpu_caches, are_the_usual_ones_where_nothing_sensible_is_told) {
  const core::cpu_caches usual;
  const temporary_folder nothing, nonsense, two_levels;
  tell_cache(nonsense, 0, "1", "Data", "lots");
  tell_cache(nonsense, 1, "2", "Unified", "-512K");
  tell_cache(nonsense, 2, "", "", "");
  tell_cache(two_levels, 0, "2", "Unified", "4096K");
  for (const auto* root : {&nothing, &nonsense}) {
    const core::cpu_caches found = core::find_cpu_caches(root->path());
    EXPECT_EQ(found.l1, usual.l1);
    EXPECT_EQ(found.l2, usual.l2);
    EXPECT_EQ(found.l3, usual.l3);
  }
  EXPECT_EQ(core::find_cpu_caches(two_levels.path()).l3, 4 << 20);  // the last one there is
}

}  // namespace
}  // namespace bcsc
