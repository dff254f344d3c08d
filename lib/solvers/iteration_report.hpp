#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/checked.hpp"
#include "kernels/vector/vector_ops.hpp"
#include "lib/solvers/context_array.hpp"

namespace bcsc::solvers {

/// What the device records for the host's next check, in one array: [k r.r now][k states][k iterations taken][k
/// iterations logged][log_rows x k r.r after each iteration]. One copy fetches all of it where that is little; of a
/// wide block's log only the rows that are new.
class iteration_report {
 public:
  iteration_report(const context& ctx, std::int64_t log_rows, std::int64_t k);
  /// Sets the pointers into the array.
  void place(kernels::vector::column_scalars& scalars) const;
  /// All but the log.
  void read(cuda_stream stream) { there_.download(heads(), stream); }
  void write(cuda_stream stream) { there_.upload(heads(), stream); }
  /// All, and of the log at least `rows` rows from the one after iteration `first` on.
  void read_with_log(std::int64_t first, std::int64_t rows, cuda_stream stream);

  // As the host last read or set them.
  /// r.r after iteration `i`.
  std::span<const double> log_row(std::int64_t i) const;
  std::span<double> rr() { return {reinterpret_cast<double*>(here_.data()), core::at(k_)}; }
  std::span<kernels::vector::column_state> state();
  std::span<std::int32_t> taken() { return ints(1); }
  std::span<std::int32_t> logged() { return ints(2); }

 private:
  std::span<std::byte> heads() { return std::span(here_).first(log_begin()); }
  std::span<std::int32_t> ints(std::int64_t which);
  std::size_t log_begin() const;
  std::size_t row_bytes() const { return sizeof(double) * core::at(k_); }

  std::int64_t log_rows_, k_;
  std::vector<std::byte> here_;
  context_array<std::byte> there_;
};

}  // namespace bcsc::solvers
