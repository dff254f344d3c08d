#include "converters/formats/device_loops.cuh"
#include "kernels/forms/dense/dense_kernels.cuh"

namespace bcsc::forms::steps {

void fill_dense(const dense_job& job, int value_bytes) {
  using converters::steps::for_each;
  const std::int64_t words = job.rows * job.row_words;
  if (value_bytes == 2) {
    for_each(words, dense_word_body<std::uint16_t>{job}, "making A dense");
  } else if (value_bytes == 4) {
    for_each(words, dense_word_body<std::uint32_t>{job}, "making A dense");
  } else {
    for_each(words, dense_word_body<std::uint64_t>{job}, "making A dense");
  }
}

}  // namespace bcsc::forms::steps
