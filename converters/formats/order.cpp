#include "bcsc/order.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>

#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

/// Orders of rows and heights of row blocks, from the pattern alone.
namespace bcsc {

namespace {

using converters::even_cuts;
using converters::even_segment_cuts;
using converters::for_pieces;
using converters::parallel_for;
using converters::require_at_least_one;
using converters::require_host;
using converters::storage;
using core::at;
using core::ceil_div;
using core::fail;

/// Spreads all bits (the finaliser of SplitMix64, Steele, Lea, Flood 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The columns of a CSR without its values: all that is looked at here.
template <index I>
struct row_pattern {
  std::int64_t rows, cols;
  std::span<const I> row_ptr, col_ind;

  std::span<const I> row(std::int64_t i) const {
    return col_ind.subspan(at(row_ptr[at(i)]), at(row_ptr[at(i) + 1] - row_ptr[at(i)]));
  }
  std::int64_t count(std::int64_t i) const { return std::int64_t{row_ptr[at(i) + 1]} - row_ptr[at(i)]; }
};

template <index I>
std::int64_t num_shared(std::span<const I> x, std::span<const I> y) {
  std::int64_t shared = 0;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    const I a = x[i], b = y[j];
    shared += a == b;
    i += a <= b;
    j += b <= a;
  }
  return shared;
}

/// What is chained: rows at first, then chains of them. hash[item * num_hashes + k] is the least k-th hash of its
/// columns; of a union it is the least of the parts'.
struct signatures {
  int num_hashes;
  std::vector<std::uint32_t> hash;

  const std::uint32_t* of(std::int64_t item) const { return hash.data() + item * num_hashes; }
};

template <index I>
signatures sign_rows(const row_pattern<I>& a, const std::vector<std::int64_t>& rows, const order_options& options) {
  const int n = options.num_hashes;
  const auto num_rows = static_cast<std::int64_t>(rows.size());
  signatures s{n, storage<std::uint32_t>(core::checked_product(num_rows, n, "signatures"), "signatures")};
  std::vector<std::uint64_t> factor(at(n));
  for (int k = 0; k < n; ++k) factor[at(k)] = mix(options.seed * 0x9e3779b97f4a7c15u + at(k) + 1) | 1;
  const auto weight = [&](std::int64_t i) { return i == num_rows ? a.row_ptr.back() : a.row_ptr[at(rows[at(i)])]; };
  for_pieces(even_cuts(num_rows, converters::worthwhile_pieces(n * std::int64_t{a.row_ptr.back()}), weight),
             [&](std::int64_t, std::int64_t first, std::int64_t last) {
               for (std::int64_t i = first; i < last; ++i) {
                 std::uint32_t* least = s.hash.data() + i * n;
                 std::fill_n(least, n, std::numeric_limits<std::uint32_t>::max());
                 for (const I col : a.row(rows[at(i)])) {
                   const std::uint64_t spread = mix(static_cast<std::uint64_t>(col / options.col_bucket) + 1);
                   for (int k = 0; k < n; ++k) {
                     least[k] = std::min(least[k], static_cast<std::uint32_t>(spread * factor[at(k)] >> 32));
                   }
                 }
               }
             });
  return s;
}

/// For each band of hashes, next[band][item] is the item after `item` in its bucket, or -1. Bands: each hash alone,
/// then the pairs (0, 1), (2, 3) and so on.
std::vector<std::vector<std::int64_t>> bucket_successors(const signatures& s, std::int64_t num_items) {
  const int n = s.num_hashes;
  // Within a bucket, equal signatures are adjacent, so that equal rows always meet.
  auto whole = storage<std::uint64_t>(num_items, "signatures");
  for_pieces(even_cuts(num_items), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (int k = 0; k < n; ++k) whole[at(i)] = mix(whole[at(i)] + s.of(i)[k] + 1);
    }
  });
  std::vector<std::vector<std::int64_t>> next(at(n + n / 2));
  parallel_for(n + n / 2, [&](std::int64_t band) {
    const auto key = [&](std::int64_t item) {
      const std::uint32_t* hash = s.of(item);
      if (band < n) return std::uint64_t{hash[band]};
      return std::uint64_t{hash[2 * (band - n)]} << 32 | hash[2 * (band - n) + 1];
    };
    struct placed {
      std::uint64_t key, whole;
      std::int64_t item;
      auto operator<=>(const placed&) const = default;
    };
    std::vector<placed> sorted;
    sorted.reserve(at(num_items));
    for (std::int64_t i = 0; i < num_items; ++i) sorted.push_back({key(i), whole[at(i)], i});
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::int64_t>& behind = next[at(band)];
    behind.assign(at(num_items), -1);
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
      if (sorted[i].key == sorted[i + 1].key) behind[at(sorted[i].item)] = sorted[i + 1].item;
    }
  });
  return next;
}

