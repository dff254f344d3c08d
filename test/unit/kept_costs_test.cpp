// The file that costs are kept in, and the files that are built in.
#include "lib/choice/kept_costs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/gzip.hpp"
#include "lib/choice/built_in_costs.hpp"
#include "lib/choice/neighbours.hpp"
#include "lib/choice/residual_code.hpp"
#include "test/support/code_of.hpp"

namespace bcsc {
namespace {

using test::code_of;

constexpr std::size_t plenty = 1 << 20;

std::string hex(const std::string& bytes) {
  std::string digits;
  for (const char byte : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

/// Two configs of each way to read B, and so many cases.
choice::kept_costs some_costs(int num_cases) {
  choice::kept_costs kept;
  kept.machine = "a GPU, driver 1.2";
  kept.from = "bench/fit_choice --seed 1 times.json.gz";
  kept.constants = {1.5e-6, 3e12, 2e12};
  kept.configs = {{value_type::fp32, "rowwise-a", 3.25, {1, 2, 0.125, 4, 0, 6, 7, 8, 9, 10, 11, 12}},
                  {value_type::fp32, "rowwise-b", 3.5, {1e-6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12}}};
  kept.configs_in_place = {{value_type::bf16, "mma-a", 4, {}}};
  for (int i = 0; i < num_cases; ++i) {
    const auto at = static_cast<float>(i);
    const char one = choice::residual_of(1 + 0.1 * (i % 7)), other = choice::residual_of(1 - 0.01 * (i % 31));
    kept.cases.push_back({value_type::fp32, {at, 1.5, 2.5, -3, 4, at / 2, 6, -1}, {one, other}});
    if (i % 4 == 0) kept.cases_in_place.push_back({value_type::bf16, {at, 0, 0, 0, 0, 0, 0, 0}, {one}});
  }
  return kept;
}

TEST(kept_costs, come_back_as_they_were) {
  for (const int num_cases : {0, 1, 100}) {
    const choice::kept_costs kept = some_costs(num_cases);
    choice::kept_costs found = choice::read_file(choice::file_of(kept));
    EXPECT_EQ(choice::text_of(found), choice::text_of(kept));
    EXPECT_EQ(found.machine, kept.machine);
    EXPECT_EQ(found.constants.memory_bandwidth, kept.constants.memory_bandwidth);
    ASSERT_EQ(found.configs.size(), 2u);
    EXPECT_EQ(found.configs[1].name, "rowwise-b");
    EXPECT_EQ(found.configs[1].us, kept.configs[1].us);
    EXPECT_EQ(found.configs_in_place[0].type, value_type::bf16);
    ASSERT_EQ(found.cases.size(), kept.cases.size());
    for (std::size_t i = 0; i < kept.cases.size(); ++i) {
      // The file holds the size of B without its growth with N, which is a fifth of a feature: rounded in the last bit.
      constexpr std::size_t size_of_b = 2;
      EXPECT_NEAR(found.cases[i].at[size_of_b], kept.cases[i].at[size_of_b], 1e-5);
      found.cases[i].at[size_of_b] = kept.cases[i].at[size_of_b];
      EXPECT_EQ(found.cases[i].at, kept.cases[i].at);
      EXPECT_EQ(found.cases[i].residuals, kept.cases[i].residuals);
    }
    ASSERT_EQ(found.cases_in_place.size(), kept.cases_in_place.size());
    for (std::size_t i = 0; i < kept.cases_in_place.size(); ++i) {
      EXPECT_EQ(found.cases_in_place[i].at, kept.cases_in_place[i].at);
    }
  }
}

TEST(kept_costs, tell_the_size_of_b_once_for_every_n_of_a_matrix) {
  choice::kept_costs kept = some_costs(0);
  for (const std::int64_t n : {8, 32, 128, 512}) {
    choice::product_shape p{
        .rows = 1000, .inner = 3000, .nnz = 20000, .cols = n, .shared_nnzc = 9000, .longest_row = 40};
    kept.cases.push_back({value_type::fp32, choice::features_of(p), "OO"});
    p.in_place = true;
    kept.cases_in_place.push_back({value_type::bf16, choice::features_of(p), "O"});
  }
  const std::string text = choice::text_of(kept);
  for (const char* const key : {"\ncase fp32 ", "\ncase-in-place bf16 "}) {
    int lines = 0;
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1), ++lines) {
      std::istringstream words(text.substr(at + std::string(key).size()));
      std::string n, nnz, size_of_b;
      words >> n >> nnz >> size_of_b;
      if (lines > 0) {
        EXPECT_EQ(size_of_b, "=") << key << n;
      }
    }
    EXPECT_EQ(lines, 4) << text;
  }
}

TEST(kept_costs, of_too_many_cases_keep_a_share_of_each_type_and_twice_that_in_place) {
  constexpr std::size_t max_bytes = 2000;
  const choice::kept_costs all = some_costs(1000), some = choice::read_file(choice::file_of(all, max_bytes));
  EXPECT_LE(choice::file_of(all, max_bytes).size(), max_bytes);
  EXPECT_EQ(some.configs.size(), all.configs.size());
  EXPECT_GT(some.cases.size(), 100u);
  EXPECT_LT(some.cases.size(), 900u);
  EXPECT_NEAR(static_cast<double>(some.cases.size()), 2 * static_cast<double>(some.cases_in_place.size()), 8);
  // Of all parts about as many.
  const auto num_before = std::ranges::count_if(some.cases, [](const auto& c) { return c.at[0] < 500; });
  EXPECT_NEAR(static_cast<double>(num_before), static_cast<double>(some.cases.size()) / 2, 2);
  EXPECT_EQ(choice::file_of(all, max_bytes), choice::file_of(all, max_bytes));
}

TEST(kept_costs, are_refused_where_a_line_makes_no_sense) {
  const std::string good = choice::text_of(some_costs(2));
  const auto config = [](const char* numbers) { return fmt::format("config fp32 rowwise-c {}\n", numbers); };
  const std::pair<std::string, const char*> lines[] = {
      {config("1 1 1 1"), "is no number"},
      {config("1 1 -1 1 1 1 1 1 1 1 1 1 1"), "is negative"},
      {config("1 1 nan 1 1 1 1 1 1 1 1 1 1"), "is no number"},
      {config("1 1 1 1 1 1 1 1 1 1 1 1 1 1"), "is left over"},
      {config("1 1 1 1 1 1 1 1 1 1 1 1 1"), "the code of the residuals has no end"},
      {"scale inf\n", "is no number"},
      {"constants 1 2\n", "is no number"},
      {"case fp8 1 1 1 1 1 1 1 1\n", "is no type"},
      {"case fp32 1 1 1 1 1 1 1\n", "is no number"},
      {"case fp32 1 1 1 1 1 1 1 1 1\n", "is left over"},
      {"case fp32 = = = = = = = =\n", "the code of the residuals has no end"},
      {"case-in-place fp16 1 1 1 1 1 1 1 1\n", "a case in fp16 has no residuals"},
      {"case fp64 1 1 1 1 1 1 1 1\nresiduals fp64 4\nOOOO\n", "a case in fp64 has no residuals"},
      {"residuals fp64 4\nOOOO\n", "residuals of no case in fp64"},
      {"residuals fp32 2\nOO\n", "residuals twice"},
      {"residuals fp64 5\nOOOO\n", "no line ends behind the 5 bytes"},
      {"residuals fp64 3\nOOOO\n", "no line ends behind the 3 bytes"},
      {"residuals fp64 18446744073709551615\nOOOO\n", "no line ends behind"},
      {"residuals fp64 -1\nOOOO\n", "is no number"},
      {"residuals\n", "is no type"},
      {"family rows one 1\n", "is no number"},
      {"colour green\n", "\"colour\" is not known"},
      {"\n", "\"\" is not known"},
  };
  for (const auto& [line, why] : lines) {
    SCOPED_TRACE(line);
    try {
      choice::parse_costs(good + line);
      ADD_FAILURE() << "not refused";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::invalid_format);
      EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    }
  }
  choice::kept_costs other = some_costs(2);
  other.cases[1].residuals[0] = '~';
  EXPECT_EQ(code_of([&] { choice::parse_costs(choice::text_of(other)); }), errc::invalid_format);
  for (const char* text : {"", "bcsc costs 1\n", "something else\n"}) {
    EXPECT_EQ(code_of([&] { choice::parse_costs(text); }), errc::invalid_format) << text;
  }
}

TEST(kept_costs, are_refused_where_the_file_is_damaged) {
  const choice::kept_costs kept = some_costs(50);
  const std::string file = choice::file_of(kept), text = choice::text_of(kept);
  for (std::size_t size = 0; size < file.size(); ++size) {
    ASSERT_EQ(code_of([&] { choice::read_file(file.substr(0, size)); }), errc::corrupt_compression) << size;
  }
  EXPECT_EQ(code_of([&] { choice::read_file(file + "x"); }), errc::corrupt_compression);
  // What no flipped bit changes: gzip's time and system, and bits that fill up a byte.
  std::size_t num_harmless = 0;
  for (std::size_t i = 0; i < 8 * file.size(); ++i) {
    std::string changed = file;
    changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << (i % 8)));
    const auto code = code_of([&] { EXPECT_EQ(choice::text_of(choice::read_file(changed)), text) << i; });
    ASSERT_TRUE(code == errc::corrupt_compression || code == errc::invalid_format || code == errc::ok) << i;
    num_harmless += code == errc::ok ? 1 : 0;
  }
  EXPECT_LE(num_harmless, 8 * 10u);
}

