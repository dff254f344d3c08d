#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bcsc/files.hpp"
#include "bcsc/generate.hpp"
#include "converters/files/tar.hpp"
#include "test/unit/mat_support.hpp"
#include "test/unit/matrix_market_support.hpp"

/// One matrix as a file of each format that is read, for tests of what all readers have in common.
namespace bcsc::test {

/// The kinds of file, as file names that differ in their endings.
inline std::vector<std::string> sample_names() {
  std::vector<std::string> names{"a.mtx", "a.mtx.gz", "a.rb",       "a.smtx",       "a.libsvm",
                                 "a.el",  "a.el.gz",  "stored.mat", "deflated.mat", "a.bcsc.gz"};
  if (files::can_read_tar()) names.insert(names.end(), {"a.tar", "a.tar.gz", "a.npz", "a.npz.gz"});
  return names;
}

inline csr_matrix<double> sample(std::int64_t size) { return generate::uniform<double>(size, size, 0.9, 1); }

inline std::string level_5_file(const csr_matrix<double>& a, bool compressed) {
  // Column by column: the matrix's transpose serves as well.
  const auto v = a.view();
  const mat_maker make;
  const std::string variable = make.sparse(
      "A", {static_cast<std::int32_t>(a.cols()), static_cast<std::int32_t>(a.rows())},
      {v.col_ind.begin(), v.col_ind.end()}, {v.row_ptr.begin(), v.row_ptr.end()}, {v.values.begin(), v.values.end()});
  return make.file(compressed ? make.compressed(variable) : variable);
}

/// Writes it as `name` into the folder.
inline std::filesystem::path write_sample(const temporary_folder& folder, const std::string& name,
                                          const csr_matrix<double>& a) {
  const auto path = folder.path() / name;
  const auto text = [&] {
    write_matrix(folder.path() / "member.mtx", a.view());
    return tarred({{"a/a.mtx", bytes_of(folder.path() / "member.mtx")}});
  };
  if (name.ends_with(".mat")) return folder.file(name, level_5_file(a, name == "deflated.mat"));
  if (name == "a.tar") return folder.file(name, text());
  if (name == "a.tar.gz") return folder.file(name, gzipped(text()));
  if (name == "a.npz.gz") {
    write_npz(folder.path() / "inner.npz", a, false);
    return folder.file(name, gzipped(bytes_of(folder.path() / "inner.npz")));
  }
  write_matrix(path, a.view());
  return path;
}

/// For names of parameterised tests.
inline std::string as_identifier(std::string name) {
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

}  // namespace bcsc::test
