#include "lib/plan/run_checks.hpp"

#include "lib/core/checked.hpp"
#include "lib/core/fail.hpp"

namespace bcsc::plan {

namespace {

/// Elements from the first to one past the last.
template <class T>
std::int64_t extent(const dense_view<T>& x) {
  if (x.rows == 0 || x.cols == 0) return 0;
  const bool by_rows = x.order == layout::row_major;
  return ((by_rows ? x.rows : x.cols) - 1) * x.ld + (by_rows ? x.cols : x.rows);
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

#define BCSC_INSTANTIATE(T)                                                                                          \
  template void check_view(const dense_view<T>&, const char*);                                                       \
  template void check_view(const dense_view<const T>&, const char*);                                                 \
  template bool overlap(const dense_view<const T>&, const dense_view<const T>&);                                     \
  template void check_operands(std::int64_t, std::int64_t, const dense_view<const T>&, const dense_view<T>&, layout, \
                               bool);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::plan
