#include "lib/solvers/setup_matrix.hpp"

#include <algorithm>

#include "converters/formats/parallel.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "kernels/vector/block_ops.hpp"

namespace bcsc::solvers {

using converters::even_cuts;
using converters::even_segment_cuts;
using converters::for_pieces;
using core::at;

namespace {

/// Sums over this many elements are taken in a fixed order; a thread takes whole chunks.
constexpr std::int64_t chunk = 4096;

/// The sum of one row of a product, column by column; what has been touched is known from the row's number.
class row_sum {
 public:
  explicit row_sum(std::int64_t cols) : row_of_(at(cols), -1), sum_(at(cols)) {}

  /// The columns of row i of A B in ascending order; sum() has their values.
  const std::vector<std::int32_t>& add(const setup_matrix& a, const setup_matrix& b, std::int64_t i) {
    touched_.clear();
    const auto row = static_cast<std::int32_t>(i);
    for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) {
      const double factor = a.values[at(p)];
      const std::int64_t k = a.col_ind[at(p)];
      for (std::int64_t q = b.row_ptr[at(k)]; q < b.row_ptr[at(k) + 1]; ++q) {
        const std::int32_t j = b.col_ind[at(q)];
        if (row_of_[at(j)] != row) {
          row_of_[at(j)] = row;
          sum_[at(j)] = factor * b.values[at(q)];
          touched_.push_back(j);
        } else {
          sum_[at(j)] += factor * b.values[at(q)];
        }
      }
    }
    std::sort(touched_.begin(), touched_.end());
    return touched_;
  }
  double sum(std::int32_t column) const { return sum_[at(column)]; }

 private:
  std::vector<std::int32_t> row_of_;
  std::vector<double> sum_;
  std::vector<std::int32_t> touched_;
};

/// [a.rows + 1] multiplications before each row of A B.
std::vector<std::int64_t> work_before(const setup_matrix& a, const setup_matrix& b) {
  auto work = converters::storage<std::int64_t>(a.rows + 1, "the rows of a product");
  for_pieces(even_segment_cuts(a.row_ptr, a.rows), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t sum = 0;
      for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) {
        const std::int64_t k = a.col_ind[at(p)];
        sum += b.row_ptr[at(k) + 1] - b.row_ptr[at(k)];
      }
      work[at(i) + 1] = sum;
    }
  });
  for (std::int64_t i = 0; i < a.rows; ++i) work[at(i) + 1] += work[at(i)];
  return work;
}

/// The entries of A B, without their values.
std::int64_t count_entries(const setup_matrix& a, const setup_matrix& b, const std::vector<std::int64_t>& cuts) {
  std::vector<std::int64_t> counts(cuts.size(), 0);
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> row_of(at(b.cols), -1);
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) {
        const std::int64_t k = a.col_ind[at(p)];
        for (std::int64_t q = b.row_ptr[at(k)]; q < b.row_ptr[at(k) + 1]; ++q) {
          std::int64_t& last_row = row_of[at(b.col_ind[at(q)])];
          counts[at(piece)] += last_row != i ? 1 : 0;
          last_row = i;
        }
      }
    }
  });
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) sum += count;
  return sum;
}

/// A product is computed in pieces and then copied together: twice its entries. The number of multiplications bounds
/// them, and where even that fits nothing is counted.
void require_memory(const setup_matrix& a, const setup_matrix& b, std::int64_t work,
                    const std::vector<std::int64_t>& cuts, const char* what) {
  constexpr std::int64_t entry_bytes = 2 * (sizeof(double) + sizeof(std::int32_t));
  const std::int64_t available = core::measure_memory().least();
  if (core::saturating_product(work, entry_bytes) <= available) return;
  const std::int64_t entries = count_entries(a, b, cuts);
  if (core::saturating_product(entries, entry_bytes) <= available) return;
  core::fail(errc::out_of_memory, "{} has {} entries: {} are needed to compute it, {} are available", what,
             core::count_text(entries), core::bytes_text(core::saturating_product(entries, entry_bytes)),
             core::bytes_text(available));
}

}  // namespace

template <value T, index I>
setup_matrix to_setup(const csr_view<T, I>& a) {
  if (a.space == memory_space::device) {
    const auto row_ptr = core::copy_to_host(a.row_ptr, a.space);
    const auto col_ind = core::copy_to_host(a.col_ind, a.space);
    const auto values = core::copy_to_host(a.values, a.space);
    return to_setup(csr_view<T, I>{a.rows, a.cols, row_ptr, col_ind, values, memory_space::host});
  }
  validate(a);
  setup_matrix made;
  made.rows = core::narrow<std::int32_t>(a.rows, "rows");
  made.cols = core::narrow<std::int32_t>(a.cols, "cols");
  made.row_ptr.assign(a.row_ptr.begin(), a.row_ptr.end());
  made.col_ind = converters::storage<std::int32_t>(a.nnz(), "the set-up's copy of A");
  made.values = converters::storage<double>(a.nnz(), "the set-up's copy of A");
  for_pieces(even_cuts(a.nnz()), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t p = first; p < last; ++p) {
      made.col_ind[at(p)] = static_cast<std::int32_t>(a.col_ind[at(p)]);
      made.values[at(p)] = static_cast<double>(a.values[at(p)]);
    }
  });
  return made;
}

void multiply(const setup_matrix& a, std::span<const double> x, std::span<double> y) {
  for_pieces(even_segment_cuts(a.row_ptr, a.rows), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      double sum = 0;
      for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) {
        sum += a.values[at(p)] * x[at(a.col_ind[at(p)])];
      }
      y[at(i)] = sum;
    }
  });
}

