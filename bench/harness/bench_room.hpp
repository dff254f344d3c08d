#pragma once

#include <memory>
#include <string_view>

#include "bcsc/context.hpp"
#include "bench/harness/bench.hpp"
#include "bench/harness/contender.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/stage.hpp"

namespace bcsc::bench {

/// What all cases of a run share.
struct bench_room {
  bench_room(const context& c, const bench_options& o);

  /// What comes next: `of_case` of the present case is behind.
  void say(std::string_view next, double of_case = 0) const;

  context ctx;
  const bench_options& options;
  std::unique_ptr<stage> where;
  std::unique_ptr<rivals> others;  ///< null: none in this build
  machine_facts machine;
  double done = 0;        ///< share of all cases that are behind
  double case_share = 0;  ///< what one case is of all
};

}  // namespace bcsc::bench
