#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "bcsc_config.h"
#include "test/support/battery.hpp"
#include "test/unit/fixtures.hpp"
#include "test/unit/mat_support.hpp"
#include "test/unit/matrix_market_support.hpp"

/// What the .mat reader accepts, and which of a file's variables it takes.
namespace bcsc {
namespace {

using test::entries_of;
using test::entry_map;
using test::fixture;
using test::mat_maker;
using test::temporary_folder;

const entry_map<double> golden{{{0, 1}, 1}, {{0, 4}, -2}, {{1, 2}, 0}, {{2, 0}, 3},
                               {{2, 1}, 4}, {{2, 5}, 5},  {{3, 3}, -6}};
const entry_map<double> cross{{{0, 0}, 1}, {{0, 1}, 2}, {{0, 2}, 3}, {{0, 3}, 4},
                              {{0, 4}, 5}, {{1, 0}, 2}, {{2, 0}, 3}};

template <class F>
entry_map<double> mapped(const entry_map<double>& entries, F&& f) {
  entry_map<double> result;
  for (const auto& [at, x] : entries) {
    if (const auto y = f(x)) result[at] = *y;
  }
  return result;
}
entry_map<double> times(double factor) {
  return mapped(golden, [&](double x) { return std::optional(factor * x); });
}
entry_map<double> transposed(const entry_map<double>& entries) {
  entry_map<double> result;
  for (const auto& [at, x] : entries) result[{at.second, at.first}] = x;
  return result;
}
entry_map<double> without_zeros() {
  return mapped(golden, [](double x) { return x == 0 ? std::nullopt : std::optional(x); });
}

// --- Files of MATLAB and SciPy --------------------------------------------------------------------------------------

struct written_file {
  std::string name;
  std::string member;  ///< asked for
  entry_map<double> entries = golden;
  std::string found = "A";
  file_field field = file_field::real;
  std::int64_t rows = 4, cols = 6;
  bool array = false;
};

void PrintTo(const written_file& file, std::ostream* out) { *out << file.name << " " << file.member; }

std::vector<written_file> written_files() {
  const auto ones = mapped(golden, [](double x) { return std::optional(x != 0 ? 1.0 : 0.0); });
  const auto zeros = mapped(golden, [](double x) { return std::optional(x == 0 ? 1.0 : 0.0); });
  return {
      {"plain", ""},
      {"plain", "A"},
      {"compressed", ""},
      {"logical", "", ones, "A", file_field::pattern},
      {"complex", "", golden, "A", file_field::complex},
      {"no_entries", "", {}, "A", file_field::real, 3, 2},
      {"several", "A"},
      {"several", "B", transposed(golden), "B", file_field::real, 6, 4},
      {"several", "C.inner", times(2), "C.inner"},
      {"problem", "", golden, "Problem.A"},
      {"problem", "Problem.A", golden, "Problem.A"},
      {"problem", "Problem.Zeros", zeros, "Problem.Zeros"},
      {"problem", "Problem.aux.G", times(2), "Problem.aux.G"},
      {"problem", "Problem.aux.list{1}", times(3), "Problem.aux.list{1}"},
      {"problem_compressed", "", golden, "Problem.A"},
      {"problem_compressed", "Problem.aux.list{1}", times(3), "Problem.aux.list{1}"},
      {"dense", "A", without_zeros(), "A", file_field::real, 4, 6, true},
      {"dense", "I", without_zeros(), "I", file_field::integer, 4, 6, true},
      {"dense", "Z", without_zeros(), "Z", file_field::complex, 4, 6, true},
      {"problem", "Problem.id", {{{0, 0}, 7}}, "Problem.id", file_field::integer, 1, 1, true},
      {"matlab_sparse_big_endian", "", cross, "testsparse", file_field::real, 3, 5},
      {"matlab_sparse_v6", "", cross, "testsparse", file_field::real, 3, 5},
      {"matlab_sparse_v7", "", cross, "testsparse", file_field::real, 3, 5},
      {"matlab_complex_big_endian", "", cross, "testsparsecomplex", file_field::complex, 3, 5},
      {"matlab_complex_v7", "", cross, "testsparsecomplex", file_field::complex, 3, 5},
      {"matlab_narrow", "", {{{0, 0}, 1}, {{0, 2}, 2}, {{0, 4}, -3.5}}, "testsparsefloat", file_field::real, 1, 6},
      // Its values are nominally doubles, and stored as bytes.
      {"matlab_logical",
       "",
       {{{0, 0}, 1}, {{0, 1}, 1}, {{0, 2}, 1}, {{1, 2}, 1}, {{2, 2}, 1}},
       "sp_log_5_4",
       file_field::pattern,
       5,
       4},
      {"matlab_functions", "c", {}, "c", file_field::real, 1, 1, true},
  };
}

/// The same kinds in HDF5, gzip around it. Its struct `Problem` also holds a link into another file.
std::vector<written_file> hdf5_files() {
  const auto zeros = mapped(golden, [](double x) { return std::optional(x == 0 ? 1.0 : 0.0); });
  const auto file = [](std::string member, entry_map<double> entries = golden, file_field field = file_field::real,
                       std::int64_t rows = 4, std::int64_t cols = 6, bool array = false) {
    return written_file{"v7_3", member, std::move(entries), member, field, rows, cols, array};
  };
  return {
      file("Problem.A"),
      {"v7_3", "", golden, "Problem.A"},
      file("Problem.Zeros", zeros, file_field::pattern),
      file("Problem.id", {{{0, 0}, 7}}, file_field::real, 1, 1, true),
      file("Problem.aux.empty", {}, file_field::real, 3, 2),
      file("Problem.aux.complex", golden, file_field::complex),
      file("Problem.aux.narrow"),
      file("Problem.aux.dense", without_zeros(), file_field::integer, 4, 6, true),
      {"matlab_v7_3",
       "testdouble",
       {{{0, 1}, 0.7853981633974483},
        {{0, 2}, 1.5707963267948966},
        {{0, 3}, 2.356194490192345},
        {{0, 4}, 3.141592653589793},
        {{0, 5}, 3.9269908169872414},
        {{0, 6}, 4.71238898038469},
        {{0, 7}, 5.497787143782138},
        {{0, 8}, 6.283185307179586}},
       "testdouble",
       file_field::real,
       1,
       9,
       true},
  };
}

class WrittenMat : public testing::TestWithParam<written_file> {
 protected:
  read_options options() const {
    read_options asked;
    asked.member = GetParam().member;
    asked.real_part = true;
    return asked;
  }
  std::filesystem::path path() const {
    const auto plain = fixture(GetParam().name + ".mat");
    return std::filesystem::exists(plain) ? plain : fixture(GetParam().name + ".mat.gz");
  }
};

const auto written_name = [](const auto& info) {
  std::string name = info.param.name + "_" + info.param.member;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name + "_" + std::to_string(info.index);
};

template <value T, index I>
void expect_read(const std::filesystem::path& path, const read_options& options, const written_file& file) {
  const auto a = read_coo<T, I>(path, options);
  validate(a.view());
  EXPECT_EQ(a.rows(), file.rows);
  EXPECT_EQ(a.cols(), file.cols);
  entry_map<T> wanted;
  for (const auto& [at, x] : file.entries) wanted[at] = static_cast<T>(x);
  EXPECT_EQ(entries_of(a), wanted);
}

TEST_P(WrittenMat, IsReadAsEveryType) {
  expect_read<float, std::int32_t>(path(), options(), GetParam());
  expect_read<float, std::int64_t>(path(), options(), GetParam());
  expect_read<double, std::int32_t>(path(), options(), GetParam());
  expect_read<double, std::int64_t>(path(), options(), GetParam());
}

TEST_P(WrittenMat, SaysWhatItHolds) {
  const written_file& file = GetParam();
  const file_info info = read_file_info(path(), options());
  EXPECT_EQ(info.format, file_format::mat);
  EXPECT_EQ(info.rows, file.rows);
  EXPECT_EQ(info.cols, file.cols);
  EXPECT_EQ(info.stored_entries, file.array ? file.rows * file.cols : static_cast<std::int64_t>(file.entries.size()));
  EXPECT_EQ(info.field, file.field);
  EXPECT_EQ(info.array, file.array);
  EXPECT_EQ(info.member, file.found);
}

INSTANTIATE_TEST_SUITE_P(By, WrittenMat, testing::ValuesIn(written_files()), written_name);
#if BCSC_WITH_HDF5
INSTANTIATE_TEST_SUITE_P(InHdf5, WrittenMat, testing::ValuesIn(hdf5_files()), written_name);
#else
TEST(MatInHdf5, IsRead) { GTEST_SKIP() << hdf5_files().size() << " matrices: this build has no HDF5"; }
#endif

// --- Oddities, in both byte orders ----------------------------------------------------------------------------------

struct accepted {
  std::string name;
  std::string bytes;
  std::string member = {};
};
void PrintTo(const accepted& file, std::ostream* out) { *out << file.name; }

/// 2 x 3 with 1.5 at (0, 2) and -2 at (1, 0), in many guises.
std::vector<accepted> oddities() {
  std::vector<accepted> all;
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    const mat_maker m{order};
    const std::string prefix = order == std::endian::little ? "little_" : "big_";
    const auto add = [&](std::string name, const std::string& variables, std::string member = "") {
      all.push_back({prefix + name, m.file(variables), std::move(member)});
    };
    const auto sparse = [&](const std::string& name) {
      return m.sparse(name, {2, 3}, {1, 0}, {0, 1, 1, 2}, {-2, 1.5});
    };
    const auto with = [&](const std::string& ir, const std::string& jc, const std::string& pr) {
      return m.array(m.head(test::mx_sparse, {2, 3}, "A", 2) + ir + jc + pr);
    };
    const std::string ir = m.int32s({1, 0}), jc = m.int32s({0, 1, 1, 2}), pr = m.doubles({-2, 1.5});
    const std::string text = m.array(m.head(test::mx_char, {1, 2}, "text") + m.small(test::mi_utf8, "ab"));
    const std::string number = m.array(m.head(test::mx_double, {1, 1}, "x") + m.small(test::mi_uint8, "\7"));
    const std::string empty = m.tag(test::mi_matrix, 0);
    add("plain", sparse("A"));
    add("compressed", m.compressed(sparse("A")));
    add("compressed_with_bytes_behind", m.element(test::mi_compressed, test::zlib_stream(sparse("A")) + "behind"));
    add("among_others", text + m.compressed(number) + sparse("A") + number + m.compressed(text));
    add("an_empty_variable_before", empty + m.compressed(empty) + sparse("A"));
    add("an_opaque_variable_before",
        m.array(m.element(test::mi_uint32, m.list<std::uint32_t>({test::mx_opaque, 0})) + "whatever") + sparse("A"));
    add("no_name", sparse(""));
    add("small_name", m.array(m.element(test::mi_uint32, m.list<std::uint32_t>({test::mx_sparse, 2})) +
                              m.int32s({2, 3}) + m.small(test::mi_int8, "A") + ir + jc + pr));
    add("sizes_of_64_bits", m.array(m.element(test::mi_uint32, m.list<std::uint32_t>({test::mx_sparse, 2})) +
                                    m.element(test::mi_int64, m.list<std::int64_t>({2, 3})) +
                                    m.element(test::mi_utf8, "A") + ir + jc + pr));
    add(
        "last_padding_missing", m.file("").substr(128) + [&] {
          const std::string content =
              m.head(test::mx_sparse, {2, 3}, "A", 2) + ir + jc + m.tag(test::mi_single, 8) + m.list<float>({-2, 1.5});
          return m.tag(test::mi_matrix, content.size()) + content;
        }());
    add("room_for_more", with(m.int32s({1, 0, 7, 7}), jc, m.doubles({-2, 1.5, 9, 9})));
    add("rows_of_16_bits", with(m.small(test::mi_uint16, m.list<std::uint16_t>({1, 0})), jc, pr));
    add("rows_of_8_bits", with(m.small(test::mi_int8, m.list<std::int8_t>({1, 0})), jc, pr));
    add("rows_of_64_bits", with(m.element(test::mi_uint64, m.list<std::uint64_t>({1, 0})), jc, pr));
    add("pointers_of_8_bits", with(ir, m.small(test::mi_uint8, m.list<std::uint8_t>({0, 1, 1, 2})), pr));
    add("values_of_single", with(ir, jc, m.element(test::mi_single, m.list<float>({-2, 1.5}))));
    add("complex",
        m.array(m.head(test::mx_sparse | test::flag_complex, {2, 3}, "A", 2) + ir + jc + pr + m.doubles({7, 7})));
    add("duplicates", m.sparse("A", {2, 3}, {1, 1, 0, 0}, {0, 2, 2, 4}, {-3, 1, 1, 0.5}));
    add("dense", m.array(m.head(test::mx_double, {2, 3}, "A") + m.doubles({0, -2, 0, 0, 1.5, 0})), "A");
    add("dense_of_single",
        m.array(m.head(test::mx_single, {2, 3}, "A") +
                m.element(test::mi_single, m.list<float>({0, -2, 0, 0, 1.5, 0}))),
        "A");
    add("in_a_struct", m.structure("S", {1, 1}, {"x", "A", "t"}, {number, sparse(""), text}));
    add("in_a_compressed_struct", m.compressed(m.structure("S", {1, 1}, {"x", "A"}, {number, sparse("")})), "S.A");
    add("in_a_struct_array", m.structure("S", {1, 2}, {"x", "A"}, {number, empty, text, sparse("")}), "S(2).A");
    add("in_a_cell", m.cell("C", {2, 1}, {text, sparse("")}), "C{2}");
    add("in_a_cell_in_a_struct_in_a_cell",
        m.cell("C", {1, 1}, {m.structure("", {1, 1}, {"f"}, {m.cell("", {1, 2}, {empty, sparse("")})})}), "C{1}.f{2}");
    add("beside_an_empty_struct", m.structure("S", {0, 0}, {"x"}, {}) + m.structure("T", {1, 1}, {}, {}) + sparse("A"));
    add("one_of_several", sparse("B") + sparse("A") + m.sparse("C", {1, 1}, {}, {0, 0}, {}), "A");
  }
  all.push_back({"gzip_around",
                 test::gzipped(mat_maker{}.file(mat_maker{}.sparse("A", {2, 3}, {1, 0}, {0, 1, 1, 2}, {-2, 1.5})))});
  return all;
}

class AcceptedMat : public testing::TestWithParam<accepted> {};

TEST_P(AcceptedMat, IsRead) {
  const accepted& file = GetParam();
  const temporary_folder folder;
  read_options options;
  options.member = file.member;
  options.real_part = true;
  // By its content: the name tells nothing.
  const auto a = read_coo<double>(folder.file("matrix", file.bytes), options);
  EXPECT_EQ(a.rows(), 2);
  EXPECT_EQ(a.cols(), 3);
  EXPECT_EQ(entries_of(a), (entry_map<double>{{{0, 2}, 1.5}, {{1, 0}, -2}}));
}

INSTANTIATE_TEST_SUITE_P(With, AcceptedMat, testing::ValuesIn(oddities()),
                         [](const auto& info) { return info.param.name; });

/// Values of every element type, as MATLAB narrows doubles that fit.
TEST(MatValues, AreWidenedFromEveryType) {
  const temporary_folder folder;
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    const mat_maker m{order};
    const auto expect = [&](std::uint32_t type, const std::string& stored, std::vector<double> wanted,
                            std::vector<float> wanted_fp32) {
      const auto n = static_cast<std::int32_t>(wanted.size());
      std::vector<std::int32_t> rows;
      for (std::int32_t k = 0; k < n; ++k) rows.push_back(k);
      const auto path = folder.file("a.mat", m.file(m.array(m.head(test::mx_sparse, {n, 1}, "A") + m.int32s(rows) +
                                                            m.int32s({0, n}) + m.element(type, stored))));
      SCOPED_TRACE(type);
      const auto wide = read_coo<double>(path);
      const auto narrow = read_coo<float>(path);
      EXPECT_EQ(test::raw(std::vector<double>(wide.view().values.begin(), wide.view().values.end())),
                test::raw(wanted));
      EXPECT_EQ(test::raw(std::vector<float>(narrow.view().values.begin(), narrow.view().values.end())),
                test::raw(wanted_fp32));
    };
    expect(test::mi_int8, m.list<std::int8_t>({-128, 127}), {-128, 127}, {-128, 127});
    expect(test::mi_uint8, m.list<std::uint8_t>({255, 0}), {255, 0}, {255, 0});
    expect(test::mi_int16, m.list<std::int16_t>({-32768, 258}), {-32768, 258}, {-32768, 258});
    expect(test::mi_uint16, m.list<std::uint16_t>({65535, 258}), {65535, 258}, {65535, 258});
    expect(test::mi_int32, m.list<std::int32_t>({16777217, -1}), {16777217, -1}, {0x1p24f, -1});
    expect(test::mi_uint32, m.list<std::uint32_t>({4294967295u}), {4294967295.0}, {0x1p32f});
    expect(test::mi_int64, m.list<std::int64_t>({-9007199254740993}), {-0x1p53}, {-0x1p53f});
    expect(test::mi_uint64, m.list<std::uint64_t>({18446744073709551615u}), {0x1p64}, {0x1p64f});
    expect(test::mi_single, m.list<float>({-0.1f, 1e-45f, -0.0f}), {-0.1f, 1e-45f, -0.0}, {-0.1f, 1e-45f, -0.0f});
    expect(test::mi_double, m.list<double>({-0.1, 1e-300, -0.0, HUGE_VAL}), {-0.1, 1e-300, -0.0, HUGE_VAL},
           {-0.1f, 0, -0.0f, HUGE_VALF});
  }
}