/// Two items, and how alike they are.
struct link {
  std::int64_t a = -1, b = -1;
  double similarity = 0;
};

/// The best few partners of each item among its successors in the buckets and the next item in the given order (so that
/// a good order stays good). Most similar first; ties by item.
template <class Similarity>
std::vector<link> best_links(const signatures& s, std::int64_t num_items, Similarity similarity) {
  constexpr std::int64_t kept = 4;
  const auto next = bucket_successors(s, num_items);
  std::vector<link> links(at(core::checked_product(num_items, kept, "links")));
  for_pieces(even_cuts(num_items), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> partners;
    std::vector<link> found;
    for (std::int64_t i = first; i < last; ++i) {
      partners.clear();
      if (i + 1 < num_items) partners.push_back(i + 1);
      for (const auto& behind : next) {
        if (behind[at(i)] >= 0) partners.push_back(behind[at(i)]);
      }
      std::sort(partners.begin(), partners.end());
      partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
      found.clear();
      for (const std::int64_t partner : partners) {
        const double alike = similarity(i, partner);
        if (alike > 0) found.push_back({i, partner, alike});
      }
      std::stable_sort(found.begin(), found.end(),
                       [](const link& x, const link& y) { return x.similarity > y.similarity; });
      if (std::ssize(found) > kept) found.resize(at(kept));
      std::copy(found.begin(), found.end(), links.begin() + i * kept);
    }
  });
  std::erase_if(links, [](const link& l) { return l.a < 0; });
  std::stable_sort(links.begin(), links.end(),
                   [](const link& x, const link& y) { return x.similarity > y.similarity; });
  return links;
}

/// Joins items along the links, in their order, into chains: each item gets at most two neighbours, and no chain closes
/// into a cycle. Returns the chains in the order of their first ends.
std::vector<std::vector<std::int64_t>> join(const std::vector<link>& links, std::int64_t num_items) {
  struct neighbours {
    std::int64_t one = -1, other = -1;
  };
  std::vector<neighbours> beside(at(num_items));
  std::vector<std::int64_t> parent(at(num_items));
  std::iota(parent.begin(), parent.end(), std::int64_t{0});
  const auto root = [&](std::int64_t i) {
    while (parent[at(i)] != i) i = parent[at(i)] = parent[at(parent[at(i)])];
    return i;
  };
  for (const link& l : links) {
    neighbours &a = beside[at(l.a)], &b = beside[at(l.b)];
    if (a.other >= 0 || b.other >= 0) continue;
    const std::int64_t chain_a = root(l.a), chain_b = root(l.b);
    if (chain_a == chain_b) continue;
    parent[at(std::max(chain_a, chain_b))] = std::min(chain_a, chain_b);
    (a.one < 0 ? a.one : a.other) = l.b;
    (b.one < 0 ? b.one : b.other) = l.a;
  }
  std::vector<std::vector<std::int64_t>> chains;
  std::vector<bool> taken(at(num_items));
  for (std::int64_t start = 0; start < num_items; ++start) {
    if (taken[at(start)] || beside[at(start)].other >= 0) continue;  // not an end
    std::vector<std::int64_t>& chain = chains.emplace_back();
    for (std::int64_t item = start, former = -1; item >= 0;) {
      taken[at(item)] = true;
      chain.push_back(item);
      const neighbours n = beside[at(item)];
      const std::int64_t following = n.one == former ? n.other : n.one;
      former = item;
      item = following;
    }
  }
  return chains;
}

