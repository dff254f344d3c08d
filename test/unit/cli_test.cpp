#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "bcsc/container.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/files.hpp"
#include "bcsc/generate.hpp"
#include "bcsc_config.h"
#include "test/support/viewed.hpp"
#include "test/unit/cli_process.hpp"
#include "tools/bcsc/check.hpp"

// The program as its users see it: a process with arguments, an exit code and two streams.
namespace {

using namespace bcsc::test::cli;
using nlohmann::json;

const char* const golden_text =
    "%%MatrixMarket matrix coordinate real general\n6 6 16\n"
    "1 1 7.5\n1 2 2.9\n1 3 2.8\n1 4 2.7\n2 1 6.8\n2 2 5.7\n2 3 3.8\n3 1 2.4\n3 2 6.2\n3 3 3.2\n4 1 9.7\n4 4 2.3\n"
    "5 5 5.8\n5 6 5.0\n6 5 6.6\n6 6 8.1\n";

const char* const pattern_text =
    "%%MatrixMarket matrix coordinate pattern general\n4 5 6\n1 1\n1 5\n2 2\n3 3\n4 1\n4 4\n";

template <class T>
void expect_equal(const bcsc::csr_matrix<T>& a, const bcsc::csr_matrix<T>& b) {
  const auto v = a.view(), w = b.view();
  EXPECT_EQ(v.rows, w.rows);
  EXPECT_EQ(v.cols, w.cols);
  EXPECT_TRUE(std::ranges::equal(v.row_ptr, w.row_ptr));
  EXPECT_TRUE(std::ranges::equal(v.col_ind, w.col_ind));
  EXPECT_TRUE(std::ranges::equal(v.values, w.values));
}

// --- Usage ----------------------------------------------------------------------------------------------------------

class usage_error : public testing::TestWithParam<const char*> {};

TEST_P(usage_error, exits_with_2_and_says_why) {
  const outcome result = bcsc_run(GetParam());
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err, "");
}

INSTANTIATE_TEST_SUITE_P(
    command_lines, usage_error,
    testing::Values("", "frobnicate", "info", "info a b c", "convert only-one.mtx", "generate", "generate stencil5:3,3",
                    "generate --list stencil5:3,3 out.mtx", "spmm stencil5:3,3 --cols 0", "spmm stencil5:3,3 --cols -4",
                    "spmm stencil5:3,3 --cols many", "spmm stencil5:3,3 --no-copy", "spmm stencil5:3,3 --type fp8",
                    "spmm stencil5:3,3 --layout diagonal", "spmm stencil5:3,3 --device tpu",
                    "spmm stencil5:3,3 --m-block -1", "spmm stencil5:3,3 --batch 0", "spmm stencil5:3,3 --repeat 0",
                    "spmm stencil5:3,3 --threads -2", "solve stencil5:3,3 --rhs 0", "solve stencil5:3,3 --tolerance -1",
                    "solve stencil5:3,3 --precondition ilu", "solve stencil5:3,3 --correction sometimes",
                    "solve stencil5:3,3 --correction reliable:2", "solve stencil5:3,3 --method qmr",
                    "solve stencil5:3,3 --check-every -1", "kernels --type fp8", "convert a.mtx b.bcsc --type int8",
                    "convert a.mtx b.bcsc --format bcsr", "convert a.mtx b.bcsc --block 4y4",
                    "convert a.mtx b.bcsc --block 0x4", "convert a.mtx b.bcsc --meta word",
                    "convert a.mtx b.bcsc --index 16", "convert a.mtx b.bcsc --m-block 0",
                    "convert a.mtx b --to klingon", "info a.txt --from klingon", "info a.txt --index-base 2",
                    "formats all", "fetch", "fetch HB/bcsstk16 --spd", "fetch --list --spd --not-spd",
                    "fetch bcsstk16 --retries -1", "info stencil5:3,3 --no-such-option"));

class help_text : public testing::TestWithParam<const char*> {};

