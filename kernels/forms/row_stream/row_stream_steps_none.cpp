#include "converters/formats/no_cuda.hpp"
#include "kernels/forms/row_stream/row_stream_steps.hpp"

/// A build without CUDA: there is no device matrix to work on.
namespace bcsc::forms::steps {

using converters::no_cuda;

ordered_rows order_rows(int, const row_stream_job&) { no_cuda(); }
void fill_stream(int, const row_stream_job&, const ordered_rows&, const stream_arrays&) { no_cuda(); }
void rename_rows(row_piece*, std::int64_t, const std::int32_t*) { no_cuda(); }

}  // namespace bcsc::forms::steps
