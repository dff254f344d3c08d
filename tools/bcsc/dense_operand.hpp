#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bcsc/dense_files.hpp"
#include "tools/bcsc/output.hpp"

namespace bcsc::cli {

/// A dense matrix or vector that the user names as a file, - for standard input; an array of a .npz as FILE.npz:NAME.
class dense_operand {
 public:
  /// Reads the header; of a pipe or the like, all, to keep it in memory. `option` is where it was named, for messages.
  /// Throws what read_dense_info() and rereadable_path() throw.
  dense_operand(std::string option, const std::string& name);

  std::int64_t rows() const { return info_.rows; }
  std::int64_t cols() const { return info_.cols; }
  /// Throws error{size_mismatch} with the file, its shape and the one it must have, because of `why`.
  void require_shape(std::int64_t rows, std::int64_t cols, std::string_view why) const;

  /// The values in the layout that is asked for. Throws error{value_out_of_range} where one does not fit T, and what
  /// read_dense() throws.
  template <number T>
  dense_matrix<T> read(layout order, const output& out) const;

 private:
  std::string option_, name_;  ///< as the user says them
  std::string path_;           ///< under which it may be opened as often as need be
  read_options reading_;
  dense_file_info info_;
};

/// require_output() of a dense file, whose name must tell its format. Throws error{invalid_argument}, too.
void require_dense_output(std::string_view option, const std::string& path);

/// Throws error{out_of_memory} if `bytes` for `what` are more than the host has.
void require_host_memory(std::string_view what, std::int64_t bytes);

}  // namespace bcsc::cli
