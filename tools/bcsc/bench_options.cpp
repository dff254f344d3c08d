#include "tools/bcsc/bench_options.hpp"

#include <string>
#include <vector>

#include "bench/harness/suites.hpp"
#include "tools/bcsc/usage.hpp"

namespace bcsc::cli {
namespace {

/// What is done besides measuring the matrices that are named.
void add_experiments(CLI::App& parser, bench_command_options& options) {
  parser
      .add_option("--report", options.report,
                  "Folder, made if need be, for report.html, a page with plots and tables, and results.json.gz")
      ->type_name("FOLDER");
  parser
      .add_option("--results", options.results,
                  "Report these results of earlier runs instead of measuring; of a case in several the last counts")
      ->type_name("FILE")
      ->delimiter(',')
      ->allow_extra_args(false);
  parser
      .add_option(
          "--compare", options.compare,
          "Two results, before and after: what has become faster or slower; exit code 3 if something of ours is "
          "slower or broken")
      ->type_name("FILE")
      ->expected(2);
  parser
      .add_option("--suite", options.suite,
                  "An experiment by name, --thorough: dnn: pruned networks; iterative: matrices of solvers")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(bench::suite_names), std::end(bench::suite_names))));
  parser
      .add_option("--suite-files", options.suite_files,
                  "Folder with matrices of the SuiteSparse collection for --suite; those that are neither there nor in "
                  "the download cache are replaced by generated ones of like size and pattern")
      ->type_name("FOLDER");
  parser.add_flag("--quick", options.quick, "Of --suite a few small matrices only");
}

/// That the line asks for one thing. Throws CLI::ParseError.
void require_one_job(const CLI::App& parser, const bench_command_options& options) {
  const bool measures = !options.measured.matrices.empty() || !options.suite.empty();
  const int jobs = int{measures} + int{!options.results.empty()} + int{!options.compare.empty()};
  if (jobs == 0) throw CLI::RequiredError("MATRIX");
  if (jobs > 1) throw CLI::ExcludesError("bench: MATRIX and --suite, --results, --compare", "each other");
  if (!options.results.empty() && options.report.empty()) throw CLI::RequiresError("--results", "--report");
  if (!options.compare.empty() && !options.report.empty()) throw CLI::ExcludesError("--compare", "--report");
  for (const char* const of_suite : {"--suite-files", "--quick"}) {
    if (options.suite.empty() && parser.count(of_suite) > 0) throw CLI::RequiresError(of_suite, "--suite");
  }
}

}  // namespace

command add_bench(CLI::App& app, int (*run)(const bench_command_options&, output&)) {
  auto [cmd, options] = make_command<bench_command_options>(
      app, "bench",
      "Time the kernels on your matrices beside cuSPARSE and cuBLAS (GPU) or Eigen (CPU), each result checked first",
      "  bcsc bench bcsstk17.mtx.gz\n"
      "  bcsc bench elasticity:30,30,30 rmat:17,16,seed=1 --cols 8,128 --type fp32,fp64 --thorough\n"
      "  bcsc bench folder/of/matrices --out results.json\n"
      "  bcsc bench catalogue --full --layout col\n"
      "  bcsc bench rmat:17,16,seed=1 --kernel rowwise,tiled --warm-only\n"
      "  bcsc bench folder/of/matrices --report my-report\n"
      "  bcsc bench --results results.json.gz --report my-report\n"
      "  bcsc bench --compare old.json new.json\n"
      "  bcsc bench --suite dnn --report dnn",
      run);
  CLI::App& parser = *cmd.parser;
  bench::bench_options& measured = options->measured;
  parser.add_option(
      "MATRIX", measured.matrices,
      "Matrix files ('-': standard input), folders of Matrix Market files, generator specifications, names "
      "of the catalogue, or 'catalogue'");
  add_reading(parser, measured.reading);
  add_device(parser, options->device);
  options->cols = parser
                      .add_option("--cols", measured.cols,
                                  "Numbers of columns of B (N); without this and --thorough as far as a matrix takes "
                                  "20 s")
                      ->delimiter(',')
                      ->allow_extra_args(false)
                      ->check(at_least(1))
                      ->capture_default_str();
  parser.add_option("--type", options->types, "Types of the values")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"fp32", "fp64", "fp16", "bf16"}))
      ->capture_default_str();
  add_choice<layout>(parser, "--layout", measured.order, {{"row", layout::row_major}, {"col", layout::col_major}},
                     "Layout of B and C");
  add_choice<compute_class>(parser, "--compute", measured.compute,
                            {{"full", compute_class::full}, {"tf32", compute_class::tf32}},
                            "tf32: the plan may round fp32 values to TF32 before it multiplies");
  parser.add_flag("--thorough", measured.thorough,
                  "Also the best config of each of our kernels, and every rival, in both layouts");
  parser.add_flag("--full", measured.full, "Like --thorough, with every config of every kernel");
  parser
      .add_option(
          "--kernel", measured.kernels,
          "Of our own these configs, or all configs of these kernels, beside the plan (see bcsc kernels); 'plan': "
          "only the plan")
      ->type_name("KERNEL")
      ->delimiter(',')
      ->allow_extra_args(false);
  parser.add_flag("--warm-only", options->warm_only,
                  "Products back to back only: none one at a time, none with a cold cache");
  parser.add_option("--seconds", measured.timing.seconds, "Target time for the samples of one entry")
      ->check(above_zero())
      ->capture_default_str();
  parser.add_option("--samples", measured.timing.min_samples, "Minimum number of samples")
      ->check(at_least(1))
      ->capture_default_str();
  parser.add_option("--seed", measured.seed, "Of B, and of the values of pattern files")->capture_default_str();
  parser.add_option("--out", measured.out, "JSON file, compressed above 2 MiB; - for standard output")
      ->type_name("FILE");
  add_experiments(parser, *options);
  parser.callback([&parser, made = options] { require_one_job(parser, *made); });
  return cmd;
}

}  // namespace bcsc::cli
