#include "converters/formats/no_cuda.hpp"
#include "kernels/forms/mma_tiles/mma_tiles_steps.hpp"

/// A build without CUDA: there is no device matrix to work on.
namespace bcsc::forms::steps {

using converters::no_cuda;

planned_groups plan_mma_tiles(int, const column_groups_job&) { no_cuda(); }
void fill_mma_tiles(const column_groups_job&, const planned_groups&, const mma_tiles_arrays&) { no_cuda(); }

}  // namespace bcsc::forms::steps