void require_permutation(std::span<const std::int64_t> order, std::int64_t rows) {
  if (static_cast<std::int64_t>(order.size()) != rows) {
    fail(errc::invalid_argument, "order has {} entries: must have one for each of {} rows", order.size(), rows);
  }
  std::vector<bool> seen(at(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t row = order[at(i)];
    if (row < 0 || row >= rows) {
      fail(errc::invalid_argument, "order[{}] = {}: must be at least 0 and below {}", i, row, rows);
    }
    if (seen[at(row)]) fail(errc::invalid_argument, "order[{}] = {}: occurs twice in the order", i, row);
    seen[at(row)] = true;
  }
}

template <index I>
std::vector<std::int64_t> order_by_similarity(const row_pattern<I>& a, const order_options& options) {
  std::vector<std::int64_t> order, empty;
  for (std::int64_t i = 0; i < a.rows; ++i) (a.count(i) > 0 ? order : empty).push_back(i);

  // One level after another: `order` holds the rows chain by chain, chain c from begin[c] on.
  signatures s = sign_rows(a, order, options);
  std::vector<std::int64_t> begin(order.size() + 1);
  std::iota(begin.begin(), begin.end(), std::int64_t{0});
  constexpr int max_levels = 12;
  for (int level = 0; level < max_levels && begin.size() > 2; ++level) {
    const auto num_items = static_cast<std::int64_t>(begin.size()) - 1;
    const auto links = best_links(s, num_items, [&](std::int64_t x, std::int64_t y) {
      if (level == 0) {
        const auto row_x = a.row(order[at(x)]), row_y = a.row(order[at(y)]);
        const auto shared = static_cast<double>(num_shared(row_x, row_y));
        return shared / (static_cast<double>(row_x.size() + row_y.size()) - shared);
      }
      int equal = 0;
      for (int k = 0; k < s.num_hashes; ++k) equal += s.of(x)[k] == s.of(y)[k];
      return static_cast<double>(equal) / s.num_hashes;
    });
    if (links.empty()) break;
    std::vector<std::int64_t> joined_order, joined_begin{0};
    signatures joined{s.num_hashes, {}};
    for (const auto& chain : join(links, num_items)) {
      const auto first_hash = joined.hash.size();
      joined.hash.insert(joined.hash.end(), s.of(chain.front()), s.of(chain.front()) + s.num_hashes);
      for (const std::int64_t item : chain) {
        joined_order.insert(joined_order.end(), order.begin() + begin[at(item)], order.begin() + begin[at(item) + 1]);
        for (int k = 0; k < s.num_hashes; ++k) {
          std::uint32_t& least = joined.hash[first_hash + at(k)];
          least = std::min(least, s.of(item)[k]);
        }
      }
      joined_begin.push_back(static_cast<std::int64_t>(joined_order.size()));
    }
    order = std::move(joined_order);
    begin = std::move(joined_begin);
    s = std::move(joined);
  }
  order.insert(order.end(), empty.begin(), empty.end());
  return order;
}

template <element T, index I>
csr_view<pattern, I> without_values(const csr_view<T, I>& a) {
  return {a.rows, a.cols, a.row_ptr, a.col_ind, pattern_span(a.values.size())};
}

}  // namespace

template <element T, index I>
std::vector<std::int64_t> order_rows_by_similarity(const csr_view<T, I>& a, const order_options& options) {
  require_host(a.space, "csr");
  if (options.num_hashes < 2 || options.num_hashes > 64) {
    fail(errc::invalid_argument, "num_hashes = {}: must lie in 2 .. 64", options.num_hashes);
  }
  require_at_least_one(options.col_bucket, "col_bucket");
  try {
    return order_by_similarity(row_pattern<I>{a.rows, a.cols, a.row_ptr, a.col_ind}, options);
  } catch (const std::bad_alloc&) {
    fail(errc::out_of_memory, "order of {} rows: no host memory left", a.rows);
  }
}

template <element T, index I>
csr_matrix<T, I> permute_rows(const csr_view<T, I>& a, std::span<const std::int64_t> order) {
  require_host(a.space, "csr");
  require_permutation(order, a.rows);
  auto row_ptr = storage<I>(a.rows + 1, "row_ptr");
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const std::int64_t row = order[at(i)];
    row_ptr[at(i) + 1] = static_cast<I>(row_ptr[at(i)] + (a.row_ptr[at(row) + 1] - a.row_ptr[at(row)]));
  }
  auto col_ind = storage<I>(a.nnz(), "col_ind");
  auto values = storage<T>(a.nnz(), "values");
  for_pieces(even_segment_cuts(row_ptr, a.rows), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t from = a.row_ptr[at(order[at(i)])];
      for (std::int64_t k = row_ptr[at(i)]; k < row_ptr[at(i) + 1]; ++k, ++from) {
        col_ind[at(k)] = a.col_ind[at(from)];
        values[at(k)] = a.values[at(from)];
      }
    }
  });
  return {a.rows, a.cols, std::move(row_ptr), std::move(col_ind), std::move(values), trust::trusted};
}

