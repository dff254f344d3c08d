#include "tools/bcsc/bench_options.hpp"

#include <string>
#include <vector>

#include "tools/bcsc/usage.hpp"

namespace bcsc::cli {

command add_bench(CLI::App& app, int (*run)(const bench_command_options&, output&)) {
  auto [cmd, options] = make_command<bench_command_options>(
      app, "bench",
      "Time the kernels on your matrices beside cuSPARSE and cuBLAS (GPU) or Eigen (CPU), each result checked first",
      "  bcsc bench bcsstk17.mtx.gz\n"
      "  bcsc bench elasticity:30,30,30 rmat:17,16,seed=1 --cols 8,128 --type fp32,fp64 --thorough\n"
      "  bcsc bench folder/of/matrices --out results.json\n"
      "  bcsc bench catalogue --full --layout col\n"
      "  bcsc bench rmat:17,16,seed=1 --kernel rowwise,tiled --warm-only",
      run);
  CLI::App& parser = *cmd.parser;
  bench::bench_options& measured = options->measured;
  parser
      .add_option("MATRIX", measured.matrices,
                  "Matrix files ('-': standard input), folders of Matrix Market files, generator specifications, names "
                  "of the catalogue, or 'catalogue'")
      ->required();
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
  parser.add_option("--out", measured.out, "JSON file; compressed above 2 MiB")->type_name("FILE");
  return cmd;
}

}  // namespace bcsc::cli
