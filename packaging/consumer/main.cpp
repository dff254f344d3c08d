// A program outside of the project that uses the installed libraries: multiplies on the CPU, on the best backend and on
// the GPU, checks every result against sums made here, generates a matrix, and looks one up. Exit status 0 only if all
// is right.
#include <bcsc/bcsc.hpp>
#include <bcsc/matrices.hpp>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

namespace {

constexpr std::int64_t rows = 5, inner = 4, cols = 3;

// [ 1 0 0 2 ]
// [ 0 3 0 0 ]
// [ 0 0 0 0 ]
// [ 4 0 5 0 ]
// [ 0 6 0 7 ]
const std::vector<std::int32_t> row_ptr = {0, 2, 3, 3, 5, 7};
const std::vector<std::int32_t> col_ind = {0, 3, 1, 0, 2, 1, 3};
const std::vector<double> entries = {1, 2, 3, 4, 5, 6, 7};
const double dense_a[rows][inner] = {{1, 0, 0, 2}, {0, 3, 0, 0}, {0, 0, 0, 0}, {4, 0, 5, 0}, {0, 6, 0, 7}};

/// Whether C = 2 * A * B - C0 on `ctx` is what the dense sums say. Small integers: equal to the last bit.
bool multiplies(const bcsc::context& ctx) {
  const bcsc::csr_matrix<double> a(rows, inner, row_ptr, col_ind, entries);
  bcsc::dense_matrix<double> b(inner, cols), c(rows, cols);
  for (std::int64_t k = 0; k < inner; ++k) {
    for (std::int64_t j = 0; j < cols; ++j) b(k, j) = static_cast<double>(10 * k + j - 7);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) c(i, j) = static_cast<double>(i - j);
  }
  bcsc::spmm(ctx, a, b, c, 2.0, -1.0);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      double expected = -static_cast<double>(i - j);
      for (std::int64_t k = 0; k < inner; ++k) expected += 2.0 * dense_a[i][k] * b(k, j);
      if (c(i, j) != expected) {
        std::printf("wrong: C(%d, %d) = %g, expected %g\n", static_cast<int>(i), static_cast<int>(j), c(i, j),
                    expected);
        return false;
      }
    }
  }
  return true;
}

bool right_on(const bcsc::context& ctx) {
  const bool right = multiplies(ctx);
  std::printf("%s: %s\n", ctx.describe().c_str(), right ? "right" : "WRONG");
  return right;
}

bool has_usable_gpu() {
  for (const bcsc::device_info& device : bcsc::devices()) {
    if (device.usable) return true;
  }
  return false;
}

/// With a GPU: it multiplies. Without: asking for one is an error that says what is missing.
bool gpu_works_or_says_why() {
  try {
    const bcsc::context gpu = bcsc::context::cuda();
    return has_usable_gpu() && gpu.kind() == bcsc::backend::cuda && right_on(gpu);
  } catch (const bcsc::error& problem) {
    const bool named = problem.code() == bcsc::errc::no_device || problem.code() == bcsc::errc::driver_too_old ||
                       problem.code() == bcsc::errc::device_too_old;
    std::printf("cuda: %s: %s\n", std::string(bcsc::to_string(problem.code())).c_str(), problem.what());
    return named && !has_usable_gpu() && !std::string_view(problem.what()).empty();
  }
}

/// Of the second library, and its error caught by the type that the first one exports.
bool has_matrices() {
  const auto a = bcsc::generate::stencil<double>(5, 3, 2);
  bool refused = false;
  try {
    (void)bcsc::generate::stencil<double>(6, 3, 2);
  } catch (const bcsc::error& problem) {
    refused = problem.code() == bcsc::errc::invalid_argument;
  }
  return a.rows() == 6 && a.nnz() == 20 && refused && bcsc::suitesparse::find("HB/bcsstk16").rows == 4884;
}

}  // namespace

int main() {
  std::printf("bcsc %s\n", bcsc::version);
  const bcsc::context best = bcsc::context::best();
  const bool right = has_matrices() && right_on(bcsc::context::cpu(1)) && right_on(best) && gpu_works_or_says_why();
  const bool best_is_gpu = best.kind() == bcsc::backend::cuda;
  return right && best_is_gpu == has_usable_gpu() ? 0 : 1;
}
