#include "bench/harness/read_results.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/catalogue.hpp"
#include "bcsc/context.hpp"
#include "bcsc/error.hpp"
#include "bcsc/generate.hpp"
#include "bench/harness/bench.hpp"
#include "bench/harness/remembered.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/suites.hpp"
#include "bench/harness/table.hpp"
#include "bench/page/html.hpp"
#include "bench/page/page.hpp"
#include "bench/page/report_facts.hpp"
#include "bench/page/svg_plot.hpp"

namespace bcsc::bench {
namespace {

namespace fs = std::filesystem;

class folder_test : public testing::Test {
 protected:
  folder_test() : path_(fs::temp_directory_path() / ("bench_results_test." + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~folder_test() override { fs::remove_all(path_); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  fs::path path_;
};

// --- Reading --------------------------------------------------------------------------------------------------------

using reading = folder_test;

TEST_F(reading, GivesBackWhatWasMeasured) {
  bench_options options;
  options.matrices = {"stencil7:8,8,8"};
  options.cols = {1, 5};
  options.timing.seconds = 1e-4;
  options.thorough = true;
  const run_result run = measure_all(context::cpu(2), options);
  ASSERT_FALSE(run.cases[0].sweep.empty());
  ASSERT_FALSE(run.cases[0].entries[0].times[setting::warm]->samples.empty());
  for (const char* const name : {"run.json", "run.json.gz"}) {
    const fs::path file = write_json(run, path_ / name);
    EXPECT_EQ(to_json_text(read_results(file)), to_json_text(run)) << name;
  }
}

/// One case of a results file of an earlier version, with `changed` put in for `what`.
std::string earlier(const std::string& what = "", const std::string& changed = "") {
  std::string text = R"({"schema": "bcsc-bench-1", "machine": {"git_hash": "abc", "cpu_model": "c", "threads": 2},
    "main_rival": "eigen", "matrices": [{"name": "m", "rows": 3, "cols": 4, "nnz": 5, "checksum": "00000000000000ff"}],
    "cases": [{"matrix": "m", "cols": 8, "type": "fp32", "layout": "row-major", "entries": [
      {"name": "plan", "group": "plan", "ours": true, "layout": "row-major", "status": "ok", "max_error": null,
       "convert_seconds": 6, "warm": {"median": 2, "min": 1, "max": 3, "samples": 10}, "cold": null},
      {"name": "eigen", "group": "eigen", "ours": false, "layout": "row-major", "status": "ok",
       "warm": {"median": 5, "min": 5, "max": 5}}]}]})";
  if (const std::size_t at = text.find(what); !what.empty() && at != std::string::npos)
    text.replace(at, what.size(), changed);
  return text;
}

TEST_F(reading, FilesOfEarlierVersionsLackSomething) {
  const run_result run = read_results(write("old.json", earlier()));
  const verdict v = judge(run.cases.at(0), run.main_rival);
  EXPECT_DOUBLE_EQ(*v.ratios[setting::warm], 2.5);
  EXPECT_FALSE(v.ratios[setting::cold].has_value());
  EXPECT_EQ(v.payback, 2);
  EXPECT_TRUE(v.plan->times[setting::warm]->samples.empty());
  EXPECT_TRUE(std::isinf(v.plan->error.max_error));
  EXPECT_EQ(run.matrices[0].checksum, 255u);
}

TEST_F(reading, TellsOfReplaysAndStarts) {
  run_result run = read_results(write("old.json", earlier("\"samples\": 10", "\"samples\": 10, \"recorded\": true")));
  EXPECT_TRUE(run.cases[0].entries[0].times[setting::warm]->recorded);
  EXPECT_FALSE(run.cases[0].entries[1].times[setting::warm]->recorded);
  const auto summary = [&] {
    std::ostringstream out;
    table_printer(out).print_summary(run);
    return out.str();
  };
  EXPECT_EQ(summary().find("takes the host"), std::string::npos);
  run.cases[0].entries[0].start_seconds = 4.5e-6;
  run.cases[0].entries[1].start_seconds = 5.5e-6;
  EXPECT_NE(summary().find("starting a product takes the host 4.5 us, 5.5 us for the best eigen"), std::string::npos)
      << summary();
  const fs::path file = write_json(run, path_ / "new.json");
  EXPECT_EQ(to_json_text(read_results(file)), to_json_text(run));
}

struct broken {
  const char *name, *what, *changed;
  errc code;
  const char* told;
};
class malformed : public folder_test, public testing::WithParamInterface<broken> {};

TEST_P(malformed, IsATypedErrorThatNamesTheFile) {
  const broken& p = GetParam();
  const fs::path file = write("bad.json", earlier(p.what, p.changed));
  try {
    read_results(file);
    FAIL() << "read";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), p.code) << e.what();
    EXPECT_NE(std::string(e.what()).find("bad.json"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(p.told), std::string::npos) << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    files, malformed,
    testing::Values(broken{"brace", "{\"schema\"", "\"schema\"", errc::parse_error, "parse error"},
                    broken{"schema", "bcsc-bench-1", "bcsc-edges-1", errc::invalid_format, "bcsc-edges-1"},
                    broken{"no_schema", "\"schema\"", "\"scheme\"", errc::invalid_format, "schema"},
                    broken{"machine", "\"machine\"", "\"machines\"", errc::parse_error, "machine"},
                    broken{"matrix", "\"matrix\": \"m\"", "\"matrix\": \"n\"", errc::parse_error, "\"n\""},
                    broken{"type", "fp32", "fp31", errc::parse_error, "fp31"},
                    broken{"layout", "row-major", "diagonal", errc::parse_error, "diagonal"},
                    broken{"status", "\"ok\"", "\"fine\"", errc::parse_error, "fine"},
                    broken{"checksum", "00000000000000ff", "xyz", errc::parse_error, "xyz"},
                    broken{"time", "\"median\": 2", "\"median\": -2", errc::parse_error, "median"},
                    broken{"number", "\"median\": 2", "\"median\": \"two\"", errc::parse_error, "number"},
                    broken{"cases", "\"cases\": [{", "\"cases\": [7, {", errc::parse_error, ""},
                    broken{"rows", "\"rows\": 3, ", "", errc::parse_error, "rows"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(reading, WhatIsNoFileOrCutOffIsATypedError) {
  const auto code_of = [](const fs::path& file) {
    try {
      read_results(file);
    } catch (const error& e) {
      return e.code();
    }
    return errc::ok;
  };
  EXPECT_EQ(code_of(path_ / "missing.json"), errc::io_error);
  EXPECT_EQ(code_of(path_), errc::io_error);
  EXPECT_EQ(code_of(write("empty.json", "")), errc::parse_error);
  const fs::path whole = write_text(earlier(), path_ / "whole.json.gz");
  std::ostringstream bytes;
  bytes << std::ifstream(whole, std::ios::binary).rdbuf();
  EXPECT_EQ(code_of(write("cut.json.gz", bytes.str().substr(0, bytes.str().size() / 2))), errc::corrupt_compression);
  std::string flipped = bytes.str();
  flipped[flipped.size() - 6] ^= 1;
  EXPECT_EQ(code_of(write("flipped.json.gz", flipped)), errc::corrupt_compression);
}

TEST_F(reading, OfACaseInSeveralFilesTheLastCounts) {
  const std::vector<fs::path> files{write("a.json", earlier()),
                                    write("b.json", earlier("\"median\": 2", "\"median\": 4")),
                                    write("c.json", earlier("\"cols\": 8", "\"cols\": 9"))};
  const merged_results merged = merge_results(files);
  ASSERT_EQ(merged.run.cases.size(), 2u);
  EXPECT_DOUBLE_EQ(merged.run.cases[0].entries[0].median(), 4);
  EXPECT_EQ(merged.run.cases[1].cols, 9);
  EXPECT_EQ(merged.run.matrices.size(), 1u);
  EXPECT_EQ(merged.sources.size(), 3u);
  EXPECT_EQ(merged.sources[1].name, "b.json");
  const std::vector<fs::path> others{files[0], write("d.json", earlier("\"threads\": 2", "\"threads\": 3"))};
  EXPECT_THROW(merge_results(others), error);
  EXPECT_THROW(merge_results({}), error);
}

// --- The table in a terminal ----------------------------------------------------------------------------------------

class widths : public testing::TestWithParam<std::size_t> {};

TEST_P(widths, HoldEveryLineAndLeaveNoColumnOut) {
  run_result run;
  run.main_rival = "cusparse";
  run.algorithms = {"naive", "warp", "tiled", "rowwise"};
  run.matrices.push_back({.name = "a_matrix_with_quite_a_long_name_that_is_cut"});
  run.cases.emplace_back();
  case_result& c = run.cases[0];
  c.cols = 128;
  for (const char* const name : {"plan", "cusparse-csr-alg3"}) {
    entry_result e{.name = name, .group = name == std::string("plan") ? "plan" : "cusparse"};
    e.ours = e.group == "plan";
    e.kernel = "mma-3xtf32-m8-n32-w4x1x1-r2";
    e.gflops = e.ours ? 1234.5 : 617.25;
    e.convert_seconds = 0.012;
    for (const setting in : all_settings) e.times[in] = summarise({e.ours ? 1e-3 : 2e-3}, 1);
    c.entries.push_back(e);
  }
  c.entries.push_back({.name = "alg2", .group = "cusparse", .status = entry_status::failed, .message = "it is wrong"});
  std::ostringstream out;
  table_printer table(out, GetParam());
  table.print_case(run, c);
  table.print_summary(run);
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), GetParam()) << line;
  for (const char* const told :
       {"matrix", "tiled", "kernel", "its best", "single", "payback", "1234.5", "617.2", "2.00", "12.00 ms",
        "mma-3xtf32-m8-n32-w4x1x1-r2", "cusparse-csr-alg3", "FAILED", "wrong"}) {
    EXPECT_NE(out.str().find(told), std::string::npos) << told << '\n' << out.str();
  }
}

INSTANTIATE_TEST_SUITE_P(terminals, widths, testing::Values(40, 60, 80, 120, 200, 1000));

TEST(columns, StandOneUnderTheOtherWhereThereIsRoom) {
  const text_columns wide({{"name", 6, false}, {"n", 3}, {"ratio", 6, true, true}}, 100);
  EXPECT_EQ(wide.header(), "name     n |  ratio\n");
  EXPECT_EQ(wide.row({"a", "12", "1.50"}), "a       12 |   1.50\n");
  EXPECT_EQ(wide.row({"abcdefghi", "1", ""}), "abcde~   1 |\n");
  const text_columns narrow({{"name", 6, false}, {"n", 3}, {"ratio", 6, true, true}}, 12);
  EXPECT_EQ(narrow.row({"a", "12", "1.50"}), "a       12\n      1.50\n");
}

TEST(columns, WordsAreSplitOnlyWhereTheyAreLonger) {
  EXPECT_EQ(wrapped("  one two three", 9), "  one two\n    three");
  EXPECT_EQ(wrapped("a longer-than-that b", 8), "a\n  longer\n  -than-\n  that b");
  EXPECT_EQ(wrapped("a  b", 80), "a  b");
}

// --- What the page says ---------------------------------------------------------------------------------------------

entry_result timed(std::string name, std::string group, double seconds) {
  entry_result e{.name = std::move(name), .group = std::move(group)};
  e.ours = e.group != "rival";
  e.times[setting::warm] = summarise({seconds}, 1);
  return e;
}

/// Three cases: the plan takes 1, 1 and 4, alg1 2, 1 and 1, alg2 is only in the first, with 4.
run_result three_cases() {
  run_result run;
  run.main_rival = "rival";
  run.matrices = {{.name = "a", .source = "banded:9,2", .pattern_class = "regular"}, {.name = "b", .kind = "mesh"}};
  for (const auto& [plan, rival] : {std::pair(1.0, 2.0), std::pair(1.0, 1.0), std::pair(4.0, 1.0)}) {
    case_result c{.matrix = run.cases.empty() ? 0u : 1u, .cols = static_cast<std::int64_t>(run.cases.size()) + 1};
    c.entries = {timed("plan", "plan", plan), timed("alg1", "rival", rival)};
    c.entries[0].convert_seconds = 10;
    run.cases.push_back(c);
  }
  run.cases[0].entries.push_back(timed("alg2", "rival", 4));
  return run;
}

TEST(facts, ProfilesCountWhatIsNotMeasuredAsNotDone) {
  const run_result run = three_cases();
  const auto cases = judged_cases(run);
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[0].kind, "banded");
  EXPECT_EQ(cases[1].kind, "mesh");
  const auto profiles = performance_profiles(cases);
  ASSERT_EQ(profiles.size(), 3u);
  EXPECT_EQ(profiles[0].name, "plan");
  EXPECT_EQ(profiles[0].ratios, (std::vector<double>{1, 1, 4}));
  EXPECT_EQ(profiles[1].name, "alg1");
  EXPECT_EQ(profiles[1].ratios, (std::vector<double>{1, 1, 2}));
  EXPECT_EQ(profiles[2].ratios, (std::vector<double>{4}));
  EXPECT_DOUBLE_EQ(profiles[2].at(4, 3), 1.0 / 3);
  EXPECT_DOUBLE_EQ(profiles[0].at(1.5, 3), 2.0 / 3);
}

TEST(facts, SpreadsAndBreakEven) {
  const run_result run = three_cases();
  const auto cases = judged_cases(run);
  const ratio_spread s = spread_of(ratios_of(cases, setting::warm));
  EXPECT_NEAR(s.summary.geometric_mean, std::cbrt(0.5), 1e-12);
  EXPECT_DOUBLE_EQ(s.median, 1);
  EXPECT_DOUBLE_EQ(s.lower_quartile, 0.625);
  EXPECT_DOUBLE_EQ(s.upper_quartile, 1.5);
  const break_even e = break_even_of(cases);
  EXPECT_EQ(e.num_cases, 3);
  EXPECT_EQ(e.products, std::vector<std::int64_t>{10});
  EXPECT_EQ(e.convert_products, (std::vector<double>{2.5, 10, 10}));
}

TEST(facts, TheBestParametersLoseTheLeastOverAllMatrices) {
  run_result run = three_cases();
  for (case_result& c : run.cases) c.cols = 8;
  run.cases[0].sweep = {{"tiled", "t1", 1.0}, {"tiled", "t2", 1.2}, {"tiled", "t3", 3.0}, {"warp", "w1", 5.0}};
  run.cases[1].sweep = {{"tiled", "t1", 1.0}, {"tiled", "t2", 1.1}, {"tiled", "t3", 3.0}};
  run.cases[2].sweep = {{"tiled", "t1", 4.0}, {"tiled", "t2", 1.0}, {"tiled", "t4", 0.5}};
  const auto best = best_parameters_of(run);
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].algorithm, "tiled");
  EXPECT_EQ(best[0].config, "t2");
  EXPECT_NEAR(best[0].loss, std::cbrt(1.2 * 1.1 * 2), 1e-12);
  EXPECT_EQ(best[0].num_matrices, 3);
  EXPECT_EQ(best[0].num_configs, 2);  // t3 and t4 were not timed on all three
  EXPECT_EQ(best[0].most_often, "t1");
  EXPECT_EQ(best[0].times_fastest, 2);
  EXPECT_EQ(best[1].config, "w1");
}

TEST(markup, TextStaysText) {
  EXPECT_EQ(escaped("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(escaped("µ–"), "µ–");
  EXPECT_EQ(escaped(std::string("a\xff\x01z\xc3", 5)), "a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd");
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(shortened("abcdef", 4), "abc…");
  EXPECT_EQ(shortened("µµµµ", 4), "µµµµ");
}

TEST(markup, NumbersHaveThreeDigits) {
  for (const auto& [number, text] : std::vector<std::pair<double, std::string>>{{0, "0"},
                                                                                {1.6449, "1.64"},
                                                                                {12.34, "12.3"},
                                                                                {123.4, "123"},
                                                                                {12345.6, "12346"},
                                                                                {0.0123, "0.0123"},
                                                                                {2e7, "2.00e+07"}}) {
    EXPECT_EQ(in_three_digits(number), text);
  }
}

TEST(axes, HaveSomeTicksWithinTheirEnds) {
  for (const plot_axis& axis :
       {plot_axis{"", 0, 1}, plot_axis{"", 0.3, 0.9}, plot_axis{"", 1, 8, scale::logarithmic},
        plot_axis{"", 0.9, 1.1, scale::logarithmic}, plot_axis{"", 1e-3, 1e5, scale::logarithmic},
        plot_axis{"", 1e-30, 1e30, scale::logarithmic}}) {
    const auto ticks = ticks_of(axis);
    EXPECT_GE(ticks.size(), 1u) << axis.low;
    EXPECT_LE(ticks.size(), 35u) << axis.low;
    for (const double t : ticks) {
      EXPECT_GE(t, axis.low * 0.999);
      EXPECT_LE(t, axis.high * 1.001);
    }
  }
  EXPECT_GT(axis_over("", {}).high, axis_over("", {}).low);
}

TEST(pages, OfNothingAndOfLosersAloneAreMadeToo) {
  EXPECT_NE(page_of(run_result{}).find("</html>"), std::string::npos);
  run_result run = three_cases();
  run.main_rival = "nobody";
  const std::string page = page_of(run);
  EXPECT_NE(page.find("there are no ratios"), std::string::npos);
  EXPECT_EQ(page, page_of(run)) << "equal records give equal bytes";
}

TEST(pages, OfVeryManyCasesDrawSomeOfThem) {
  run_result run = three_cases();
  const case_result pattern = run.cases[0];
  for (int i = 0; i < 20000; ++i) {
    run.cases.push_back(pattern);
    run.cases.back().cols = 1 + i % 4;
    run.cases.back().entries[0].times[setting::warm] = summarise({1 + 1e-4 * i}, 1);
  }
  const std::string page = page_of(run);
  EXPECT_LT(page.size(), std::size_t{3} << 20);
  EXPECT_NE(page.find("Of 20003 cases 2000 are drawn"), std::string::npos);
  EXPECT_NE(page.find("data-v=\"0.25\""), std::string::npos) << "the worst is among them";
}

// --- The suites -----------------------------------------------------------------------------------------------------

TEST(suites, AreTheExperimentsOfTheThesis) {
  const auto dnn = suite_inputs(find_suite("dnn"), false, {});
  EXPECT_EQ(dnn.size(), 28u);
  EXPECT_EQ(find_suite("dnn").cols.size(), 7u);
  EXPECT_EQ(find_suite("dnn").cols.back(), 2048);
  std::set<std::string> specifications;
  for (const input& m : dnn) specifications.insert(m.source);
  for (const int rows : {256, 512, 1024, 2048}) {
    for (int percent = 60; percent <= 90; percent += 5) {
      EXPECT_TRUE(specifications.contains("uniform:" + std::to_string(rows) + "," + std::to_string(rows) + ",0." +
                                          std::to_string(percent) + ",seed=1"));
    }
  }
  EXPECT_EQ(find_suite("iterative").cols.front(), 8);
  EXPECT_EQ(find_suite("iterative").cols.back(), 512);
  EXPECT_THROW(find_suite("cnn"), error);
}

TEST(suites, WhatStandsInForAMatrixHasItsSize) {
  for (const suite_matrix& m : find_suite("iterative").matrices) {
    const suitesparse::entry published = suitesparse::find(m.name);
    const auto a = generate::from_specification<float>(std::string(m.specification));
    const auto near = [](std::int64_t made, std::int64_t wanted, double tolerance) {
      return std::abs(static_cast<double>(made) / static_cast<double>(wanted) - 1) <= tolerance;
    };
    EXPECT_TRUE(near(a.rows(), published.rows, 0.05)) << m.name << " " << a.rows();
    EXPECT_TRUE(near(a.nnz(), published.nnz, 0.15)) << m.name << " " << a.nnz() << " for " << published.nnz;
  }
}

using memory = folder_test;

TEST_F(memory, measures_once_and_survives_what_it_cannot_use) {
  const fs::path file = path_ / "new" / "bench.json";
  int measured = 0;
  const auto known = [&](const fs::path& where, const std::string& what) {
    return remembered(where, what, [&] { return 10.0 + ++measured; });
  };
  EXPECT_EQ(known(file, "a GPU"), 11) << "the folder is made";
  EXPECT_EQ(known(file, "a GPU"), 11);
  EXPECT_EQ(known(file, "another"), 12);
  EXPECT_EQ(known(file, "a GPU"), 11);
  EXPECT_EQ(measured, 2);
  for (const char* const damaged :
       {"", "{", "[1]", R"({"a GPU": "fast"})", R"({"a GPU": -1})", R"({"a GPU": 1e999})"}) {
    SCOPED_TRACE(damaged);
    std::ofstream(file) << damaged;
    const double again = known(file, "a GPU");
    EXPECT_EQ(again, 10 + measured) << "measured again";
    EXPECT_EQ(known(file, "a GPU"), again) << "and kept";
  }
  const int before = measured;
  EXPECT_EQ(known(file / "below_a_file", "a GPU"), 11 + before) << "what cannot be kept is no error";
  EXPECT_EQ(known(file / "below_a_file", "a GPU"), 12 + before);
}

using suite_files = folder_test;

TEST_F(suite_files, TakeThePlaceOfWhatStandsIn) {
  write("nemeth21.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n");
  ::setenv("BCSC_CACHE", path_.c_str(), 1);
  fs::create_directories(path_ / "Um");
  write("Um/offshore.tar.gz", "");
  for (const input& m : suite_inputs(find_suite("iterative"), false, path_)) {
    const bool is_here = m.name == "nemeth21" || m.name == "offshore";
    EXPECT_EQ(m.is_file, is_here) << m.name;
    EXPECT_EQ(m.name.starts_with("like "), !is_here) << m.name;
  }
  ::unsetenv("BCSC_CACHE");
  EXPECT_EQ(suite_inputs(find_suite("iterative"), true, {}).size(), 2u);
  EXPECT_EQ(suite_inputs(find_suite("dnn"), true, {}).size(), 3u);
}

}  // namespace
}  // namespace bcsc::bench
