#include <optional>
#include <string>

#include "bcsc/registry.hpp"
#include "core/memory.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/description.hpp"

namespace bcsc::cli {
namespace {

struct kernels_options : output_options {
  std::optional<backend> where;
  std::optional<value_type> type;
  std::string algorithm;
};

bool wanted(const kernel_info& kernel, const kernels_options& options) {
  return (!options.where || *options.where == kernel.where) && (!options.type || *options.type == kernel.type) &&
         (options.algorithm.empty() || options.algorithm == kernel.algorithm);
}

int run_kernels(const kernels_options& options, output& out) {
  out.json() = {{"command", "kernels"}, {"kernels", nlohmann::ordered_json::array()}};
  table shown({"name", "where", "type", "m_tile", "n_tile", "threads", "shared", "index", "bit-equal", "stored only",
               "batches", "built"});
  std::int64_t count = 0;
  for (const kernel_info& kernel : kernel_table()) {
    if (!wanted(kernel, options)) continue;
    ++count;
    shown.add({kernel.name, std::string(to_string(kernel.where)), std::string(to_string(kernel.type)),
               std::to_string(kernel.m_tile), std::to_string(kernel.n_tile), std::to_string(kernel.threads),
               core::bytes_text(kernel.shared_bytes), std::to_string(kernel.index_bits),
               kernel.deterministic ? "yes" : "no", kernel.stored_entries_only ? "yes" : "no",
               kernel.batches ? "yes" : "no", kernel.built ? "yes" : "no"});
    out.json()["kernels"].push_back({{"name", kernel.name},
                                     {"algorithm", kernel.algorithm},
                                     {"where", to_string(kernel.where)},
                                     {"type", to_string(kernel.type)},
                                     {"m_tile", kernel.m_tile},
                                     {"n_tile", kernel.n_tile},
                                     {"threads", kernel.threads},
                                     {"shared_bytes", kernel.shared_bytes},
                                     {"index_bits", kernel.index_bits},
                                     {"deterministic", kernel.deterministic},
                                     {"stored_entries_only", kernel.stored_entries_only},
                                     {"batches", kernel.batches},
                                     {"compute_capability", kernel.compute_capability},
                                     {"built", kernel.built}});
  }
  shown.print(out);
  out.line("{} kernels", count);
  return exit_ok;
}

}  // namespace

command add_kernels(CLI::App& app) {
  auto [cmd, options] = make_command<kernels_options>(app, "kernels", "List every kernel",
                                                      "  bcsc kernels\n"
                                                      "  bcsc kernels --device cuda --type fp64 --algorithm tiled",
                                                      run_kernels);
  add_choice<std::optional<backend>>(*cmd.parser, "--device", options->where,
                                     {{"cpu", backend::cpu}, {"cuda", backend::cuda}}, "Only those of one backend");
  add_choice<std::optional<value_type>>(
      *cmd.parser, "--type", options->type,
      {{"fp32", value_type::fp32}, {"fp64", value_type::fp64}, {"fp16", value_type::fp16}, {"bf16", value_type::bf16}},
      "Only those of one value type");
  cmd.parser->add_option("--algorithm", options->algorithm, "Only those of one algorithm (see the names)")
      ->type_name("ALGORITHM")
      ->check(known("algorithm", [] { return kernel_words(false); }));
  return cmd;
}

}  // namespace bcsc::cli
