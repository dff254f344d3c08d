#pragma once

#include <array>
#include <string>

#include "kernels/tables/config.hpp"

/// A with its zeros (kernels/forms/dense/operand.hpp), multiplied by cuBLASLt: for matrices that are nearly dense. A
/// config for each type, and one that rounds fp32 to TF32; tiles are the library's affair.
namespace bcsc::kernels::tables {

struct gemm_config {
  value_type type;
  accuracy keeps = accuracy::full;

  constexpr int tile_rows() const { return 1; }  ///< A's rows are stored one by one
  constexpr int tile_cols() const { return 64; }
  constexpr int strided_cols() const { return tile_cols(); }  ///< any number: the library reads either layout
  /// Of the kernel that looks at the sums.
  constexpr int block_threads() const { return 256; }
  constexpr int columns_at_once() const { return 1; }
  constexpr int num_stages() const { return 1; }
  constexpr int index_width() const { return 32; }
  constexpr std::int64_t shared_bytes() const { return 0; }
  /// Of the error bound (kernel_info::bound): as for mma, where the tensor cores add up.
  constexpr int more_terms() const { return is_narrow(type) ? 16 : 3; }
  std::string label() const {
    const bool rounds = keeps == accuracy::tf32;
    return std::string("gemm-") + (rounds                     ? "tf32"
                                   : type == value_type::fp32 ? "f32"
                                   : type == value_type::fp64 ? "f64"
                                   : type == value_type::fp16 ? "f16"
                                                              : "bf16");
  }
  constexpr bool valid() const { return type == value_type::fp32 || keeps == accuracy::full; }
};

struct gemm : algorithm {
  static constexpr const char* name = "gemm";
  static constexpr operand_form form = operand_form::dense;
  static constexpr bool deterministic = true;
  static constexpr std::array<gemm_config, 5> configs{{{value_type::fp32},
                                                       {value_type::fp32, accuracy::tf32},
                                                       {value_type::fp64},
                                                       {value_type::fp16},
                                                       {value_type::bf16}}};
};

}  // namespace bcsc::kernels::tables
