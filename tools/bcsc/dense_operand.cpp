#include "tools/bcsc/dense_operand.hpp"

#include <filesystem>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/fail.hpp"
#include "core/memory.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/spool.hpp"

namespace bcsc::cli {
namespace {

namespace fs = std::filesystem;

/// Splits FILE.npz:NAME, unless a file has that very name.
std::pair<std::string, std::string> path_and_member(const std::string& name) {
  constexpr std::string_view mark = ".npz:";
  const std::size_t at = name.rfind(mark);
  if (at == std::string::npos || fs::exists(name)) return {name, ""};
  return {name.substr(0, at + mark.size() - 1), name.substr(at + mark.size())};
}

std::string shape_text(std::int64_t rows, std::int64_t cols) {
  return fmt::format("{} x {}", core::count_text(rows), core::count_text(cols));
}

}  // namespace

dense_operand::dense_operand(std::string option, const std::string& name) : option_(std::move(option)) {
  std::tie(name_, reading_.member) = path_and_member(name);
  path_ = is_readable(name_) ? rereadable_path(name_) : name_;
  info_ = read_dense_info(path_, reading_);
}

void dense_operand::require_shape(std::int64_t rows, std::int64_t cols, std::string_view why) const {
  if (info_.rows == rows && info_.cols == cols) return;
  core::fail(errc::size_mismatch, "{} {}: is {}, must be {}: {}", option_, name_, shape_text(info_.rows, info_.cols),
             shape_text(rows, cols), why);
}

template <number T>
dense_matrix<T> dense_operand::read(layout order, const output& out) const {
  using stored = std::conditional_t<std::is_same_v<T, double>, double, float>;
  progress_bar bar = out.progress("reading " + name_);
  read_options reading = reading_;
  reading.progress = bar.callback();
  dense_matrix<stored> from = read_dense<stored>(path_, reading);
  if constexpr (std::is_same_v<T, stored>) {
    if (from.order() == order) return from;
  }
  dense_matrix<T> to(from.rows(), from.cols(), order);
  for (std::int64_t i = 0; i < from.rows(); ++i) {
    for (std::int64_t j = 0; j < from.cols(); ++j) {
      to(i, j) = static_cast<T>(from(i, j));
      if (is_finite_element(to(i, j)) || !is_finite_element(from(i, j))) continue;
      core::fail(errc::value_out_of_range, "{} {}: entry ({}, {}) = {}: does not fit {}", option_, name_, i + 1, j + 1,
                 from(i, j), to_string(value_type_of<T>));
    }
  }
  return to;
}

void require_dense_output(std::string_view option, const std::string& path) {
  if (!is_dense_file_name(path)) {
    core::fail(errc::invalid_argument, "{} {}: its name tells no format: must end in .npy, .npz, .mtx or .bcsc", option,
               path);
  }
  require_output(option, path);
}

void require_host_memory(std::string_view what, std::int64_t bytes) {
  const std::int64_t available = core::measure_memory().least();
  if (bytes <= available) return;
  core::fail(errc::out_of_memory, "{} take {} of memory, {} are available", what, core::bytes_text(bytes),
             core::bytes_text(available));
}

template dense_matrix<float> dense_operand::read(layout, const output&) const;
template dense_matrix<double> dense_operand::read(layout, const output&) const;
template dense_matrix<half> dense_operand::read(layout, const output&) const;
template dense_matrix<bfloat16> dense_operand::read(layout, const output&) const;

}  // namespace bcsc::cli
