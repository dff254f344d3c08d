// Where the pointers that are not A's lie in product_args, a line for each form of A and size of its scalars: what
// early_reads_test.py looks for in the constant bank.
#include <cstddef>
#include <cstdio>
#include <optional>

#include "kernels/forms/block_slices/operand.hpp"
#include "kernels/forms/bricks/operand.hpp"
#include "kernels/forms/fma_tiles/operand.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"
#include "kernels/forms/row_stream/operand.hpp"

namespace {

template <class T, class Operand>
void print(const char* operand, std::optional<std::size_t> workspace = {}) {
  using args = bcsc::kernels::product_args<T, Operand>;
  std::printf("%s %zu b=%zu c=%zu alpha_at=%zu beta_at=%zu", operand, sizeof(bcsc::scalar_of<T>), offsetof(args, b),
              offsetof(args, c), offsetof(args, alpha_at), offsetof(args, beta_at));
  if (workspace) std::printf(" workspace=%zu", offsetof(args, a) + *workspace);
  std::printf("\n");
}

template <class T>
void print_all() {
  using namespace bcsc::kernels;
  print<T, block_slices_operand<T>>("block_slices_operand");
  print<T, fma_tiles_operand<T>>("fma_tiles_operand");
  print<T, bricks_operand<T>>("bricks_operand", offsetof(bricks_operand<T>, workspace));
  print<T, row_stream_operand<T>>("row_stream_operand", offsetof(row_stream_operand<T>, workspace));
  print<T, mma_tiles_operand<T>>("mma_tiles_operand", offsetof(mma_tiles_operand<T>, partial));
}

}  // namespace

int main() {
  print_all<float>();
  print_all<double>();
}
