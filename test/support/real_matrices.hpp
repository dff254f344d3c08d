// The real matrices (not part of the repository), by their names in the index; and how much of them a test takes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "bcsc/files.hpp"
#include "test/support/paths.hpp"

namespace bcsc::test {

/// The names in the index for which there is a Matrix Market file; none without the folder.
inline std::vector<std::string> real_matrix_names() {
  std::vector<std::string> names;
  const auto folder = matrices_folder();
  if (!folder) return names;
  std::ifstream index(*folder / "index.csv");
  std::string line;
  std::getline(index, line);
  while (std::getline(index, line)) {
    const std::string name = line.substr(0, line.find(','));
    if (std::filesystem::exists(*folder / (name + ".mtx.gz"))) names.push_back(name);
  }
  return names;
}

/// A name of the index in the form that GoogleTest allows.
inline std::string real_matrix_test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

/// How a matrix of the index is read: real parts of complex numbers, and numbers for a pattern.
inline read_options read_real_matrix_with() { return {.real_part = true, .pattern_seed = 7}; }
inline std::filesystem::path real_matrix_path(const std::string& name) {
  return *matrices_folder() / (name + ".mtx.gz");
}

/// What a format with padding may take of a real matrix, in bytes: 16 MiB, or as many as BCSC_ROUNDTRIP_MIB says.
inline std::int64_t padded_limit() {
  const char* named = std::getenv("BCSC_ROUNDTRIP_MIB");
  return (named != nullptr ? std::atoll(named) : 16) << 20;
}

/// Whether a real matrix is tested in every run; the larger ones take minutes, and BCSC_ROUNDTRIP_ALL=1 asks for them.
inline bool is_for_every_run(std::size_t entries) {
  return entries <= 20000 || std::getenv("BCSC_ROUNDTRIP_ALL") != nullptr;
}

}  // namespace bcsc::test
