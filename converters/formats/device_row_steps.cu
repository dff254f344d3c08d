#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_scan.cuh>

#include "converters/formats/device_loops.cuh"
#include "converters/formats/device_rows.cuh"

/// Rows in another order.
namespace bcsc::converters::steps {

void move_pointers(int device, const row_moves& moves) {
  const auto lengths = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), moved_length{moves});
  with_cub(
      device,
      [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(temporary, bytes, lengths, moves.to, moves.rows + 1);
      },
      "pointers of rows in another order");
}

void move_entries(const row_moves& moves, const std::int32_t* cols, const void* values, int bytes,
                  std::int32_t* cols_out, void* values_out) {
  with_size(bytes, [&]<class X>(X) {
    for_each(moves.nnz, move_body<X>{moves, cols, static_cast<const X*>(values), cols_out, static_cast<X*>(values_out)},
             "entries of rows in another order");
  });
}

}  // namespace bcsc::converters::steps