TEST_P(help_text, has_examples) {
  const outcome result = bcsc_run(std::string(GetParam()) + " --help");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("Examples:\n  bcsc " + std::string(GetParam())), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("--json"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(commands, help_text,
                         testing::Values("info", "spmm", "solve", "eigs", "convert", "formats", "generate", "fetch",
                                         "tune", "cache", "calibrate", "devices", "kernels"));

TEST(bcsc_program, knows_its_version) {
  const outcome result = bcsc_run("--version");
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.out.find('.'), std::string::npos);
}

// --- Errors ---------------------------------------------------------------------------------------------------------

struct error_case {
  const char* what;
  std::string arguments;
  const char* code;   ///< error.code of the JSON
  const char* names;  ///< the message contains this
};
void PrintTo(const error_case& c, std::ostream* out) { *out << c.what; }

class runtime_error : public testing::TestWithParam<error_case> {};

TEST_P(runtime_error, exits_with_1_and_names_the_fault) {
  write_file("golden.mtx", golden_text);
  write_file("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 x 1.0\n");
  write_file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n1 2 1\n1 2 1.0\n");
  write_file("symmetric.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1.0\n2 1 2.0\n");
  write_file("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 3.5 -1\n");
  write_file("upper.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 3\n1 2 1\n2 2 3\n");
  write_file("indefinite.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 2 -1.0\n");
  write_file("unsymmetric.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 3\n1 2 1\n2 1 2\n2 2 3\n");
  // "@" stands for the scratch folder.
  std::string arguments = GetParam().arguments;
  for (std::size_t at; (at = arguments.find('@')) != std::string::npos;) arguments.replace(at, 1, in_scratch(""));

  const outcome text = bcsc_run(arguments);
  EXPECT_EQ(text.code, 1);
  EXPECT_EQ(text.err.rfind("bcsc: error: ", 0), 0u) << text.err;
  EXPECT_NE(text.err.find(GetParam().names), std::string::npos) << text.err;

  const outcome structured = bcsc_run(arguments + " --json");
  EXPECT_EQ(structured.code, 1);
  const json parsed = json::parse(structured.out, nullptr, false);
  ASSERT_TRUE(parsed.is_object()) << structured.out;
  EXPECT_EQ(parsed.at("error").at("code"), GetParam().code);
  EXPECT_NE(parsed.at("error").at("message").get<std::string>().find(GetParam().names), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    commands, runtime_error,
    testing::Values(
        error_case{"no file", "info @absent.mtx", "io_error", "absent.mtx"},
        error_case{"bad line", "info @bad.mtx", "parse_error", "bad.mtx:4"},
        error_case{"directory", "info @", "io_error", "bcsc-cli-"},
        error_case{"specification", "info elasticity:3,3", "invalid_argument", "nz is missing"},
        error_case{"family", "info cube:3", "invalid_argument", "there is no generator cube"},
        error_case{"too large", "generate elasticity:1000,1000,1000 @big.mtx", "size_overflow", "rows = 3,006,003,000"},
        error_case{"no kernel", "spmm stencil5:4,4 --device cpu --kernel quantum", "no_such_kernel", "quantum"},
        error_case{"not symmetric", "convert @golden.mtx @half.mtx --symmetric", "structure_violation", ""},
        error_case{"ending", "convert @golden.mtx @golden.txt", "invalid_argument", "golden.txt"},
        error_case{"not written", "convert @golden.mtx @golden.mat", "unsupported", "golden.mat"},
        error_case{"blocks in text", "convert @golden.mtx @b.mtx --format bcsc", "invalid_argument", "--format bcsc"},
        error_case{"no row blocks", "convert @golden.mtx @b.bcsc --m-block 4", "invalid_argument", "--m-block"},
        error_case{"no blocks", "convert @golden.mtx @b.bcsc --format bcsc --block 2", "invalid_argument", "--block"},
        error_case{"no layout", "convert @golden.mtx @b.bcsc --layout col", "invalid_argument", "--layout"},
        error_case{"blocks not square", "convert @golden.mtx @b.bcsc --format ell --block 2x3", "invalid_argument",
                   "square"},
        error_case{"padded pattern", "convert @golden.mtx @b.bcsc --format bsr --type pattern", "unsupported",
                   "pattern"},
        error_case{"pattern of a field", "convert @golden.mtx @b.bcsc --type pattern --field real", "invalid_argument",
                   "--type pattern"},
        error_case{"field of a pattern", "convert @golden.mtx @b.bcsc --type fp32 --field pattern", "invalid_argument",
                   "--field pattern"},
        error_case{"half of a container", "convert @symmetric.mtx @b.bcsc --symmetric", "invalid_argument",
                   "whole matrices"},
        error_case{"words too long", "convert @golden.mtx @b.bcsc --meta k=$(head -c 70000 /dev/zero | tr '\\0' x)",
                   "invalid_argument", "65536"},
        error_case{"not a container", "info @golden.mtx --from bcsc", "bad_banner", "golden.mtx"},
        error_case{"complex", "convert @complex.mtx @b.mtx", "unsupported", "complex"},
        error_case{"not square", "solve @wide.mtx", "invalid_argument", "1 x 2 is not square"},
        error_case{"values not symmetric", "solve @unsymmetric.mtx", "invalid_argument", "the values are not"},
        error_case{"pattern not symmetric", "solve @upper.mtx", "invalid_argument", "nor is its pattern"},
        error_case{"diagonal", "solve @indefinite.mtx", "invalid_argument", "diagonal"}));

TEST(bcsc_program, says_the_line_of_a_bad_file) {
  const std::string path = write_file("line.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 9 1.0\n");
  const json error = json::parse(bcsc_run("info " + path + " --json").out).at("error");
  EXPECT_EQ(error.at("code"), "index_out_of_range");
  EXPECT_EQ(error.at("line"), 3);
  EXPECT_EQ(error.at("path"), path);
}

TEST(bcsc_program, leaves_nothing_behind_when_a_conversion_fails) {
  const std::string in = write_file("golden.mtx", golden_text), out = in_scratch("not-written.mtx");
  EXPECT_EQ(bcsc_run("convert " + in + " " + out + " --symmetric").code, 1);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(bcsc_program, shows_progress_only_when_asked_without_a_terminal) {
  EXPECT_EQ(bcsc_run("spmm stencil5:9,9 --device cpu").err, "");
  EXPECT_NE(bcsc_run("spmm stencil5:9,9 --device cpu --progress").err.find('%'), std::string::npos);
}

TEST(bcsc_program, does_its_work_where_nobody_can_be_told_how_far_it_is) {
  const std::string out = in_scratch("untold.mtx");
  const std::string command = std::string(BCSC_CLI) + " generate stencil5:60,60 " + out + " --progress >/dev/null";
  const int status = std::system((command + " 2>/dev/full").c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(std::filesystem::exists(out));
}

// --- info -----------------------------------------------------------------------------------------------------------

TEST(info, knows_the_golden_matrix) {
  const json info = bcsc_json("info --device cpu " + write_file("golden.mtx", golden_text));
  EXPECT_EQ(info.at("matrix").at("rows"), 6);
  EXPECT_EQ(info.at("matrix").at("cols"), 6);
  EXPECT_EQ(info.at("matrix").at("nnz"), 16);
  EXPECT_EQ(info.at("matrix").at("origin"), "file");
  EXPECT_EQ(info.at("matrix").at("file").at("field"), "real");
  EXPECT_EQ(info.at("matrix").at("file").at("symmetry"), "general");
  EXPECT_EQ(info.at("pattern").at("bandwidth"), 3);
  EXPECT_EQ(info.at("pattern").at("value_symmetric"), false);
  EXPECT_EQ(info.at("pattern").at("positive_diagonal"), true);
  EXPECT_EQ(info.at("csr_bytes"), 8 * 16 + 4 * 6 + 4);
  std::vector<int> heights;
  for (const json& block : info.at("blocks")) {
    heights.push_back(block.at("m_block"));
    const int nnzc = block.at("nnzc"), num_row_blocks = block.at("num_row_blocks");
    // Values; columns of four bytes, as a plan on the CPU keeps them; above m_block 1 a second pointer, and a byte for
    // each column and each entry.
    const bool high = block.at("m_block") > 1;
    EXPECT_EQ(block.at("bytes"),
              4 * 16 + 4 * nnzc + (high ? 2 : 1) * 4 * (num_row_blocks + 1) + (high ? nnzc + 16 : 0));
    if (block.at("m_block") == 1) {
      EXPECT_EQ(nnzc, 16);
    }
    if (block.at("m_block") == 4) {
      EXPECT_EQ(nnzc, 6);
    }
    if (block.at("m_block") == 8) {
      EXPECT_EQ(nnzc, 6);
    }
  }
  EXPECT_EQ(heights, (std::vector<int>{1, 4, 8, 16, 32, 64, 128, 256}));
}

TEST(info, shows_the_same_as_text) {
  const outcome result = bcsc_run("info " + write_file("golden.mtx", golden_text));
  EXPECT_EQ(result.code, 0);
  for (const char* words : {"6 x 6, 16 non-zeros", "nnz/nnzc", "m_block", "advice for N = 32", "┌", "█"}) {
    EXPECT_NE(result.out.find(words), std::string::npos) << words << "\n" << result.out;
  }
}

TEST(info, knows_an_spd_matrix) {
  const json info = bcsc_json("info elasticity:4,3,2 --type fp64 --no-picture");
  EXPECT_EQ(info.at("matrix").at("origin"), "generator");
  EXPECT_EQ(info.at("matrix").at("type"), "fp64");
  EXPECT_EQ(info.at("pattern").at("value_symmetric"), true);
  EXPECT_EQ(info.at("pattern").at("positive_diagonal"), true);
  EXPECT_EQ(info.at("csr_bytes"), 12 * 6300 + 4 * 144 + 4);
  EXPECT_FALSE(info.contains("picture"));
}

/// The characters of a line of UTF-8.
std::vector<std::string> characters(const std::string& line) {
  std::vector<std::string> split;
  for (char c : line) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) split.emplace_back();
    split.back() += c;
  }
  return split;
}

TEST(info, draws_the_diagonal_where_it_is) {
  const json info = bcsc_json("info banded:20,0");
  const auto picture = info.at("picture").get<std::vector<std::string>>();
  ASSERT_EQ(picture.size(), 22u);
  for (std::size_t i = 0; i < 20; ++i) {
    const auto line = characters(picture[i + 1]);
    ASSERT_EQ(line.size(), 22u);
    for (std::size_t j = 0; j < 20; ++j) EXPECT_EQ(line[j + 1], i == j ? "█" : " ") << i << ", " << j;
  }
}

class picture_bounds : public testing::TestWithParam<const char*> {};

TEST_P(picture_bounds, fit_60_by_30_and_are_not_empty) {
  const json info = bcsc_json(std::string("info ") + GetParam());
  const auto picture = info.at("picture").get<std::vector<std::string>>();
  ASSERT_FALSE(picture.empty());
  EXPECT_LE(picture.size(), 30u);
  std::size_t shaded = 0;
  for (const std::string& line : picture) {
    const auto cells = characters(line);
    EXPECT_LE(cells.size(), 60u);
    EXPECT_EQ(cells.size(), characters(picture.front()).size());
    shaded += static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), [](const std::string& cell) {
      return cell == "░" || cell == "▒" || cell == "▓" || cell == "█";
    }));
  }
  EXPECT_GT(shaded, 0u);
}

