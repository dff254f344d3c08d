#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/tune.hpp"
#include "bcsc/types.hpp"
#include "tools/bcsc/check.hpp"
#include "tools/bcsc/dense_operand.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/operands.hpp"
#include "tools/bcsc/output.hpp"

namespace bcsc::cli {

/// What `bcsc spmm` is asked for.
struct spmm_options : output_options {
  matrix_source source;
  device_options where;
  std::int64_t cols = 32;
  std::string kernel;
  std::int64_t m_block = 0;
  value_type type = value_type::fp32;
  layout order = layout::row_major;
  compute_class compute = compute_class::full;
  bcsc::effort effort = bcsc::effort::predict;
  bool transpose = false, no_copy = false;
  double alpha = 1, beta = 0;
  std::int64_t batch = 1;
  int repeat = 10;
  std::string b, c0, c;
  bool cols_given = false;
};

/// B and the initial C, where they are files.
struct operand_files {
  std::optional<dense_operand> b, c0;
};

struct product_result {
  std::string kernel, algorithm, where;
  std::int64_t m_block = 0, format_bytes = 0;
  double convert_seconds = 0, seconds = 0, gflops = 0;
  verdict checked;
  std::string reason, explain;
  std::string error;    ///< why it could not run; empty if it did
  bool applies = true;  ///< whether it is made for such a product
  bool passed() const { return error.empty() && checked.passed(); }
};

/// One matrix, one B and one C or a batch of them, and every way to multiply them. Every product goes the same way: C
/// is filled with what must not survive (NaN, where beta = 0), the kernel runs, its result is compared with the
/// reference entry by entry, and only then is it timed.
template <number T>
class product_bench {
 public:
  /// `a`: op(A), for the check; `given`: A, for the plans. All but the context and the files stay alive as long as
  /// this.
  product_bench(const context& ctx, const csr_matrix<T>& a, const csr_matrix<T>& given, const spmm_options& options,
                const operand_files& files, const output& out);

  /// Through a plan: a kernel by name, an algorithm, or "" for the plan's own choice.
  product_result with_plan(const std::string& kernel);

  /// The serial reference of one format.
  product_result with_reference(const std::string& format);

 private:
  spmm_plan<T> plan_by(const std::string& kernel) const;
  dense_matrix<T> start_of_c() const;
  template <class U>
  dense_view<U> member(const dense_view<U>& all, std::int64_t k) const;
  void keep(const product_result& result);
  std::vector<product_check<T>> make_checks() const;
  verdict compare(const dense_view<const T>& c, const error_bound& allowed = {}) const;
  template <class Convert>
  product_result reference(const std::string& format, std::int64_t block, Convert convert);
  product_result rated(product_result result) const;

  const spmm_options& options_;
  const output& out_;
  context ctx_;
  const csr_matrix<T>& a_;
  const csr_matrix<T>& given_;
  scalar_of<T> alpha_, beta_;
  dense_matrix<T> b_, c0_;
  std::vector<product_check<T>> checks_;
  staged_operands<T> staged_;
};

}  // namespace bcsc::cli
