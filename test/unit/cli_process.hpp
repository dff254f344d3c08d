#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

/// The program as its users see it: a process with arguments, an exit code and two streams.
namespace bcsc::test::cli {

/// A folder of this process, removed when it ends.
inline const std::filesystem::path& scratch() {
  struct folder {
    folder() {
      std::string name = testing::TempDir() + "bcsc-cli-XXXXXX";
      if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
      path = name;
    }
    ~folder() { std::filesystem::remove_all(path); }
    std::filesystem::path path;
  };
  static const folder made;
  return made.path;
}

inline std::string in_scratch(const std::string& name) { return (scratch() / name).string(); }

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string write_file(const std::string& name, const std::string& text) {
  std::ofstream(scratch() / name, std::ios::binary) << text;
  return in_scratch(name);
}

struct outcome {
  int code = -1;
  std::string out, err;
};

/// What a shell does with a command line.
inline outcome shell_run(const std::string& command) {
  const std::string errors = in_scratch("stderr.txt");
  FILE* pipe = popen(("{ " + command + "\n} 2>" + errors + " </dev/null").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start the program");
  outcome result;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.out.append(buffer, n);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.err = contents(errors);
  return result;
}

inline outcome bcsc_run(const std::string& arguments) { return shell_run(std::string(BCSC_CLI) + " " + arguments); }

/// Runs with --json and expects one object on stdout, nothing on stderr.
inline nlohmann::json bcsc_json(const std::string& arguments, int code = 0) {
  const outcome result = bcsc_run(arguments + " --json");
  EXPECT_EQ(result.code, code) << arguments << "\n" << result.err;
  EXPECT_EQ(result.err, "") << arguments;
  nlohmann::json parsed = nlohmann::json::parse(result.out, nullptr, false);
  EXPECT_TRUE(parsed.is_object()) << result.out;
  return parsed;
}

/// The same for a command that fails: {"error": ...}, and the reason on stderr.
inline nlohmann::json bcsc_json_of_failure(const std::string& arguments, int code = 1) {
  const outcome result = bcsc_run(arguments + " --json");
  EXPECT_EQ(result.code, code) << arguments;
  nlohmann::json parsed = nlohmann::json::parse(result.out, nullptr, false);
  EXPECT_TRUE(parsed.is_object()) << result.out;
  return parsed;
}

}  // namespace bcsc::test::cli
