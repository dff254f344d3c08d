#include "converters/formats/no_cuda.hpp"
#include "kernels/forms/bricks/bricks_steps.hpp"

/// A build without CUDA: there is no device matrix to work on.
namespace bcsc::forms::steps {

using converters::no_cuda;

planned_bricks plan_bricks(int, const bricks_job&) { no_cuda(); }
void fill_bricks(const bricks_job&, const planned_bricks&, const bricks_arrays&) { no_cuda(); }

}  // namespace bcsc::forms::steps