TEST(residual_code, is_the_one_that_was_computed_elsewhere) {
  EXPECT_EQ(hex(choice::encode_residuals("OORORLOOOmOO1OOORRRRRLLLOOX[OOOOmmOO", 6)),
            "7f5c0b37357e8d8e0b49c4834e65f222c95c6c30bf609e76321b");
  EXPECT_EQ(hex(choice::encode_residuals("", 6)), "00000000");
}

TEST(residual_code, comes_back_and_ends_where_it_ends) {
  std::mt19937 random(7);
  for (const std::size_t width : {1, 2, 7, 80}) {
    for (const std::size_t cases : {0, 1, 2, 50}) {
      std::string residuals;
      for (std::size_t i = 0; i < width * cases; ++i) {
        const auto steps = static_cast<int>(random() % 93) - 46;
        residuals += static_cast<char>(choice::no_residual + (random() % 4 == 0 ? steps : 0));
      }
      const std::string code = choice::encode_residuals(residuals, width);
      EXPECT_EQ(choice::decode_residuals(code, width, residuals.size()), residuals);
      for (const std::string& other : {code.substr(0, code.size() - 1), std::string(), code + '\0'}) {
        EXPECT_EQ(code_of([&] { choice::decode_residuals(other, width, residuals.size()); }), errc::invalid_format);
      }
    }
  }
  // Whatever the bytes are, they end: a file that asks for many residuals does not fill the memory.
  EXPECT_EQ(code_of([] { choice::decode_residuals(std::string(100, 'x'), 3, std::size_t{1} << 60); }),
            errc::invalid_format);
}

