#pragma once

#include <array>
#include <string>

#include "kernels/forms/dense/operand.hpp"
#include "kernels/tables/config.hpp"

/// A with its zeros (kernels/forms/dense/operand.hpp), multiplied by cuBLASLt: for matrices that are nearly dense. A
/// config for each type, one that rounds fp32 to TF32, and one that multiplies parts of fp32 values in fp16 (history,
/// 127); tiles are the library's affair.
namespace bcsc::kernels::tables {

struct gemm_config {
  value_type type;
  accuracy keeps = accuracy::full;
  bool halves = false;  ///< fp32 by parts in fp16

  constexpr operand_form form() const { return halves ? operand_form::dense_halves : operand_form::dense; }
  constexpr int tile_rows() const { return 1; }  ///< A's rows are stored one by one
  constexpr int tile_cols() const { return 64; }
  constexpr int strided_cols() const { return tile_cols(); }  ///< any number: the library reads either layout
  /// Of the kernel that looks at the sums.
  constexpr int block_threads() const { return 256; }
  constexpr int columns_at_once() const { return 1; }
  constexpr int num_stages() const { return 1; }
  constexpr int index_width() const { return 32; }
  constexpr std::int64_t shared_bytes() const { return 0; }
  /// Of the error bound (kernel_info::bound): as for mma, where the tensor cores add up. Halves lose of both factors,
  /// and the product of their low parts, 2^-22 at most.
  constexpr int more_terms() const {
    constexpr int of_sums = 16, of_low_parts = 4;
    if (halves) return of_sums + 2 * terms_of_halves + of_low_parts + terms_of_lossy_halves;
    return is_narrow(type) ? of_sums : 3;
  }
  std::string label() const {
    const bool rounds = keeps == accuracy::tf32;
    return std::string("gemm-") + (rounds                     ? "tf32"
                                   : halves                   ? "3xf16"
                                   : type == value_type::fp32 ? "f32"
                                   : type == value_type::fp64 ? "f64"
                                   : type == value_type::fp16 ? "f16"
                                                              : "bf16");
  }
  constexpr bool valid() const { return type == value_type::fp32 || (keeps == accuracy::full && !halves); }
};

struct gemm : algorithm {
  static constexpr const char* name = "gemm";
  static constexpr operand_form form = operand_form::dense;  ///< of configs that do not split (gemm_config::form())
  static constexpr bool deterministic = true;
  static constexpr std::array<gemm_config, 6> configs{{{value_type::fp32},
                                                       {value_type::fp32, accuracy::full, true},
                                                       {value_type::fp32, accuracy::tf32},
                                                       {value_type::fp64},
                                                       {value_type::fp16},
                                                       {value_type::bf16}}};
};

}  // namespace bcsc::kernels::tables
