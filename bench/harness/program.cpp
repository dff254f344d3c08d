#include "bench/harness/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "bcsc/registry.hpp"

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
    const auto rows = kernel_table(where, type);
    if (std::ranges::any_of(rows, &kernel_info::built)) names.emplace_back(to_string(type));
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

bool is_fatal(const error& e) { return e.code() == errc::context_poisoned || e.code() == errc::cuda_error; }

}  // namespace bcsc::bench
