#pragma once

#include <string>
#include <vector>

#include "bench/harness/bench.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/input.hpp"

namespace bcsc::cli {

struct bench_command_options : output_options {
  device_options device;
  std::vector<std::string> types = {"fp32"};
  bool warm_only = false;
  const CLI::Option* cols = nullptr;  ///< whether it was given
  bench::bench_options measured;
  std::string report;                ///< folder; empty: none
  std::vector<std::string> results;  ///< results to report instead of measuring
  std::vector<std::string> compare;  ///< two results: before, after
  std::string suite;                 ///< one of bench::suites()
  std::string suite_files;           ///< folder of the collection's matrices
  bool quick = false;
};

/// `bcsc` describes the command, `bcsc-bench` runs it as well.
command add_bench(CLI::App& app, int (*run)(const bench_command_options&, output&));
int run_bench_command(const bench_command_options& options, output& out);

}  // namespace bcsc::cli