INSTANTIATE_TEST_SUITE_P(shapes, picture_bounds,
                         testing::Values("stencil5:40,40", "uniform:2000,10,0.9", "uniform:10,2000,0.9",
                                         "uniform:1,1,0", "rmat:10,4", "banded:5000,3"));

TEST(info, has_no_picture_of_nothing) { EXPECT_TRUE(bcsc_json("info uniform:0,7,0.5").at("picture").empty()); }

TEST(info, writes_a_png_or_says_that_it_cannot) {
  const std::string path = in_scratch("pattern.png");
  const outcome result = bcsc_run("info uniform:300,600,0.9 --png " + path);
#if BCSC_WITH_PNG
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string png = contents(path);
  ASSERT_GT(png.size(), 33u);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  const auto number = [&](std::size_t at) {
    return static_cast<unsigned char>(png[at + 2]) * 256 + static_cast<unsigned char>(png[at + 3]);
  };
  EXPECT_EQ(number(16), 600) << "width";
  EXPECT_EQ(number(20), 300) << "height";
  EXPECT_EQ(bcsc_run("info stencil5:9,9 --png " + in_scratch("no-such-folder/p.png")).code, 1);
#else
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("libpng"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(path));
#endif
}

// --- convert, generate ----------------------------------------------------------------------------------------------