TEST(residual_code, takes_less_than_compression) {
  std::string all;
  std::size_t width = 0;
  for (const choice::measured_case& c : choice::built_in(choice::h200_file).cases) {
    if (c.type != value_type::fp32) continue;
    all += c.residuals;
    width = c.residuals.size();
  }
  EXPECT_LT(choice::encode_residuals(all, width).size(), core::gzipped(all).size() * 9 / 10);
}

TEST(gzip, holds_texts_up_to_a_limit) {
  for (const std::string& text : {std::string(), std::string("a"), std::string(100'000, 'x')}) {
    const std::string stream = core::gzipped(text);
    EXPECT_EQ(core::gunzipped(stream, text.size()), text);
    if (text.empty()) continue;
    EXPECT_EQ(code_of([&] { core::gunzipped(stream, text.size() - 1); }), errc::invalid_format);
  }
  EXPECT_EQ(code_of([] { core::gunzipped(core::gzipped(std::string(plenty << 4, '\0')), plenty); }),
            errc::invalid_format);
}

TEST(built_in_costs, are_what_was_written_in_files_of_64_kb) {
  ASSERT_GE(choice::built_in_files().size(), 4u);
  for (const choice::built_in_file& file : choice::built_in_files()) {
    SCOPED_TRACE(file.name);
    EXPECT_LE(file.content.size(), choice::max_kept_bytes);
    const std::string text = core::gunzipped(file.content, plenty);
    EXPECT_EQ(choice::text_of(choice::built_in(file.name)), text) << "nothing is lost on the way";
    EXPECT_NE(text.find("\nfrom bench/fit_choice --seed "), std::string::npos);
    EXPECT_FALSE(choice::built_in(file.name).cases.empty());
  }
  EXPECT_EQ(code_of([] { choice::built_in("cpu-mmx-1"); }), errc::internal);
}

TEST(built_in_costs, are_found_by_machine) {
  for (const choice::cpu_kind& kind : choice::measured_cpus()) {
    EXPECT_GT(kind.threads, 0);
    EXPECT_EQ(choice::built_in(choice::file_name(kind)).machine,
              fmt::format("CPUs with {} by {} threads", core::to_string(kind.isa), kind.threads));
  }
  EXPECT_EQ(choice::measured_cpus().size() + 1, choice::built_in_files().size());
  EXPECT_EQ(choice::built_in_costs(backend::cuda).origin, "an H200's costs");
}

TEST(built_in_costs, are_read_once_by_all_threads) {
  std::vector<const choice::kept_costs*> seen(8);
  std::vector<std::thread> threads;
  for (auto& at : seen) threads.emplace_back([&at] { at = &choice::built_in(choice::h200_file); });
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(std::ranges::count(seen, seen.front()), std::ssize(seen));
}

}  // namespace
}  // namespace bcsc
