#include "lib/plan/run_checks.hpp"

#include <utility>

#include "core/checked.hpp"
#include "core/fail.hpp"

namespace bcsc::plan {

namespace {

/// Member k of a batch.
template <class T>
dense_view<T> member(dense_view<T> x, std::int64_t k, std::int64_t stride) {
  x.data += k * stride;
  return x;
}

/// Elements from the first to one past the last.
template <class T>
std::int64_t extent(const dense_view<T>& x) {
  if (x.rows == 0 || x.cols == 0) return 0;
  const bool by_rows = x.order == layout::row_major;
  return ((by_rows ? x.rows : x.cols) - 1) * x.ld + (by_rows ? x.cols : x.rows);
}

/// Elements from the first member's first to one past the last member's last, where their addresses fit 63 bits.
template <class T>
std::int64_t batch_extent(const dense_view<T>& x, std::int64_t count, std::int64_t stride, const char* name) {
  std::int64_t elements = 0, bytes = 0, end = 0;
  if (__builtin_mul_overflow(count - 1, stride, &elements) || __builtin_add_overflow(elements, extent(x), &elements) ||
      __builtin_mul_overflow(elements, static_cast<std::int64_t>(sizeof(T)), &bytes) ||
      __builtin_add_overflow(reinterpret_cast<std::intptr_t>(x.data), bytes, &end)) {
    core::fail(errc::size_overflow, "batch.{} = {} with batch.count = {}: larger than any memory", name, stride, count);
  }
  return elements;
}

}  // namespace

template <class T>
void check_view(const dense_view<T>& x, const char* name) {
  if (x.rows < 0 || x.cols < 0) core::fail(errc::invalid_argument, "{}: {} x {} is no shape", name, x.rows, x.cols);
  const std::int64_t least = std::max<std::int64_t>(1, x.order == layout::row_major ? x.cols : x.rows);
  if (x.ld < least) {
    core::fail(errc::bad_leading_dimension, "{}.ld = {}: a {} matrix of {} x {} needs at least {}", name, x.ld,
               to_string(x.order), x.rows, x.cols, least);
  }
  const std::int64_t lines = x.order == layout::row_major ? x.rows : x.cols;
  (void)core::checked_product(core::checked_product(lines, x.ld, name), sizeof(T), name);
}

template <number T>
bool overlap(const dense_view<const T>& b, const dense_view<const T>& c) {
  const auto b_first = reinterpret_cast<std::intptr_t>(b.data), c_first = reinterpret_cast<std::intptr_t>(c.data);
  const std::intptr_t size = sizeof(T);
  if (extent(b) == 0 || extent(c) == 0) return false;
  if (b_first + extent(b) * size <= c_first || c_first + extent(c) * size <= b_first) return false;
  const std::intptr_t apart = c_first - b_first;
  if (b.order != c.order || b.ld != c.ld || apart % size != 0) return true;
  // Both are column ranges (row ranges, if column-major) of one array with lines of ld elements: C's starts `offset`
  // elements behind B's in every line.
  const std::int64_t width_b = b.order == layout::row_major ? b.cols : b.rows;
  const std::int64_t width_c = c.order == layout::row_major ? c.cols : c.rows;
  const std::int64_t offset = ((apart / size) % b.ld + b.ld) % b.ld;
  return offset < width_b || offset + width_c > b.ld;
}

template <number T>
void check_operands(std::int64_t rows, std::int64_t inner, const dense_view<const T>& b, const dense_view<T>& c,
                    layout planned_b_layout, bool reads_b) {
  check_view(b, "B");
  check_view(c, "C");
  if (b.rows != inner || c.rows != rows || b.cols != c.cols) {
    core::fail(errc::size_mismatch, "op(A) is {} x {}, B is {} x {}, C is {} x {}: C = op(A) * B does not fit", rows,
               inner, b.rows, b.cols, c.rows, c.cols);
  }
  if (b.order != planned_b_layout) {
    core::fail(errc::layout_mismatch, "B is {}, the plan was made for plan_options::b_layout = {}", to_string(b.order),
               to_string(planned_b_layout));
  }
  if (rows > 0 && c.cols > 0 && c.data == nullptr) core::fail(errc::invalid_argument, "C.data is null");
  if (reads_b && extent(b) > 0 && b.data == nullptr) core::fail(errc::invalid_argument, "B.data is null");
  if (overlap<T>(b, c)) core::fail(errc::overlapping_operands, "B and C share memory");
}

template <number T>
void check_batch(const dense_view<const T>& b, const dense_view<const T>& c, const strided_batch& batch) {
  const auto [count, b_stride, c_stride] = batch;
  for (const auto& [number, name] : {std::pair(count, "count"), {b_stride, "b_stride"}, {c_stride, "c_stride"}}) {
    if (number < 0) core::fail(errc::invalid_argument, "batch.{} = {}: must not be negative", name, number);
  }
  if (count < 2) return;
  const std::int64_t size = sizeof(T), each_b = extent(b), each_c = extent(c);
  const std::int64_t all_b = batch_extent(b, count, b_stride, "b_stride");
  const std::int64_t all_c = batch_extent(c, count, c_stride, "c_stride");
  if (each_c == 0) return;

  // Whether C's of members j and k meet depends on k - j alone, and those that begin behind another's end do not.
  for (std::int64_t k = 1; k < count && k * c_stride < each_c; ++k) {
    if (overlap<T>(c, member(c, k, c_stride))) {
      core::fail(errc::overlapping_operands, "batch.c_stride = {}: C of member 0 and of member {} share memory",
                 c_stride, k);
    }
  }
  const auto b_first = reinterpret_cast<std::intptr_t>(b.data), c_first = reinterpret_cast<std::intptr_t>(c.data);
  if (each_b == 0 || b_first + all_b * size <= c_first || c_first + all_c * size <= b_first) return;
  // With equal strides all pairs at one distance are alike, so that one of them is member 0.
  const bool alike = b_stride == c_stride;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t num_b = b_stride == 0 || (alike && k > 0) ? 1 : count;
    for (std::int64_t j = 0; j < num_b; ++j) {
      if (overlap<T>(member(b, j, b_stride), member(c, k, c_stride))) {
        core::fail(errc::overlapping_operands,
                   "batch.b_stride = {}, batch.c_stride = {}: B of member {} and C of member {} share memory", b_stride,
                   c_stride, j, k);
      }
    }
  }
}

#define BCSC_INSTANTIATE(T)                                                                                          \
  template void check_view(const dense_view<T>&, const char*);                                                       \
  template void check_view(const dense_view<const T>&, const char*);                                                 \
  template bool overlap(const dense_view<const T>&, const dense_view<const T>&);                                     \
  template void check_operands(std::int64_t, std::int64_t, const dense_view<const T>&, const dense_view<T>&, layout, \
                               bool);                                                                                \
  template void check_batch(const dense_view<const T>&, const dense_view<const T>&, const strided_batch&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::plan