TEST(convert, keeps_the_matrix_through_gzip_and_back) {
  const std::string first = in_scratch("u.mtx"), second = in_scratch("u.mtx.gz"), third = in_scratch("u2.mtx");
  const json written = bcsc_json("generate uniform:60,45,0.8,seed=4 " + first).at("written");
  const auto a = bcsc::generate::uniform<double>(60, 45, 0.8, 4);
  EXPECT_EQ(written.at("stored_entries"), a.nnz());
  EXPECT_EQ(written.at("bytes"), std::filesystem::file_size(first));
  EXPECT_EQ(bcsc_json("convert " + first + " " + second).at("written").at("rows"), 60);
  EXPECT_EQ(contents(second).substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(bcsc_run("convert " + second + " " + third).code, 0);
  expect_equal(bcsc::read_csr<double>(first), a);
  expect_equal(bcsc::read_csr<double>(second), a);
  expect_equal(bcsc::read_csr<double>(third), a);
}

TEST(convert, stores_half_of_a_symmetric_matrix) {
  const std::string full = in_scratch("full.mtx"), half = in_scratch("half.mtx");
  const auto a = bcsc::generate::elasticity<double>(2, 2, 2);
  EXPECT_EQ(bcsc_run("generate elasticity:2,2,2 " + full).code, 0);
  const json written = bcsc_json("convert " + full + " " + half + " --symmetric").at("written");
  EXPECT_EQ(written.at("symmetry"), "symmetric");
  EXPECT_EQ(written.at("stored_entries"), (a.nnz() + a.rows()) / 2);
  expect_equal(bcsc::read_csr<double>(half), a);
}

TEST(convert, gives_a_pattern_seeded_values) {
  const std::string pattern = write_file("pattern.mtx", pattern_text);
  const auto values = [&](const std::string& options) {
    const std::string out = in_scratch("weighted.mtx");
    EXPECT_EQ(bcsc_run("convert " + pattern + " " + out + " --field real " + options).code, 0);
    const auto a = bcsc::read_csr<double>(out);
    const auto v = a.view();
    return std::vector<double>(v.values.begin(), v.values.end());
  };
  const std::vector<double> first = values("--seed 5");
  ASSERT_EQ(first.size(), 6u);
  for (double x : first) {
    EXPECT_GE(std::abs(x), 0.5);
    EXPECT_LT(std::abs(x), 1.5);
  }
  EXPECT_EQ(std::set<double>(first.begin(), first.end()).size(), 6u);
  EXPECT_EQ(values("--seed 5"), first);
  EXPECT_NE(values("--seed 6"), first);
  EXPECT_EQ(values(""), values("--seed 1"));
}

TEST(convert, keeps_a_pattern_a_pattern) {
  const std::string pattern = write_file("pattern.mtx", pattern_text), out = in_scratch("same.mtx");
  EXPECT_EQ(bcsc_json("convert " + pattern + " " + out).at("written").at("field"), "pattern");
  EXPECT_EQ(bcsc::read_file_info(out).field, bcsc::file_field::pattern);
}

// --- Every format ---------------------------------------------------------------------------------------------------

TEST(formats_command, lists_what_is_read_and_written) {
  const json listed = bcsc_json("formats");
  std::set<std::string> read, written, matrices;
  for (const json& format : listed.at("files")) {
    if (format.at("read")) read.insert(format.at("name"));
    if (format.at("written")) written.insert(format.at("name"));
    EXPECT_FALSE(format.at("extensions").empty());
  }
  for (const json& matrix : listed.at("matrices")) {
    matrices.insert(matrix.at("name"));
    const bool padded = matrix.at("name") == "bsr" || matrix.at("name") == "ell" || matrix.at("name") == "dense";
    EXPECT_EQ(matrix.at("elements").size(), padded ? 4u : 5u) << matrix.dump();
  }
  EXPECT_EQ(read, (std::set<std::string>{"matrix-market", "rutherford-boeing", "smtx", "libsvm", "npz", "mat",
                                         "edge-list", "bcsc"}));
  EXPECT_EQ(written, (std::set<std::string>{"matrix-market", "rutherford-boeing", "smtx", "libsvm", "npz", "edge-list",
                                            "bcsc"}));
  EXPECT_EQ(matrices, (std::set<std::string>{"coo", "csr", "csc", "bsr", "ell", "dense", "bcsc", "compact_bcsc"}));
  EXPECT_NE(bcsc_run("formats").out.find(".mtx"), std::string::npos);
}

/// Small integers, so that every type holds them; no empty row or column at the edge, so that every file does.
const char* const small_text =
    "%%MatrixMarket matrix coordinate integer general\n5 4 8\n1 1 3\n1 4 -2\n2 2 7\n3 1 1\n3 2 4\n4 3 -5\n5 1 6\n5 4 "
    "8\n";

class convert_through : public testing::TestWithParam<const char*> {};

TEST_P(convert_through, a_file_keeps_the_matrix) {
#if !BCSC_WITH_ARCHIVE
  if (std::string(GetParam()).starts_with("npz")) GTEST_SKIP() << "built without libarchive";
#endif
  const std::string first = write_file("small.mtx", small_text),
                    second = in_scratch(std::string("through.") + GetParam()), third = in_scratch("back.mtx");
  const json there = bcsc_json("convert " + first + " " + second);
  EXPECT_EQ(there.at("written").at("stored_entries"), 8);
  EXPECT_EQ(there.at("written").at("bytes"), std::filesystem::file_size(second));
  const json back = bcsc_json("convert " + second + " " + third);
  EXPECT_EQ(back.at("matrix").at("file").at("format"), there.at("written").at("format"));
  EXPECT_EQ(back.at("matrix").at("rows"), 5);
  expect_equal(bcsc::read_csr<double>(second), bcsc::read_csr<double>(first));
  expect_equal(bcsc::read_csr<double>(third), bcsc::read_csr<double>(first));
  for (const auto& entry : std::filesystem::directory_iterator(scratch())) {
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
}

INSTANTIATE_TEST_SUITE_P(files, convert_through,
                         testing::Values("mtx", "mtx.gz", "rb", "rb.gz", "libsvm", "el", "npz", "bcsc", "bcsc.gz"));

struct container_case {
  std::string options, format, type;
  int index_bytes;
};
void PrintTo(const container_case& c, std::ostream* out) { *out << c.options; }

class convert_into : public testing::TestWithParam<container_case> {};

TEST_P(convert_into, a_container_what_is_asked_for) {
  const container_case& c = GetParam();
  const std::string first = write_file("small.mtx", small_text), second = in_scratch("into.bcsc");
  const json written = bcsc_json("convert " + first + " " + second + " " + c.options).at("written").at("matrix");
  EXPECT_EQ(written.at("format"), c.format);
  EXPECT_EQ(written.at("type"), c.type);
  EXPECT_EQ(written.at("index_bytes"), c.index_bytes);
  const auto a = bcsc::read_csr<double>(second), b = bcsc::read_csr<double>(first);
  if (c.type == "pattern") {
    EXPECT_EQ(a.nnz(), b.nnz());
  } else {
    expect_equal(a, b);
  }
  // And from there to fp64 CSR, in its own place.
  const json again = bcsc_json("convert " + second + " " + second + " --format csr --type fp64").at("written");
  EXPECT_EQ(again.at("matrix").at("format"), "csr");
  EXPECT_EQ(again.at("matrix").at("type"), "fp64");
  if (c.type != "pattern") expect_equal(bcsc::read_csr<double>(second), b);
}

INSTANTIATE_TEST_SUITE_P(
    matrices, convert_into,
    testing::Values(container_case{"", "csr", "fp64", 4}, container_case{"--type fp32", "csr", "fp32", 4},
                    container_case{"--type fp16 --index 64", "csr", "fp16", 8},
                    container_case{"--format coo --type bf16", "coo", "bf16", 4},
                    container_case{"--format csc --type pattern", "csc", "pattern", 4},
                    container_case{"--format csr --field pattern", "csr", "pattern", 4},
                    container_case{"--format bsr --block 2x3 --type fp32", "bsr", "fp32", 4},
                    container_case{"--format ell --block 2 --type fp16", "ell", "fp16", 4},
                    container_case{"--format dense --layout col --type bf16", "dense", "bf16", 0},
                    container_case{"--format bcsc --m-block 2 --index 64", "bcsc", "fp64", 8},
                    container_case{"--format compact --m-block 3 --type fp32", "compact_bcsc", "fp32", 4}));

TEST(convert, keeps_a_container_as_it_is_blocked) {
  const std::string first = in_scratch("blocks.bcsc"), second = in_scratch("blocks2.bcsc");
  bcsc_json("convert stencil5:9,9 " + first + " --format bcsc --m-block 7");
  bcsc_json("convert " + first + " " + second);
  EXPECT_EQ(contents(first), contents(second));
  bcsc_json("convert " + first + " " + second + " --type fp32");
  const bcsc::mapped_matrix mapped(second);
  EXPECT_EQ(mapped.as<bcsc::bcsc_view<float>>().m_block, 7);
}

/// Every command that takes a file knows it, and the matrix is the same.
TEST(container_input, may_be_read_instead_of_mapped) {
  const std::string stored = in_scratch("no_map.bcsc"), mapped = in_scratch("mapped.mtx"),
                    read = in_scratch("read.mtx");
  bcsc_json("convert stencil5:9,9 " + stored);
  bcsc_json("convert " + stored + " " + mapped);
  bcsc_json("convert " + stored + " " + read + " --no-map");
  EXPECT_EQ(contents(mapped), contents(read));
  EXPECT_EQ(bcsc_json("info " + stored + " --no-map").at("pattern"), bcsc_json("info " + stored).at("pattern"));
  for (const char* const command : {"spmm --cols 4 --device cpu ", "solve --device cpu "}) {
    bcsc_json(command + stored + " --no-map");
  }
  bcsc_json("convert " + read + " " + in_scratch("again.bcsc") + " --no-map");  // no container: nothing else happens
  std::filesystem::resize_file(stored, std::filesystem::file_size(stored) - 1);
  const outcome failed = bcsc_run("info " + stored + " --no-map --json");
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(json::parse(failed.out).at("error").at("code"), "truncated");
}

TEST(convert, says_in_a_container_what_it_was) {
  const std::string first = write_file("small.mtx", small_text), second = in_scratch("words.bcsc");
  bcsc_json("convert " + first + " " + second + " --comment 'by hand' --meta kind=test --meta name=tiny=5x4");
  const bcsc::container_metadata expected{{"name", "tiny=5x4"}, {"source", "small.mtx"}, {"comment", "by hand"},
                                          {"kind", "test"},     {"field", "integer"},    {"symmetry", "general"}};
  EXPECT_EQ(bcsc::read_container_info(second).metadata, expected);
  const json info = bcsc_json("info " + second);
  EXPECT_EQ(info.at("container").at("metadata").at("kind"), "test");
  EXPECT_EQ(info.at("container").at("format"), "csr");
  EXPECT_EQ(info.at("container").at("sections").size(), 4u);
  EXPECT_EQ(info.at("matrix").at("file").at("field"), "integer");
  EXPECT_NE(bcsc_run("info " + second).out.find("csr of fp64, 32-bit indices"), std::string::npos);
  // An integer matrix stays one on its way back.
  const std::string third = in_scratch("integers.mtx");
  EXPECT_EQ(bcsc_json("convert " + second + " " + third).at("written").at("field"), "integer");
  EXPECT_EQ(bcsc::read_file_info(third).field, bcsc::file_field::integer);
}

TEST(convert, keeps_a_pattern_in_a_container) {
  const std::string pattern = write_file("pattern.mtx", pattern_text), stored = in_scratch("pattern.bcsc"),
                    back = in_scratch("back.mtx"), weighted = in_scratch("weighted.bcsc");
  EXPECT_EQ(bcsc_json("convert " + pattern + " " + stored).at("written").at("matrix").at("type"), "pattern");
  EXPECT_EQ(bcsc_json("convert " + stored + " " + back).at("written").at("field"), "pattern");
  EXPECT_EQ(
      bcsc_json("convert " + stored + " " + weighted + " --field real --seed 5").at("written").at("matrix").at("type"),
      "fp64");
  expect_equal(bcsc::read_csr<double>(weighted), bcsc::read_csr<double>(pattern, {.pattern_seed = 5}));
  EXPECT_EQ(
      bcsc_json("convert " + pattern + " " + weighted + " --type fp32 --seed 5").at("written").at("matrix").at("type"),
      "fp32");
  expect_equal(bcsc::read_csr<float>(weighted), bcsc::read_csr<float>(pattern, {.pattern_seed = 5}));
  EXPECT_EQ(bcsc_json("convert " + stored + " " + in_scratch("pattern.smtx")).at("written").at("field"), "pattern");
  EXPECT_EQ(bcsc::read_csr<double>(in_scratch("pattern.smtx")).nnz(), 6);
}

TEST(convert, writes_a_dense_matrix_as_an_array) {
  const std::string first = write_file("small.mtx", small_text), dense = in_scratch("dense.bcsc"),
                    array = in_scratch("array.mtx");
  bcsc_json("convert " + first + " " + dense + " --format dense --type fp16");
  for (const std::string& arguments : {dense + " " + array, first + " " + array + " --format dense"}) {
    bcsc_json("convert " + arguments);
    EXPECT_TRUE(bcsc::read_file_info(array).array);
    expect_equal(bcsc::read_csr<double>(array), bcsc::read_csr<double>(first));
  }
}

TEST(convert, is_told_what_a_file_is) {
  const std::string edges = write_file("edges.txt", "# a graph\n0 1\n0 2\n2 1\n");
  EXPECT_EQ(bcsc_json("info " + edges + " --no-picture").at("matrix").at("rows"), 3);
  EXPECT_EQ(bcsc_json("info " + edges + " --from edge-list --index-base 0 --no-picture").at("matrix").at("rows"), 3);
  EXPECT_EQ(bcsc_run("info " + edges + " --from edge-list --index-base 1").code, 1);
  const std::string out = in_scratch("edges-out.txt");
  EXPECT_EQ(bcsc_run("convert " + edges + " " + out).code, 1) << ".txt may be anything";
  EXPECT_EQ(bcsc_json("convert " + edges + " " + out + " --to edge-list --out-index-base 0").at("written").at("format"),
            "edge-list");
  EXPECT_EQ(contents(out), "# Nodes: 3 Edges: 3\n0\t1\n0\t2\n2\t1\n");
  const std::string complex =
      write_file("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 3.5 -1\n");
  const json real = bcsc_json("convert " + complex + " " + in_scratch("real.mtx") + " --real-part").at("written");
  EXPECT_EQ(real.at("field"), "real");
  EXPECT_EQ(viewed(bcsc::read_csr<double>(in_scratch("real.mtx"))).values[0], 3.5);
  EXPECT_EQ(bcsc_json("spmm " + complex + " --real-part --device cpu").at("passed"), true);
}

TEST(convert, may_write_where_it_reads) {
  const std::string path = write_file("place.mtx", small_text);
  const auto a = bcsc::read_csr<double>(path);
  bcsc_json("convert " + path + " " + path + " --to bcsc");
  EXPECT_EQ(bcsc::read_file_info(path).format, bcsc::file_format::container);
  bcsc_json("convert " + path + " " + path + " --format compact --to bcsc");
  expect_equal(bcsc::read_csr<double>(path), a);
  bcsc_json("convert " + path + " " + path);
  EXPECT_EQ(bcsc::read_file_info(path).format, bcsc::file_format::matrix_market);
  expect_equal(bcsc::read_csr<double>(path), a);
}

TEST(convert, shows_the_progress_of_reading_and_of_writing) {
  const std::string out = in_scratch("progress.mtx"), again = in_scratch("progress.bcsc");
  EXPECT_NE(bcsc_run("generate stencil5:60,60 " + out + " --progress").err.find("writing"), std::string::npos);
  const std::string shown = bcsc_run("convert " + out + " " + again + " --progress").err;
  EXPECT_NE(shown.find("reading"), std::string::npos) << shown;
  EXPECT_NE(shown.find("writing"), std::string::npos) << shown;
}

TEST(spmm_command, takes_a_container) {
  const std::string path = in_scratch("product.bcsc");
  bcsc_json("generate elasticity:3,3,3 " + path);
  EXPECT_EQ(bcsc_json("spmm " + path + " --device cpu --cols 9 --kernel each --repeat 1").at("passed"), true);
  EXPECT_EQ(bcsc_json("solve " + path + " --device cpu").at("converged"), true);
}

TEST(spmm_command, multiplies_with_the_transpose_stored_or_not) {
  for (const std::string what :
       {"rmat:8,4,seed=1 --cols 9", "rmat:8,4,seed=1 --cols 5 --layout col --type fp64 --beta 2"}) {
    for (const bool no_copy : {false, true}) {
      const json found =
          bcsc_json("spmm " + what + " --transpose" + (no_copy ? " --no-copy" : "") + " --device cpu --repeat 1");
      EXPECT_EQ(found.at("passed"), true) << found;
      EXPECT_EQ(found.at("transpose"), true);
      EXPECT_EQ(found.at("no_copy"), no_copy);
      EXPECT_EQ(found.at("results").at(0).at("algorithm") == "scatter", no_copy) << found;
    }
  }
}

TEST(generate_command, lists_the_catalogue) {
  const json listed = bcsc_json("generate --list").at("catalogue");
  EXPECT_EQ(listed.size(), bcsc::generate::catalogue().size());
  EXPECT_EQ(listed.at(0).at("name"), "elasticity-30");
  const outcome text = bcsc_run("generate --list");
  for (const std::string& form : bcsc::generate::forms()) EXPECT_NE(text.out.find("  " + form), std::string::npos);
}

TEST(generate_command, says_what_goes_on_if_it_takes_long_and_not_otherwise) {
  const std::string out = in_scratch("generated.mtx"), label = "generating nm:";
  EXPECT_EQ(bcsc_run("generate nm:10,10,1,5 " + out + " --progress").err.find(label), std::string::npos);
  // Draws a billion numbers for few entries: a second or more on any one core.
  setenv("OMP_NUM_THREADS", "1", 1);
  const auto start = std::chrono::steady_clock::now();
  const outcome slow = bcsc_run("generate nm:20000,100000,1,100000 " + out + " --progress");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(slow.code, 0);
  if (took.count() > 2) {
    EXPECT_NE(slow.err.find(label + "20000,100000,1,100000 ... 1 s"), std::string::npos) << slow.err;
  }
  EXPECT_TRUE(slow.err.ends_with("\r\x1b[K")) << "what was shown is taken back";
}

struct generated_case {
  const char* specification;
  std::int64_t rows, cols, nnz;
};
void PrintTo(const generated_case& c, std::ostream* out) { *out << c.specification; }

class generated : public testing::TestWithParam<generated_case> {};

TEST_P(generated, is_written_as_it_is) {
  const std::string out = in_scratch("generated.mtx");
  const json written = bcsc_json(std::string("generate ") + GetParam().specification + " " + out).at("written");
  EXPECT_EQ(written.at("rows"), GetParam().rows);
  EXPECT_EQ(written.at("cols"), GetParam().cols);
  EXPECT_EQ(written.at("stored_entries"), GetParam().nnz);
  expect_equal(bcsc::read_csr<double>(out), bcsc::generate::from_specification<double>(GetParam().specification));
}

INSTANTIATE_TEST_SUITE_P(families, generated,
                         testing::Values(generated_case{"nm:12,20,2,4", 12, 20, 120},
                                         generated_case{"hypersparse:50000,300,17,seed=5", 50000, 300, 17},
                                         generated_case{"linking:40,30,1,2,30,seed=5", 40, 30, 98},
                                         generated_case{"spd:2,50", 2, 2, 4},
                                         generated_case{"blocks:20,4,4,0", 20, 20, 80},
                                         generated_case{"elasticity:1,1,1,dof=2", 8, 8, 64}));

// --- spmm -----------------------------------------------------------------------------------------------------------

struct spmm_case {
  std::string arguments;
};
void PrintTo(const spmm_case& c, std::ostream* out) { *out << c.arguments; }

class spmm_each : public testing::TestWithParam<spmm_case> {};

TEST_P(spmm_each, is_within_the_bound_for_every_algorithm) {
  const json result = bcsc_json("spmm " + GetParam().arguments + " --device cpu --kernel each --repeat 1");
  EXPECT_EQ(result.at("passed"), true);
  EXPECT_EQ(result.at("backend"), "cpu");
  std::set<std::string> seen;
  for (const json& r : result.at("results")) {
    if (r.value("applies", true) == false) {
      // What is for N = 1 has no row blocks of a height to be asked for.
      EXPECT_EQ(r.at("kernel"), "slices") << r.dump();
      EXPECT_NE(GetParam().arguments.find("--m-block"), std::string::npos) << r.dump();
      continue;
    }
    EXPECT_EQ(r.at("passed"), true) << r.dump();
    EXPECT_LE(r.at("bound_share").get<double>(), 1.0) << r.dump();
    EXPECT_EQ(r.at("violations"), 0);
    EXPECT_GT(r.at("seconds").get<double>(), 0.0);
    EXPECT_TRUE(seen.insert(r.at("kernel")).second) << r.dump();
  }
  for (const char* format : {"coo", "csr", "csc", "bsr", "bcsc"}) {
    EXPECT_TRUE(seen.contains(std::string("reference-") + format)) << format;
  }
  EXPECT_GE(seen.size(), 7u) << "and at least two algorithms of the CPU";
}

INSTANTIATE_TEST_SUITE_P(
    products, spmm_each,
    testing::Values(spmm_case{"stencil9:17,13 --cols 32"}, spmm_case{"stencil9:17,13 --cols 1 --type fp64"},
                    spmm_case{"elasticity:4,3,3 --cols 8 --layout col"},
                    spmm_case{"elasticity:4,3,3 --cols 33 --layout col --type fp64 --alpha -2.5 --beta 0.75"},
                    spmm_case{"elasticity:4,3,3 --cols 9 --batch 3"},
                    spmm_case{"uniform:60,77,0.9 --cols 5 --batch 4 --layout col --type fp64 --beta 0.5"},
                    spmm_case{"uniform:100,257,0.9 --cols 20 --m-block 7"},
                    spmm_case{"rmat:9,8 --cols 64 --beta 1 --seed 9"}, spmm_case{"banded:3,1 --cols 5 --alpha 0"},
                    spmm_case{"uniform:40,30,1.0 --cols 3 --beta 2"}));

TEST(spmm_command, multiplies_narrow_values) {
  for (const std::string type : {"fp16", "bf16"}) {
    const json result =
        bcsc_json("spmm elasticity:4,3,3 --device cpu --cols 33 --beta 0.5 --kernel each --type " + type);
    EXPECT_EQ(result.at("passed"), true) << result.dump();
    EXPECT_EQ(result.at("type"), type);
    EXPECT_EQ(result.at("results").size(), 6u) << "rows and the references";
  }
}

TEST(spmm_command, runs_every_config) {
  const json result = bcsc_json("spmm stencil7:5,6,7 --device cpu --cols 24 --kernel all --repeat 1");
  const json table = bcsc_json("kernels --device cpu --type fp32");
  EXPECT_EQ(result.at("results").size(), table.at("kernels").size() + 5);
  EXPECT_EQ(result.at("passed"), true);
}

TEST(spmm_command, lets_the_plan_choose_and_explains) {
  const json result = bcsc_json("spmm stencil5:30,30 --device cpu --threads 1 --cols 16");
  ASSERT_EQ(result.at("results").size(), 1u);
  EXPECT_NE(result.at("results").at(0).at("explain"), "");
  const outcome text = bcsc_run("spmm stencil5:30,30 --device cpu --cols 16");
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("1 of 1 within the fp32 error bound"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("why"), std::string::npos) << text.out;
}

TEST(spmm_command, takes_a_kernel_and_a_height_by_name) {
  const json table = bcsc_json("kernels --device cpu --type fp64").at("kernels");
  ASSERT_FALSE(table.empty());
  const std::string name = table.at(0).at("name");
  const json result =
      bcsc_json("spmm stencil5:30,30 --device cpu --type fp64 --m-block 5 --kernel " + name).at("results").at(0);
  EXPECT_EQ(result.at("kernel"), name);
  EXPECT_EQ(result.at("m_block"), 5);
}

TEST(spmm_command, gives_a_pattern_file_random_values) {
  const json result =
      bcsc_json("spmm " + write_file("pattern.mtx", pattern_text) + " --device cpu --kernel each --seed 3");
  EXPECT_EQ(result.at("matrix").at("value_seed"), 3);
  EXPECT_EQ(result.at("passed"), true);
}

TEST(spmm_command, computes_where_it_is_told) {
  const json devices = bcsc_json("devices");
  const bool cuda = devices.at("cuda").at("usable");
  EXPECT_EQ(bcsc_json("spmm stencil5:9,9").at("backend"), cuda ? "cuda" : "cpu");
  EXPECT_EQ(bcsc_json("spmm stencil5:9,9 --device cpu").at("backend"), "cpu");
  const outcome forced = bcsc_run("spmm stencil5:9,9 --device cuda");
  EXPECT_EQ(forced.code, cuda ? 0 : 1) << forced.err;
  if (!cuda) {
    EXPECT_NE(forced.err.find("bcsc: error: "), std::string::npos);
  }
}

TEST(spmm_command, passes_on_the_gpu) {
  if (!bcsc_json("devices").at("cuda").at("usable")) GTEST_SKIP() << "no usable GPU";
  for (const char* arguments : {"elasticity:6,5,4 --cols 40",
                                "elasticity:6,5,4 --cols 33 --layout col --type fp64 --beta 2", "rmat:10,8 --cols 8"}) {
    EXPECT_EQ(bcsc_json(std::string("spmm ") + arguments + " --device cuda --kernel all --repeat 1").at("passed"),
              true);
  }
}

// --- The check itself -----------------------------------------------------------------------------------------------

template <class T>
class product_check_of : public testing::Test {};
using checked_types = testing::Types<float, double>;
TYPED_TEST_SUITE(product_check_of, checked_types);

/// 2 x 2 with exact small integers: C = 2 * [[1, 2], [0, 3]] * [[1], [4]] + 3 * [[5], [-7]] = [[33], [3]].
template <class T>
struct small_product {
  bcsc::csr_matrix<T> a{2, 2, {0, 2, 3}, {0, 1, 1}, {1, 2, 3}};
  bcsc::dense_matrix<T> b{2, 1}, c0{2, 1}, c{2, 1};
  small_product() {
    b(0, 0) = 1, b(1, 0) = 4;
    c0(0, 0) = 5, c0(1, 0) = -7;
    c(0, 0) = 33, c(1, 0) = 3;
  }
  bcsc::cli::verdict check() const {
    return bcsc::cli::product_check<T>(2, a.view(), b.view(), 3, c0.view()).compare(c.view());
  }
};

TYPED_TEST(product_check_of, accepts_the_exact_product) {
  const auto found = small_product<TypeParam>().check();
  EXPECT_TRUE(found.passed());
  EXPECT_EQ(found.max_error, 0);
  EXPECT_EQ(found.bound_share, 0);
}

TYPED_TEST(product_check_of, accepts_less_than_the_bound_and_no_more) {
  // The second entry: one term, so gamma_4 (24 + 21) + u * 3, about 183 u.
  constexpr TypeParam u = std::numeric_limits<TypeParam>::epsilon() / 2;
  small_product<TypeParam> p;
  p.c(1, 0) = 3 + 160 * u;
  auto found = p.check();
  EXPECT_TRUE(found.passed()) << found.bound_share;
  EXPECT_GT(found.bound_share, 0.8);
  p.c(1, 0) = 3 + 200 * u;
  found = p.check();
  EXPECT_EQ(found.violations, 1);
  EXPECT_EQ(found.row, 1);
  EXPECT_EQ(found.col, 0);
}

TYPED_TEST(product_check_of, refuses_what_was_never_written) {
  small_product<TypeParam> p;
  p.c(0, 0) = std::numeric_limits<TypeParam>::quiet_NaN();
  const auto found = p.check();
  EXPECT_EQ(found.violations, 1);
  EXPECT_EQ(found.row, 0);
  EXPECT_TRUE(std::isinf(found.max_error));
}

TYPED_TEST(product_check_of, does_not_read_c_for_beta_0) {
  small_product<TypeParam> p;
  p.c0(0, 0) = p.c0(1, 0) = std::numeric_limits<TypeParam>::quiet_NaN();
  p.c(0, 0) = 9, p.c(1, 0) = 12;
  EXPECT_TRUE(
      bcsc::cli::product_check<TypeParam>(1, p.a.view(), p.b.view(), 0, p.c0.view()).compare(p.c.view()).passed());
}

// --- tune, cache, calibrate -----------------------------------------------------------------------------------------

TEST(tune, lists_what_was_tried_and_remembers_the_fastest) {
  const std::string cache = in_scratch("tuned.txt");
  const std::string line = "tune stencil9:60,60 --cols 4,16 --device cpu --threads 1 --cache " + cache;
  const json first = bcsc_json(line);
  ASSERT_EQ(first.at("results").size(), 2u);
  for (const json& result : first.at("results")) {
    EXPECT_FALSE(result.at("remembered"));
    ASSERT_GT(result.at("trials").size(), 1u);
    EXPECT_EQ(result.at("trials")[0].at("kernel"), result.at("kernel"));
    EXPECT_GT(result.at("trials")[0].at("seconds"), 0);
    EXPECT_GT(result.at("trial_seconds"), 0);
  }
  const json second = bcsc_json(line + " --effort check");
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(second.at("results")[i].at("remembered"));
    EXPECT_EQ(second.at("results")[i].at("kernel"), first.at("results")[i].at("kernel"));
  }
  EXPECT_FALSE(bcsc_json(line + " --again --effort check").at("results")[0].at("remembered"));
  EXPECT_EQ(bcsc_json("cache show --cache " + cache).at("entries").size(), 2u);
  const outcome text = bcsc_run(line + " --again");
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* const said : {"N = 4: ", "N = 16: ", "fastest of ", "over best", "remembered in "}) {
    EXPECT_NE(text.out.find(said), std::string::npos) << said << "\n" << text.out;
  }
}