template <element T, index I>
order_comparison compare_orders(const csr_view<T, I>& a, std::span<const std::int64_t> order, std::int64_t m_block) {
  require_host(a.space, "csr");
  const std::int64_t heights[] = {m_block};
  const csr_view<pattern, I> given = without_values(a);
  const csr_matrix<pattern, I> ordered = permute_rows(given, order);
  return {analyse_blocks(given, heights).front(), analyse_blocks(ordered.view(), heights).front()};
}

template <element T, index I>
std::vector<std::int64_t> balanced_boundaries(const csr_view<T, I>& a, std::int64_t m_block,
                                              const balance_options& options) {
  require_host(a.space, "csr");
  require_at_least_one(m_block, "m_block");
  if (!(options.factor >= 1)) fail(errc::invalid_argument, "factor = {}: must be at least 1", options.factor);
  const std::int64_t num_blocks = ceil_div(a.rows, m_block);
  const double mean = static_cast<double>(a.nnz()) / static_cast<double>(std::max<std::int64_t>(num_blocks, 1));
  const double most = options.factor * mean;
  std::vector<std::int64_t> boundaries{0};
  std::int64_t held = 0;
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const std::int64_t count = std::int64_t{a.row_ptr[at(row) + 1]} - a.row_ptr[at(row)];
    const bool begins = row % m_block == 0;  // light row blocks stay where they would be
    if (row > 0 && (begins || static_cast<double>(held + count) > most) && row > boundaries.back()) {
      boundaries.push_back(row);
      held = 0;
    }
    held += count;
  }
  if (a.rows > 0) boundaries.push_back(a.rows);
  return boundaries;
}

template <element T, index I>
std::vector<std::int64_t> structural_boundaries(const csr_view<T, I>& a, std::int64_t m_block) {
  require_host(a.space, "csr");
  require_at_least_one(m_block, "m_block");
  // Reading a row block's pointers and starting on it costs about as much as this many columns.
  constexpr std::int64_t columns_of_a_block = 4;
  const row_pattern<I> p{a.rows, a.cols, a.row_ptr, a.col_ind};
  auto cost = storage<std::int64_t>(a.rows + 1, "costs");  // [row] of a cut before it: the columns it splits
  for_pieces(even_segment_cuts(a.row_ptr, a.rows), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t row = std::max<std::int64_t>(first, 1); row < last; ++row) {
      cost[at(row)] = columns_of_a_block + num_shared(p.row(row - 1), p.row(row));
    }
  });

  // From the end: cost[row] becomes the cost of the cut before `row` and the best ones behind it. Among equal ones the
  // farthest is taken: high row blocks first, as in uniform ones.
  auto next = storage<std::int64_t>(a.rows + 1, "cuts");
  std::deque<std::int64_t> least;  // cuts within reach, the nearest at the back; costs never fall towards it
  for (std::int64_t row = a.rows; row-- > 0;) {
    while (!least.empty() && cost[at(least.back())] > cost[at(row) + 1]) least.pop_back();
    least.push_back(row + 1);
    while (least.front() - row > m_block) least.pop_front();
    next[at(row)] = least.front();
    cost[at(row)] += cost[at(least.front())];
  }
  std::vector<std::int64_t> boundaries{0};
  while (boundaries.back() < a.rows) boundaries.push_back(next[at(boundaries.back())]);
  return boundaries;
}

#define BCSC_INSTANTIATE(T, I)                                                                                         \
  template std::vector<std::int64_t> order_rows_by_similarity(const csr_view<T, I>&, const order_options&);            \
  template csr_matrix<T, I> permute_rows(const csr_view<T, I>&, std::span<const std::int64_t>);                        \
  template order_comparison compare_orders(const csr_view<T, I>&, std::span<const std::int64_t>, std::int64_t);        \
  template std::vector<std::int64_t> balanced_boundaries(const csr_view<T, I>&, std::int64_t, const balance_options&); \
  template std::vector<std::int64_t> structural_boundaries(const csr_view<T, I>&, std::int64_t);
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
