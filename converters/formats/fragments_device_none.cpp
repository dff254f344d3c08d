#include <string>

#include "converters/formats/fragments_steps.hpp"

/// A build without CUDA: there is no device matrix to work on.
namespace bcsc::converters::steps {

namespace {

[[noreturn]] void no_cuda() {
  std::string why;
  const errc code = core::gpu::assess_absence(core::gpu::this_platform(), why);
  throw error(code, why);
}

}  // namespace

planned_fragments plan_fragments(int, const fragments_job&) { no_cuda(); }
void fill_fragments(const fragments_job&, const planned_fragments&, const fragments_arrays&) { no_cuda(); }
void add_pattern_hash(const fragments_job&, unsigned long long*) { no_cuda(); }

}  // namespace bcsc::converters::steps