TEST(tune, tells_of_a_cache_it_cannot_use) {
  const std::string thesis = write_file("thesis.pdf", "%PDF-1.7 words");
  const outcome result = bcsc_run("tune stencil5:6,6 --device cpu --effort check --cache " + thesis);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("the file is something else; it is left as it is"), std::string::npos) << result.err;
  EXPECT_EQ(contents(thesis), "%PDF-1.7 words");
}

TEST(cache, is_carried_and_cleared) {
  const std::string one = in_scratch("one.txt"), other = in_scratch("other.txt"), flag = " --cache " + one;
  bcsc_json("tune stencil9:40,40 --cols 3 --device cpu --cache " + one);
  EXPECT_EQ(bcsc_json("cache export " + other + flag).at("num_entries"), 1);
  EXPECT_EQ(bcsc_json("cache clear" + flag).at("num_entries"), 1);
  EXPECT_EQ(bcsc_json("cache show" + flag).at("entries").size(), 0u);
  EXPECT_EQ(bcsc_json("cache import " + other + flag).at("num_entries"), 1);
  EXPECT_EQ(bcsc_json("cache show" + flag).at("entries").size(), 1u);
  for (const std::string& wrong : {"cache import " + in_scratch("none.txt") + flag, "cache export" + flag,
                                   "cache show " + other + flag, std::string("cache show --cache off")}) {
    EXPECT_TRUE(bcsc_json_of_failure(wrong).contains("error")) << wrong;
  }
}

