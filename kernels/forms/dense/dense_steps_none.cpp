#include "converters/formats/no_cuda.hpp"
#include "kernels/forms/dense/dense_steps.hpp"

/// A build without CUDA: there is no device matrix to work on.
namespace bcsc::forms::steps {

void fill_dense(const dense_job&, int) { converters::no_cuda(); }
void split_dense(const halves_job&) { converters::no_cuda(); }

}  // namespace bcsc::forms::steps
