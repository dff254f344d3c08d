#pragma once

#include <array>
#include <string>

#include "kernels/forms/dense/operand.hpp"
#include "kernels/tables/config.hpp"

/// A with its zeros (kernels/forms/dense/operand.hpp), multiplied by cuBLASLt: for matrices that are nearly dense. A
/// config for each type, one that rounds fp32 to TF32, and two that multiply in fp16: fp32 values in parts (history,
/// 127), or rounded to as many bits as TF32 keeps (139); tiles are the library's affair.
namespace bcsc::kernels::tables {

struct gemm_config {
  value_type type;
  accuracy keeps = accuracy::full;
  operand_form stored = operand_form::dense;

  constexpr operand_form form() const { return stored; }
  constexpr int halves() const { return halves_in(stored); }
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
  /// and the product of their low parts, 2^-22 at most; what high parts alone lose is in the bound of TF32.
  constexpr int more_terms() const {
    constexpr int of_sums = 16, of_low_parts = 4;
    if (halves() == 1) return of_sums;
    if (halves() > 1) return of_sums + 2 * terms_of_halves + of_low_parts + terms_of_lossy_halves;
    return is_narrow(type) ? of_sums : 3;
  }
  std::string label() const {
    return std::string("gemm-") + (halves() == 1              ? "1xf16"
                                   : halves() > 1             ? "3xf16"
                                   : keeps == accuracy::tf32  ? "tf32"
                                   : type == value_type::fp32 ? "f32"
                                   : type == value_type::fp64 ? "f64"
                                   : type == value_type::fp16 ? "f16"
                                                              : "bf16");
  }
  constexpr bool valid() const {
    const int of_accuracy = keeps == accuracy::tf32 ? 1 : 3;
    return type == value_type::fp32 ? halves() == 0 || halves() == of_accuracy
                                    : keeps == accuracy::full && halves() == 0;
  }
};

struct gemm : algorithm {
  static constexpr const char* name = "gemm";
  static constexpr operand_form form = operand_form::dense;  ///< of configs that do not split (gemm_config::form())
  static constexpr bool deterministic = true;
  static constexpr std::array<gemm_config, 7> configs{{{value_type::fp32},
                                                       {value_type::fp32, accuracy::full, operand_form::dense_halves},
                                                       {value_type::fp32, accuracy::tf32},
                                                       {value_type::fp32, accuracy::tf32, operand_form::dense_half},
                                                       {value_type::fp64},
                                                       {value_type::fp16},
                                                       {value_type::bf16}}};
};

}  // namespace bcsc::kernels::tables