TEST(spmm, takes_the_choice_that_was_remembered) {
  const std::string cache = in_scratch("spmm.txt"), set = "BCSC_TUNING_CACHE=" + cache + " " BCSC_CLI " ";
  ASSERT_EQ(shell_run(set + "tune stencil9:60,60 --cols 8 --device cpu --threads 1").code, 0);
  const outcome result =
      shell_run(set + "spmm stencil9:60,60 --cols 8 --device cpu --threads 1 --effort check --repeat 1");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("why: remembered"), std::string::npos) << result.out;
}

TEST(calibrate, is_shown_by_devices) {
  const std::string cache = in_scratch("constants.txt"), set = "BCSC_TUNING_CACHE=" + cache + " " BCSC_CLI " ";
  const json before = json::parse(shell_run(set + "devices --json").out);
  EXPECT_TRUE(before.at("cpu").at("measured").is_null());
  const json found = json::parse(shell_run(set + "calibrate --quick --device cpu --json").out);
  EXPECT_GT(found.at("constants").at("memory_bandwidth"), 0);
  const json after = json::parse(shell_run(set + "devices --json").out);
  EXPECT_TRUE(after.at("cpu").at("measured").contains("launch_seconds"));
  EXPECT_TRUE(found.at("costs").is_null());
  EXPECT_TRUE(after.at("cpu").at("costs").is_null());
}

