#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

/// Options that the measuring programs have in common.
namespace bcsc::bench {

inline void add_matrices(CLI::App& app, std::vector<std::string>& matrices) {
  app.add_option("MATRIX", matrices, "Files, folders, manifests, names of the catalogue, specifications")->required();
}

inline void add_device(CLI::App& app, std::string& device) {
  app.add_option("--device", device, "Where")->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
}

/// One argument of values separated by commas, so that what follows may be a positional argument.
template <class T>
CLI::Option* add_list(CLI::App& app, const char* name, std::vector<T>& values, const char* description,
                      const CLI::Validator& valid) {
  return app.add_option(name, values, description)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(valid)
      ->capture_default_str();
}

}  // namespace bcsc::bench
