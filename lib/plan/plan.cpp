#include "bcsc/plan.hpp"

#include <utility>

#include "core/fail.hpp"
#include "lib/plan/body.hpp"

namespace bcsc {

std::string_view to_string(compute_class kind) {
  switch (kind) {
    case compute_class::full:
      return "full";
    case compute_class::tf32:
      return "tf32";
  }
  return "unknown";
}

std::string_view to_string(row_blocks kind) {
  switch (kind) {
    case row_blocks::uniform:
      return "uniform";
    case row_blocks::balanced:
      return "balanced";
    case row_blocks::structural:
      return "structural";
  }
  return "unknown";
}

std::string_view to_string(col_major_b way) {
  switch (way) {
    case col_major_b::as_predicted:
      return "as_predicted";
    case col_major_b::packed:
      return "packed";
    case col_major_b::in_place:
      return "in_place";
  }
  return "unknown";
}

template <number T>
spmm_plan<T>::spmm_plan(const context& ctx, const csr_view<T, std::int32_t>& a, const plan_options& options)
    : body_(plan::make_body<T>(ctx, options, a)) {}
template <number T>
spmm_plan<T>::spmm_plan(const context& ctx, const csr_view<T, std::int64_t>& a, const plan_options& options)
    : body_(plan::make_body<T>(ctx, options, a)) {}
template <number T>
spmm_plan<T>::spmm_plan(const context& ctx, const bcsc_view<T, std::int32_t>& a, const plan_options& options)
    : body_(plan::make_body<T>(ctx, options, a)) {}
template <number T>
spmm_plan<T>::spmm_plan(const context& ctx, const bcsc_view<T, std::int64_t>& a, const plan_options& options)
    : body_(plan::make_body<T>(ctx, options, a)) {}

template <number T>
spmm_plan<T>::~spmm_plan() = default;
template <number T>
spmm_plan<T>::spmm_plan(spmm_plan&&) noexcept = default;
template <number T>
spmm_plan<T>& spmm_plan<T>::operator=(spmm_plan&&) noexcept = default;

template <number T>
spmm_plan<T>::spmm_plan(std::unique_ptr<plan::body<T>> made) : body_(std::move(made)) {}

template <number T>
plan::body<T>& spmm_plan<T>::made(const char* member) const {
  if (body_ == nullptr) {
    core::fail(errc::invalid_argument, "spmm_plan::{}: the plan has been moved from: it has no matrix", member);
  }
  return *body_;
}

template <number T>
void spmm_plan<T>::run(scalar<scalar_of<T>> alpha, dense_view<const T> b, scalar<scalar_of<T>> beta, dense_view<T> c,
                       const run_options& options) const {
  const plan::body<T>& self = made("run");
  self.product().run(self.matrix(), alpha, b, beta, c, options);
}

template <number T>
std::optional<spmm_plan<T>> spmm_plan<T>::sharing(const std::string& kernel, std::int64_t cols) const {
  if (cols < 0) core::fail(errc::invalid_argument, "sharing: cols = {}: must be at least 0 (0: as before)", cols);
  const plan::body<T>& self = made("sharing");
  std::unique_ptr<plan::body<T>> other;
  plan::guard_making(self.how(), [&] { other = self.sharing(kernel, cols); });
  if (other == nullptr) return std::nullopt;
  return spmm_plan(std::move(other));
}

template <number T>
std::optional<spmm_plan<T>> spmm_plan<T>::transposed(std::int64_t cols) const {
  if (cols < 0) core::fail(errc::invalid_argument, "transposed: cols = {}: must be at least 0 (0: as before)", cols);
  const plan::body<T>& self = made("transposed");
  std::unique_ptr<plan::body<T>> other;
  plan::guard_making(self.how(), [&] { other = self.transposed(cols); });
  if (other == nullptr) return std::nullopt;
  return spmm_plan(std::move(other));
}

template <number T>
std::size_t spmm_plan<T>::workspace_bytes() const {
  return made("workspace_bytes").product().layout().bytes();
}

template <number T>
void spmm_plan<T>::update_values(const csr_view<T, std::int32_t>& a) {
  made("update_values").update(a);
}
template <number T>
void spmm_plan<T>::update_values(const csr_view<T, std::int64_t>& a) {
  made("update_values").update(a);
}
template <number T>
void spmm_plan<T>::update_values(const bcsc_view<T, std::int32_t>& a) {
  made("update_values").update(a);
}
template <number T>
void spmm_plan<T>::update_values(const bcsc_view<T, std::int64_t>& a) {
  made("update_values").update(a);
}

template <number T>
const plan_facts& spmm_plan<T>::facts() const {
  return made("facts").how().facts;
}
template <number T>
std::string spmm_plan<T>::explain() const {
  return made("explain").explain();
}
template <number T>
const context& spmm_plan<T>::where() const {
  return made("where").how().ctx;
}

template class spmm_plan<float>;
template class spmm_plan<double>;
template class spmm_plan<half>;
template class spmm_plan<bfloat16>;

}  // namespace bcsc
