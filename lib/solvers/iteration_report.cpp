#include "lib/solvers/iteration_report.hpp"

#include <algorithm>
#include <utility>

namespace bcsc::solvers {

namespace vector = kernels::vector;

/// Reports of up to so many bytes are fetched whole: one copy beats several.
constexpr std::size_t little = 32768;

iteration_report::iteration_report(const context& ctx, std::int64_t log_rows, std::int64_t k)
    : log_rows_(log_rows),
      k_(k),
      here_(log_begin() + core::at(log_rows) * row_bytes()),
      there_(ctx, std::ssize(here_)) {}

std::size_t iteration_report::log_begin() const {
  // k r.r and 3 k ints, up to where a double may begin.
  return (row_bytes() + 3 * sizeof(std::int32_t) * core::at(k_) + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}

void iteration_report::place(vector::column_scalars& scalars) const {
  std::byte* const begin = there_.data();
  scalars.log = reinterpret_cast<double*>(begin + log_begin());
  scalars.log_rows = static_cast<std::int32_t>(log_rows_);
  scalars.log_cols = static_cast<std::int32_t>(k_);
  scalars.rr = reinterpret_cast<double*>(begin);
  auto* const ints = reinterpret_cast<std::int32_t*>(scalars.rr + k_);
  scalars.state = reinterpret_cast<vector::column_state*>(ints);
  scalars.taken = ints + k_;
  scalars.logged = ints + 2 * k_;
}

void iteration_report::read_with_log(std::int64_t first, std::int64_t rows, cuda_stream stream) {
  if (here_.size() <= little) return there_.download(here_, stream);
  read(stream);
  const std::int64_t begin = first % log_rows_, before_end = std::min(rows, log_rows_ - begin);
  for (const auto& [row, count] : {std::pair(begin, before_end), std::pair(std::int64_t{0}, rows - before_end)}) {
    const std::size_t at = log_begin() + core::at(row) * row_bytes();
    there_.download(std::span(here_).subspan(at, core::at(count) * row_bytes()), stream, at);
  }
}

std::span<const double> iteration_report::log_row(std::int64_t i) const {
  const std::byte* const row = here_.data() + log_begin() + core::at(i % log_rows_) * row_bytes();
  return {reinterpret_cast<const double*>(row), core::at(k_)};
}

std::span<std::int32_t> iteration_report::ints(std::int64_t which) {
  auto* const first = reinterpret_cast<std::int32_t*>(rr().data() + k_);
  return {first + which * k_, core::at(k_)};
}

std::span<vector::column_state> iteration_report::state() {
  return {reinterpret_cast<vector::column_state*>(ints(0).data()), core::at(k_)};
}

}  // namespace bcsc::solvers