TEST(calibrate, makes_costs_that_plans_choose_by) {
  const std::string folder = in_scratch("calibrated");
  std::filesystem::create_directory(folder);
  const std::string set = "BCSC_TUNING_CACHE=" + folder + "/cache.txt " BCSC_CLI " ";
  const json found = json::parse(shell_run(set + "calibrate --device cpu --seconds 0.5 --json").out);
  EXPECT_GE(found.at("costs").at("products"), 1);
  ASSERT_TRUE(std::filesystem::exists(found.at("costs").at("file").get<std::string>()));
  const json devices = json::parse(shell_run(set + "devices --json").out);
  EXPECT_EQ(devices.at("cpu").at("costs").at("date"), found.at("costs").at("date"));
  EXPECT_NE(shell_run(set + "devices").out.find(", 0 days old"), std::string::npos);
  const std::string product = "spmm stencil9:60,60 --cols 8 --device cpu --repeat 1";
  const outcome with = shell_run(set + product);
  EXPECT_NE(with.out.find("by costs of this machine, calibrated on 20"), std::string::npos) << with.out;
  const outcome without = shell_run("BCSC_TUNING_CACHE=off " BCSC_CLI " " + product);
  EXPECT_NE(without.out.find("by the costs of CPUs with"), std::string::npos) << without.out;
  EXPECT_EQ(bcsc_run("calibrate --device cpu --seconds 0").code, 2);
  EXPECT_NE(bcsc_run("calibrate --device cpu --seconds 0.1 --cache off").out.find("not remembered"), std::string::npos);
}