/// The whole battery, plain and compressed, written by the test.
TEST(MatBattery, IsReadBitEqual) {
  const temporary_folder folder;
  const mat_maker m;
  for (const test::sparse_case& c : test::battery(test::values::real)) {
    SCOPED_TRACE(c.name);
    std::vector<std::int32_t> ir, jc{0};
    std::vector<double> pr;
    for (std::int64_t col = 0; col < c.cols; ++col) {
      // Rows in descending order, which MATLAB does not write.
      for (auto e = c.entries.rbegin(); e != c.entries.rend(); ++e) {
        if (e->col != col) continue;
        ir.push_back(static_cast<std::int32_t>(e->row));
        pr.push_back(e->value);
      }
      jc.push_back(static_cast<std::int32_t>(ir.size()));
    }
    const std::string variable =
        m.sparse("A", {static_cast<std::int32_t>(c.rows), static_cast<std::int32_t>(c.cols)}, ir, jc, pr);
    for (const std::string& stored : {variable, m.compressed(variable)}) {
      const auto a = read_csr<double, std::int64_t>(folder.file("a.mat", m.file(stored)));
      const auto wanted = test::csr_of<double, std::int64_t>(c);
      EXPECT_EQ(a.rows(), c.rows);
      EXPECT_EQ(a.cols(), c.cols);
      EXPECT_TRUE(std::ranges::equal(a.view().row_ptr, wanted.view().row_ptr));
      EXPECT_TRUE(std::ranges::equal(a.view().col_ind, wanted.view().col_ind));
      EXPECT_EQ(test::raw(std::vector<double>(a.view().values.begin(), a.view().values.end())),
                test::raw(std::vector<double>(wanted.view().values.begin(), wanted.view().values.end())));
    }
  }
}

