#include "converters/formats/fragments_steps.hpp"
#include "converters/formats/no_cuda.hpp"

/// A build without CUDA: there is no device matrix to work on.
namespace bcsc::converters::steps {

planned_fragments plan_fragments(int, const fragments_job&) { no_cuda(); }
void fill_fragments(const fragments_job&, const planned_fragments&, const fragments_arrays&) { no_cuda(); }
void add_pattern_hash(const fragments_job&, unsigned long long*) { no_cuda(); }

}  // namespace bcsc::converters::steps
