#include "bench/harness/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "bcsc/registry.hpp"
#include "bench/harness/report.hpp"
#include "core/new_file.hpp"

namespace bcsc::bench {

place open_place(const std::string& device) {
  place here{device == "cuda" ? context::cuda() : context::cpu(), nullptr, {}};
  here.where = make_stage(here.ctx);
  here.machine = describe_machine(here.ctx);
  here.where->describe(here.machine);
  return here;
}

std::vector<std::string> multiplied_types(backend where) {
  std::vector<std::string> names;
  for (const value_type type : all_value_types) {
    const auto configs = kernel_table(where, type);
    if (std::ranges::any_of(configs, &kernel_info::built)) names.emplace_back(to_string(type));
  }
  return names;
}

int run_program(const std::string& name, const std::function<int()>& body) {
  try {
    return body();
  } catch (const error& e) {
    if (e.code() == errc::no_device) {
      fmt::print("{}: skipped: {}\n", name, e.what());
      return exit_skipped;
    }
    fmt::print(stderr, "{}: {}\n", name, e.what());
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: {}\n", name, e.what());
  }
  return exit_error;
}

results_file::results_file(std::string_view schema, const machine_facts& machine, std::string path)
    : document(begin_document(schema, machine)), path_(std::move(path)) {
  document["left_out"] = json::array();
}

double results_file::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void results_file::leave_out(std::string what) {
  fmt::print("left out: {}\n", what);
  document["left_out"].push_back(std::move(what));
}

std::filesystem::path results_file::write() {
  document["seconds"] = seconds();
  return write_text(text_of(document), path_);
}

void results_file::for_each_matrix(const std::vector<std::string>& matrices, std::uint64_t seed, double max_seconds,
                                   const std::function<void(const loaded_matrix&)>& body) {
  for (const input& from : expand_inputs(matrices)) {
    if (seconds() > max_seconds) {
      leave_out(from.name + ": the time is over");
      continue;
    }
    std::string why;
    const auto matrix = load_or_pass_over(from, seed, why);
    if (!matrix) {
      leave_out(from.name + ": " + why);
      continue;
    }
    body(*matrix);
    if (!core::is_written_directly(path_)) write();
  }
}

bool is_fatal(const error& e) { return e.code() == errc::context_poisoned || e.code() == errc::cuda_error; }

}  // namespace bcsc::bench
