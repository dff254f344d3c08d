#include "converters/formats/device_loops.cuh"
#include "core/launch.cuh"
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

void split_dense(const halves_job& job) {
  if (job.rows == 0) return;
  constexpr std::int64_t warps = threads_to_split / 32;
  core::gpu::check_launch(
      core::start(&split_rows_kernel, (job.rows + warps - 1) / warps, threads_to_split, 0, nullptr, job),
      "splitting A into halves");
}

}  // namespace bcsc::forms::steps
