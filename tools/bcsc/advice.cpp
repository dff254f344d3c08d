#include "tools/bcsc/advice.hpp"

#include <sstream>
#include <string>

namespace bcsc::cli {

template <number T>
void report_advice(const context& ctx, const csr_matrix<T>& a, std::int64_t cols, output& out) {
  const spmm_plan<T> plan(ctx, a.view(), {.cols = cols});
  const plan_facts& facts = plan.facts();
  const std::string explained = plan.explain();
  out.json()["advice"] = {{"cols", cols},
                          {"type", to_string(value_type_of<T>)},
                          {"device", ctx.describe()},
                          {"kernel", facts.kernel.name},
                          {"algorithm", facts.kernel.algorithm},
                          {"m_block", facts.m_block},
                          {"format_bytes", facts.format_bytes},
                          {"reason", facts.reason},
                          {"explain", explained}};
  out.line();
  out.line("advice for N = {}", cols);
  std::istringstream lines(explained);
  for (std::string line; std::getline(lines, line);) out.prose(4, "  {}", line);
}

template void report_advice(const context&, const csr_matrix<float>&, std::int64_t, output&);
template void report_advice(const context&, const csr_matrix<double>&, std::int64_t, output&);
template void report_advice(const context&, const csr_matrix<half>&, std::int64_t, output&);
template void report_advice(const context&, const csr_matrix<bfloat16>&, std::int64_t, output&);

}  // namespace bcsc::cli
