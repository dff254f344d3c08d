#include "converters/formats/no_cuda.hpp"
#include "converters/formats/rows_stream_steps.hpp"

/// A build without CUDA: there is no device matrix to work on.
namespace bcsc::converters::steps {

ordered_rows order_rows(int, const rows_job&) { no_cuda(); }
void fill_stream(int, const rows_job&, const ordered_rows&, const stream_arrays&) { no_cuda(); }
void rename_rows(core::row_piece*, std::int64_t, const std::int32_t*) { no_cuda(); }
bool same_pieces(int, const core::row_piece*, const core::row_piece*, std::int64_t, const void*, const void*,
                 std::int64_t, int) {
  no_cuda();
}

}  // namespace bcsc::converters::steps