setup_matrix multiply(const setup_matrix& a, const setup_matrix& b, const char* what) {
  const std::vector<std::int64_t> work = work_before(a, b);
  const std::vector<std::int64_t> cuts =
      even_cuts(a.rows, converters::worthwhile_pieces(work.back()), [&](std::int64_t i) { return work[at(i)] + i; });
  require_memory(a, b, work.back(), cuts, what);

  setup_matrix made{a.rows, b.cols, converters::storage<std::int64_t>(a.rows + 1, what), {}, {}};
  struct part {
    std::vector<std::int32_t> columns;
    std::vector<double> values;
  };
  std::vector<part> parts(cuts.size());
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    part& mine = parts[at(piece)];
    row_sum sum(b.cols);
    for (std::int64_t i = first; i < last; ++i) {
      const std::vector<std::int32_t>& columns = sum.add(a, b, i);
      mine.columns.insert(mine.columns.end(), columns.begin(), columns.end());
      for (const std::int32_t j : columns) mine.values.push_back(sum.sum(j));
      made.row_ptr[at(i) + 1] = std::ssize(columns);
    }
  });
  for (std::int64_t i = 0; i < a.rows; ++i) made.row_ptr[at(i) + 1] += made.row_ptr[at(i)];
  made.col_ind = converters::storage<std::int32_t>(made.row_ptr.back(), what);
  made.values = converters::storage<double>(made.row_ptr.back(), what);
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t) {
    part& mine = parts[at(piece)];
    const std::int64_t begin = made.row_ptr[at(first)];
    std::copy(mine.columns.begin(), mine.columns.end(), made.col_ind.begin() + begin);
    std::copy(mine.values.begin(), mine.values.end(), made.values.begin() + begin);
    mine = {};
  });
  return made;
}

setup_matrix transpose(const setup_matrix& a) {
  setup_matrix made{a.cols, a.rows, converters::storage<std::int64_t>(a.cols + 1, "a transpose"),
                    converters::storage<std::int32_t>(a.nnz(), "a transpose"),
                    converters::storage<double>(a.nnz(), "a transpose")};
  // A piece counts its entries in each column, and then knows where those of the pieces before it end. Few pieces, for
  // each has a counter for every column.
  const std::int64_t pieces = std::min(converters::num_threads(), converters::worthwhile_pieces(a.nnz()));
  const std::vector<std::int64_t> cuts =
      even_cuts(a.rows, pieces, [&](std::int64_t i) { return a.row_ptr[at(i)] + i; });
  std::vector<std::vector<std::int64_t>> next(cuts.size());
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    next[at(piece)].assign(at(a.cols), 0);
    for (std::int64_t p = a.row_ptr[at(first)]; p < a.row_ptr[at(last)]; ++p) ++next[at(piece)][at(a.col_ind[at(p)])];
  });
  std::int64_t before = 0;
  for (std::int64_t j = 0; j < a.cols; ++j) {
    for (std::size_t piece = 0; piece + 1 < cuts.size(); ++piece) {
      const std::int64_t count = next[piece][at(j)];
      next[piece][at(j)] = before;
      before += count;
    }
    made.row_ptr[at(j) + 1] = before;
  }
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) {
        const std::int64_t to = next[at(piece)][at(a.col_ind[at(p)])]++;
        made.col_ind[at(to)] = static_cast<std::int32_t>(i);
        made.values[at(to)] = a.values[at(p)];
      }
    }
  });
  return made;
}

std::vector<double> diagonal_of(const setup_matrix& a) {
  std::vector<double> diagonal(at(a.rows), 0.0);
  for_pieces(even_segment_cuts(a.row_ptr, a.rows), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const auto begin = a.col_ind.begin() + a.row_ptr[at(i)], end = a.col_ind.begin() + a.row_ptr[at(i) + 1];
      const auto found = std::lower_bound(begin, end, static_cast<std::int32_t>(i));
      if (found != end && *found == i) diagonal[at(i)] = a.values[at(found - a.col_ind.begin())];
    }
  });
  return diagonal;
}

double dot(std::span<const double> x, std::span<const double> y) {
  const std::int64_t n = std::ssize(x);
  std::vector<double> sums(at(core::ceil_div(n, chunk)), 0.0);
  for_pieces(even_cuts(std::ssize(sums), converters::worthwhile_pieces(n), [](std::int64_t i) { return i; }),
             [&](std::int64_t, std::int64_t first, std::int64_t last) {
               for (std::int64_t c = first; c < last; ++c) {
                 double sum = 0;
                 for (std::int64_t i = c * chunk; i < std::min(n, (c + 1) * chunk); ++i) sum += x[at(i)] * y[at(i)];
                 sums[at(c)] = sum;
               }
             });
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

std::vector<double> random_vector(std::int64_t n, std::uint64_t seed) {
  auto numbers = converters::storage<double>(n, "a random vector");
  for (std::int64_t i = 0; i < n; ++i) {
    numbers[at(i)] = kernels::vector::random_element<double>(seed, static_cast<std::uint64_t>(i));
  }
  return numbers;
}

template setup_matrix to_setup(const csr_view<float, std::int32_t>&);
template setup_matrix to_setup(const csr_view<float, std::int64_t>&);
template setup_matrix to_setup(const csr_view<double, std::int32_t>&);
template setup_matrix to_setup(const csr_view<double, std::int64_t>&);

}  // namespace bcsc::solvers
