#include "converters/formats/no_cuda.hpp"
#include "kernels/forms/block_slices/block_slices_steps.hpp"

/// A build without CUDA: there is no device matrix to work on.
namespace bcsc::forms::steps {

using converters::no_cuda;

planned_block_slices plan_block_slices(int, const block_slices_job&) { no_cuda(); }
void fill_block_slices(int, const block_slices_job&, const planned_block_slices&, const block_slices_arrays&) {
  no_cuda();
}

}  // namespace bcsc::forms::steps
