#include "bcsc/advise.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "bcsc/analysis.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/order.hpp"
#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"

namespace bcsc {

namespace {

constexpr std::array<std::int64_t, 8> usual_heights{1, 4, 8, 16, 32, 64, 128, 256};

// Thresholds of the advice. They are round numbers: the alternatives are far apart where it matters.
constexpr double negligible_flops = 1e6;  // some 10 us of one core, less than starting a kernel on a GPU takes
constexpr double dense_from = 0.5;        // of all positions
constexpr double worthwhile = 1.1;        // a gain below a tenth is not worth another array or another order
constexpr double uneven_from = 3;         // skew: the heaviest row block over the mean

void check(const advise_options& options) {
  const auto refuse = [](const char* name, auto value, const char* wanted) {
    core::fail(errc::invalid_argument, "advise_options::{} = {}: must be {}", name, value, wanted);
  };
  if (options.cols < 1) refuse("cols", options.cols, "at least 1");
  if (options.cache_bytes < 0) refuse("cache_bytes", options.cache_bytes, "at least 0");
  if (!(options.cache_cost >= 0 && options.cache_cost <= 1)) refuse("cache_cost", options.cache_cost, "in 0 .. 1");
  for (const std::int64_t m_block : options.m_blocks) {
    if (m_block < 1 || m_block > max_m_block) refuse("m_blocks", m_block, "in 1 .. 65536");
  }
}

/// The matrix without its values, on which everything but bytes depends.
template <index I>
struct subject {
  csr_view<pattern, I> a;
  value_type type;
  std::int64_t index_bytes = 4;
  int column_bytes = 0;
  std::int64_t distinct_cols = 0;  ///< columns with an entry: rows of B that are read at all

