#include "converters/formats/no_cuda.hpp"
#include "kernels/forms/fma_tiles/fma_tiles_steps.hpp"

/// A build without CUDA: there is no device matrix to work on.
namespace bcsc::forms::steps {

using converters::no_cuda;

planned_groups plan_fma_tiles(int, const column_groups_job&) { no_cuda(); }
void fill_fma_tiles(const column_groups_job&, const planned_groups&, const fma_tiles_arrays&) { no_cuda(); }

}  // namespace bcsc::forms::steps