// --- Which variable -------------------------------------------------------------------------------------------------

struct undecided {
  std::string name;
  std::filesystem::path path;
  std::string member;
  errc code;
  std::vector<std::string> named;  ///< what the message must name
};
void PrintTo(const undecided& file, std::ostream* out) { *out << file.name; }

std::vector<undecided> undecided_files() {
  return {
    {"several", fixture("several.mat"), "", errc::invalid_argument, {"A (4x6 sparse)", "B (6x4", "C.inner"}},
        {"none",
         fixture("dense.mat"),
         "",
         errc::unsupported,
         {"A (4x6 double)", "I (4x6 int16)", "cube (2x2x2 double)"}},
        {"absent", fixture("several.mat"), "D", errc::invalid_argument, {"'D'", "A (", "B (", "C.inner", "text ("}},
        {"absent_field", fixture("problem.mat"), "Problem.B", errc::invalid_argument, {"Problem.A", "Problem.aux.G"}},
        {"a_beginning_of_a_name", fixture("problem.mat"), "Prob", errc::invalid_argument, {"Problem.A"}},
        {"a_struct", fixture("problem.mat"), "Problem", errc::invalid_argument, {"Problem.A"}},
        {"text", fixture("several.mat"), "text", errc::unsupported, {"'text'", "char"}},
        {"three_dimensions", fixture("dense.mat"), "cube", errc::unsupported, {"2x2x2 double"}},
        {"objects", fixture("matlab_objects.mat"), "", errc::unsupported, {"testobject (1x1 object)"}},
        {"functions", fixture("matlab_functions.mat"), "", errc::unsupported, {"sqr (1x1 function_handle)"}},
        {"level_4", fixture("matlab_level_4.mat"), "", errc::unsupported, {"MATLAB 4", "-v7"}},
        {"short_level_4", fixture("matlab_level_4_short.mat"), "", errc::unsupported, {"MATLAB 4", "-v7"}},
#if BCSC_WITH_HDF5
        {"level_7_3", fixture("matlab_v7_3.mat"), "", errc::unsupported, {"testdouble (1x9 double)"}},
        {"absent_among_bad_ones", fixture("v7_3_bad.mat.gz"), "A", errc::invalid_argument, {"bomb (4096x4096 double)"}},
        {"absent_in_hdf5",
         fixture("v7_3.mat.gz"),
         "Problem.B",
         errc::invalid_argument,
         {"'Problem.B'", "Problem.A (4x6 sparse)"}},
        {"in_another_file",
         fixture("v7_3.mat.gz"),
         "Problem.elsewhere",
         errc::invalid_argument,
         {"Problem.aux.dense (4x6 int16)"}},
        {"text_in_hdf5", fixture("v7_3.mat.gz"), "Problem.aux.text", errc::unsupported, {"1x2 char"}},
#else
        {"level_7_3", fixture("matlab_v7_3.mat"), "", errc::unsupported, {"MATLAB 7.3", "-v7"}},
        {"level_7_3_in_gzip", fixture("v7_3.mat.gz"), "Problem.A", errc::unsupported, {"MATLAB 7.3", "-v7"}},
#endif
  };
}

class UndecidedMat : public testing::TestWithParam<undecided> {};

TEST_P(UndecidedMat, IsRefusedInWordsThatHelp) {
  const undecided& file = GetParam();
  read_options options;
  options.member = file.member;
  for (const bool header_only : {true, false}) {
    try {
      if (header_only) {
        read_file_info(file.path, options);
      } else {
        read_coo<double>(file.path, options);
      }
      FAIL() << "was accepted";
    } catch (const error& caught) {
      EXPECT_EQ(to_string(caught.code()), to_string(file.code)) << caught.what();
      EXPECT_EQ(caught.where().path, file.path.string());
      for (const std::string& word : file.named) {
        EXPECT_NE(std::string(caught.what()).find(word), std::string::npos) << word << " in: " << caught.what();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, UndecidedMat, testing::ValuesIn(undecided_files()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bcsc