  std::int64_t nnz() const { return a.nnz(); }
};

/// Every non-empty column reads one row of B. Each row comes from memory at least once; further reads hit the cache as
/// often as the cache holds what is read of B.
traffic_model traffic_of(double a_bytes, double nnzc, double distinct_cols, double rows, double value_bytes,
                         const advise_options& options) {
  const double row_bytes = value_bytes * static_cast<double>(options.cols);
  const double b_bytes = distinct_cols * row_bytes, again = std::max(0.0, nnzc - distinct_cols) * row_bytes;
  const double held = b_bytes > 0 ? std::min(1.0, static_cast<double>(options.cache_bytes) / b_bytes) : 1.0;
  return {a_bytes, b_bytes + again * (1 - held + held * options.cache_cost), rows * row_bytes};
}

template <index I>
height_advice look_at(const subject<I>& s, const block_statistics& facts, const advise_options& options) {
  height_advice h;
  h.m_block = facts.m_block;
  h.num_row_blocks = facts.num_row_blocks;
  h.nnzc = facts.nnzc;
  h.reuse = facts.reuse;
  h.skew = facts.skew;
  h.bytes = footprint::compact_bcsc(s.a.rows, h.m_block, h.nnzc, s.nnz(), s.type, s.index_bytes, s.column_bytes);
  // A pattern is multiplied as ones in fp32.
  const auto value_bytes = static_cast<double>(s.type == value_type::pattern ? 4 : size_of(s.type));
  h.traffic = traffic_of(static_cast<double>(h.bytes), static_cast<double>(h.nnzc),
                         static_cast<double>(s.distinct_cols), static_cast<double>(s.a.rows), value_bytes, options);
  return h;
}

/// The first of `heights` with the smallest `of`.
template <class Of>
const height_advice& least(const std::vector<height_advice>& heights, Of of) {
  return *std::min_element(heights.begin(), heights.end(), [&](const auto& x, const auto& y) { return of(x) < of(y); });
}

template <index I>
void judge(const subject<I>& s, const advise_options& options, advice& out) {
  const auto best_reuse = std::max_element(out.heights.begin(), out.heights.end(),
                                           [](const auto& x, const auto& y) { return x.reuse < y.reuse; });
  const double flops = 2 * static_cast<double>(s.nnz()) * static_cast<double>(options.cols);
  // Lower row blocks give kernels more parallelism: the lowest that is about as good.
  double min_total = std::numeric_limits<double>::infinity();
  for (const height_advice& h : out.heights) min_total = std::min(min_total, h.traffic.total());
  const height_advice* taken = nullptr;
  for (const height_advice& h : out.heights) {
    const bool as_good = h.traffic.total() <= worthwhile * min_total;
    if (as_good && (taken == nullptr || h.m_block < taken->m_block)) taken = &h;
  }
  out.m_block = taken->m_block;
  if (flops < negligible_flops) {
    out.verdict = format_verdict::negligible;
    out.reasons.push_back(
        core::format("A product with N = {} is {:.3g} Mflop: starting it costs more than any format saves.",
                     options.cols, flops * 1e-6));
  } else if (out.density > dense_from) {
    out.verdict = format_verdict::dense;
    out.reasons.push_back(
        core::format("{:.0f} % of the entries are stored: a dense product moves {} bytes of A where CSR moves {}, and "
                     "needs no indices.",
                     100 * out.density, out.dense_bytes, out.csr_bytes));
  } else if (best_reuse->reuse < worthwhile) {
    out.verdict = format_verdict::csr;
    out.m_block = 1;
    out.reasons.push_back(
        core::format("Rows share next to no columns (nnz/nnzc is at most {:.2f}, at m_block {}): m_block 1, which is "
                     "CSR, reads next to no more of B.",
                     best_reuse->reuse, best_reuse->m_block));
  } else if (out.m_block == 1) {
    out.verdict = format_verdict::csr;
    out.reasons.push_back(
        core::format("Higher row blocks share columns (nnz/nnzc {:.2f} at m_block {}), but one product's traffic falls "
                     "by less than a tenth: m_block 1, which is CSR.",
                     best_reuse->reuse, best_reuse->m_block));
  } else {
    out.reasons.push_back(
        core::format("A row of B serves {:.2f} non-zeros at m_block {}: one product moves {:.3g} MB, and the format "
                     "takes {:.2f} of CSR's bytes.",
                     taken->reuse, taken->m_block, taken->traffic.total() * 1e-6,
                     static_cast<double>(taken->bytes) / static_cast<double>(out.csr_bytes)));
  }
}

/// The share of the non-zeros in columns that fill half of their row block or more.
template <index I>
double share_of_dense_columns(const compact_bcsc_view<pattern, I>& a) {
  std::int64_t held = 0;
  for (std::int64_t b = 0; b < a.num_row_blocks(); ++b) {
    const std::int64_t height = a.first_row(b + 1) - a.first_row(b);
    for (auto j = static_cast<std::int64_t>(a.brow_ptr[static_cast<std::size_t>(b)]);
         j < a.brow_ptr[static_cast<std::size_t>(b) + 1]; ++j) {
      const std::int64_t count = a.col_count[static_cast<std::size_t>(j)] + 1;
      if (2 * count >= height) held += count;
    }
  }
  return a.nnz() > 0 ? static_cast<double>(held) / static_cast<double>(a.nnz()) : 0.0;
}

/// What boundaries, the order of columns and the order of rows would gain at the advised height.
template <index I>
void refine(const subject<I>& s, const advise_options& options, advice& out) {
  const auto found = std::find_if(out.heights.begin(), out.heights.end(),
                                  [&](const height_advice& h) { return h.m_block == out.m_block; });
  if (found == out.heights.end() || out.verdict == format_verdict::dense || out.verdict == format_verdict::negligible) {
    return;
  }
  const height_advice& h = *found;
  if (h.skew > uneven_from && h.m_block > 1) {
    out.balance = true;
    out.reasons.push_back(core::format(
        "The heaviest row block holds {:.1f} times the mean: boundaries by work (balanced) even it out.", h.skew));
  }
  if (h.m_block > 1) {
    out.dense_column_share = share_of_dense_columns<I>(to_compact(s.a, {.m_block = h.m_block}));
    if (out.dense_column_share > 0.1 && out.dense_column_share < 0.9) {
      out.dense_first = true;
      out.reasons.push_back(
          core::format("Columns that fill half of their row block hold {:.0f} % of the non-zeros, thin ones the rest: "
                       "dense columns first lets a kernel treat each in its way.",
                       100 * out.dense_column_share));
    }
  }
  if (!options.try_orders) return;

  if (h.m_block > 1) {
    const auto boundaries = structural_boundaries(s.a, h.m_block);
    const auto cut = to_compact(s.a, {.m_block = h.m_block, .boundaries = boundaries});
    out.structural_reuse = static_cast<double>(s.nnz()) / static_cast<double>(cut.nnzc());
    if (out.structural_reuse > worthwhile * h.reuse) {
      out.follow_structure = true;
      out.reasons.push_back(
          core::format("Boundaries where rows stop sharing columns (structural) raise nnz/nnzc from "
                       "{:.2f} to {:.2f}.",
                       h.reuse, out.structural_reuse));
    }
  }
  // CSR is indifferent to row order; whether reordered BCSC beats it is not.
  const std::int64_t height = h.m_block > 1 ? h.m_block : 32;
  const order_comparison orders = compare_orders(s.a, order_rows_by_similarity(s.a), height);
  out.reordered_reuse = orders.after.reuse;
  if (orders.gain() > worthwhile) {
    out.reorder = true;
    out.reasons.push_back(core::format(
        "Rows ordered by similarity raise nnz/nnzc from {:.2f} to {:.2f} at m_block {}{}.", orders.before.reuse,
        orders.after.reuse, height, h.m_block == 1 ? ", where BCSC may then be the better format" : ""));
  }
}

}  // namespace

std::string_view to_string(format_verdict verdict) {
  switch (verdict) {
    case format_verdict::bcsc:
      return "bcsc";
    case format_verdict::csr:
      return "csr";
    case format_verdict::dense:
      return "dense";
    case format_verdict::negligible:
      return "negligible";
  }
  return "unknown";
}

template <element T, index I>
advice advise(const csr_view<T, I>& a, const advise_options& options) {
  converters::require_host(a.space, "csr");
  check(options);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  subject<I> s{{a.rows, a.cols, a.row_ptr, a.col_ind, pattern_span(a.values.size())}, value_type_of<T>};
  // A plan keeps indices no wider than they need be.
  s.index_bytes = a.rows < most && a.cols < most && a.nnz() < most ? 4 : 8;
  s.column_bytes = options.narrow_columns && a.cols <= max_narrow_columns ? 2 : 0;

  advice out;
  const double positions = static_cast<double>(a.rows) * static_cast<double>(a.cols);
  out.density = positions > 0 ? static_cast<double>(a.nnz()) / positions : 0.0;
  out.csr_bytes = footprint::csr(a.rows, a.nnz(), s.type, s.index_bytes);
  // The largest number stands for a dense size that no memory could hold.
  std::int64_t dense_bytes = 0;
  const auto value_bytes =
      static_cast<std::int64_t>(size_of(s.type == value_type::pattern ? value_type::fp32 : s.type));
  const bool fits = !__builtin_mul_overflow(a.rows, a.cols, &dense_bytes) &&
                    !__builtin_mul_overflow(dense_bytes, value_bytes, &dense_bytes);
  out.dense_bytes = fits ? dense_bytes : std::numeric_limits<std::int64_t>::max();

  // One row block over all rows holds each column that has an entry once.
  const std::span<const std::int64_t> heights = options.m_blocks.empty() ? usual_heights : options.m_blocks;
  std::vector<std::int64_t> analysed(heights.begin(), heights.end());
  analysed.push_back(std::max<std::int64_t>(a.rows, 1));
  const auto statistics = analyse_blocks(s.a, analysed);
  s.distinct_cols = statistics.back().nnzc;
  for (std::size_t k = 0; k < heights.size(); ++k) out.heights.push_back(look_at(s, statistics[k], options));
  out.min_bytes = least(out.heights, [](const auto& h) { return h.bytes; }).m_block;
  out.min_traffic = least(out.heights, [](const auto& h) { return h.traffic.total(); }).m_block;

  judge(s, options, out);
  refine(s, options, out);
  return out;
}

#define BCSC_INSTANTIATE(T, I) template advice advise(const csr_view<T, I>&, const advise_options&);
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