// --- devices, kernels -----------------------------------------------------------------------------------------------

TEST(devices, names_the_cpu_and_what_is_best) {
  const json result = bcsc_json("devices");
  EXPECT_GE(result.at("cpu").at("threads"), 1);
  EXPECT_EQ(result.at("cpu").at("description").get<std::string>().rfind("cpu: ", 0), 0u);
  EXPECT_TRUE(result.at("gpus").is_array());
  const bool cuda = result.at("cuda").at("usable");
  EXPECT_EQ(result.at("best").at("backend"), cuda ? "cuda" : "cpu");
  EXPECT_EQ(result.at("cuda").at("why_not").get<std::string>().empty(), cuda);
}

TEST(kernels, are_named_once_for_each_type) {
  const json all = bcsc_json("kernels").at("kernels");
  std::set<std::pair<std::string, std::string>> names;
  std::set<std::string> algorithms;
  for (const json& kernel : all) {
    EXPECT_TRUE(names.emplace(kernel.at("name"), kernel.at("type")).second) << kernel.dump();
    algorithms.insert(kernel.at("algorithm"));
    if (kernel.at("where") == "cpu") {
      EXPECT_EQ(kernel.at("built"), true);
    }
  }
  for (const char* algorithm : {"naive", "warp", "tiled"}) EXPECT_TRUE(algorithms.contains(algorithm)) << algorithm;
}

TEST(kernels, can_be_filtered) {
  const json all = bcsc_json("kernels").at("kernels");
  const json some = bcsc_json("kernels --device cuda --type fp64 --algorithm tiled").at("kernels");
  EXPECT_GT(some.size(), 0u);
  EXPECT_LT(some.size(), all.size());
  for (const json& kernel : some) {
    EXPECT_EQ(kernel.at("algorithm"), "tiled");
    EXPECT_EQ(kernel.at("type"), "fp64");
    EXPECT_EQ(kernel.at("where"), "cuda");
  }
}

}  // namespace
