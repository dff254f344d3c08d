#include "tools/bcsc/advice.hpp"

#include "bcsc/advise.hpp"

namespace bcsc::cli {
namespace {

/// Ordering the rows takes a second or so for some million non-zeros: `info` is to answer at once.
constexpr std::int64_t most_to_order = 20'000'000;

}  // namespace

template <value T>
void report_advice(const csr_matrix<T>& a, std::int64_t cols, output& out) {
  const bool try_orders = a.nnz() <= most_to_order;
  const advice given = advise(a, {.cols = cols, .try_orders = try_orders});
  auto& json = out.json()["advice"];
  json = {{"cols", cols},
          {"verdict", to_string(given.verdict)},
          {"m_block", given.m_block},
          {"least_bytes", given.least_bytes},
          {"least_traffic", given.least_traffic},
          {"density", given.density},
          {"balance", given.balance},
          {"follow_structure", given.follow_structure},
          {"structural_reuse", given.structural_reuse},
          {"dense_first", given.dense_first},
          {"dense_column_share", given.dense_column_share},
          {"tried_orders", try_orders},
          {"reorder", given.reorder},
          {"reordered_reuse", given.reordered_reuse},
          {"reasons", given.reasons}};
  auto& heights = json["heights"] = nlohmann::ordered_json::array();
  for (const height_advice& h : given.heights) {
    heights.push_back({{"m_block", h.m_block}, {"bytes", h.bytes}, {"traffic", h.traffic.total()}});
  }
  out.line();
  out.line("advice for N = {}: {}{}; least bytes at m_block {}, least traffic at {}", cols, to_string(given.verdict),
           given.verdict == format_verdict::bcsc ? fmt::format(" with m_block {}", given.m_block) : "",
           given.least_bytes, given.least_traffic);
  for (const std::string& reason : given.reasons) out.line("  {}", reason);
  if (!try_orders) {
    out.line("  Orders and structural boundaries were not tried, beyond {} non-zeros.", grouped(most_to_order));
  }
}

template void report_advice(const csr_matrix<float>&, std::int64_t, output&);
template void report_advice(const csr_matrix<double>&, std::int64_t, output&);

}  // namespace bcsc::cli
