#include <algorithm>
#include <memory>
#include <mutex>

#include "core/checked.hpp"
#include "core/memory.hpp"
#include "lib/solvers/setup_matrix.hpp"

namespace bcsc::solvers {

using converters::even_cuts;
using converters::even_segment_cuts;
using converters::for_pieces;
using core::at;

namespace {

/// The sum of one row of a product, column by column; what has been touched is known from the row's number.
class row_sum {
 public:
  explicit row_sum(std::int64_t cols) : row_of_(at(cols), -1), sum_(unset<double>(cols, "a row of a product")) {}

  /// Row i of A B: its columns, ascending, and their values. Returns how many.
  std::int64_t add(const setup_matrix& a, const setup_matrix& b, std::int64_t i, std::int32_t* columns,
                   double* values) {
    const auto row = static_cast<std::int32_t>(i);
    std::int32_t* const row_of = row_of_.data();
    double* const sum = sum_.data();
    const std::int64_t* const b_ptr = b.row_ptr.data();
    const std::int32_t* const b_ind = b.col_ind.data();
    const double* const b_val = b.values.data();
    std::int64_t count = 0;
    for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) {
      const double factor = a.values[at(p)];
      const std::int64_t k = a.col_ind[at(p)];
      for (std::int64_t q = b_ptr[k]; q < b_ptr[k + 1]; ++q) {
        const std::int32_t j = b_ind[q];
        if (row_of[j] != row) {
          row_of[j] = row;
          sum[j] = factor * b_val[q];
          columns[count++] = j;
        } else {
          sum[j] += factor * b_val[q];
        }
      }
    }
    std::sort(columns, columns + count);
    for (std::int64_t c = 0; c < count; ++c) values[c] = sum[columns[c]];
    return count;
  }

 private:
  std::vector<std::int32_t> row_of_;
  setup_array<double> sum_;
};

/// As many of them as work at the same time: each is as long as a row of the product, and setting it for every piece
/// would cost more than the piece.
class row_sums {
 public:
  explicit row_sums(std::int64_t cols) : cols_(cols) {}

  template <class Use>
  void with_one(const Use& use) {
    std::unique_ptr<row_sum> mine;
    {
      const std::lock_guard lock(taken_);
      if (!idle_.empty()) {
        mine = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (!mine) mine = std::make_unique<row_sum>(cols_);
    use(*mine);
    const std::lock_guard lock(taken_);
    idle_.push_back(std::move(mine));
  }

 private:
  std::int64_t cols_;
  std::mutex taken_;
  std::vector<std::unique_ptr<row_sum>> idle_;
};

/// [a.rows + 1] multiplications before each row of A B.
setup_array<std::int64_t> work_before(const setup_matrix& a, const setup_matrix& b) {
  auto work = unset<std::int64_t>(a.rows + 1, "the rows of a product");
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
  point_to_segments(work);
  return work;
}

/// The entries of A B in each piece, without their values.
std::vector<std::int64_t> count_entries(const setup_matrix& a, const setup_matrix& b,
                                        const std::vector<std::int64_t>& cuts) {
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
  return counts;
}

/// At least the entries of A B in each piece, for which memory is asked; what is not written takes none. The number of
/// multiplications bounds them, and only where that does not fit they are counted. A product is computed in pieces and
/// then copied together: twice its entries.
std::vector<std::int64_t> room_for(const setup_matrix& a, const setup_matrix& b, const setup_array<std::int64_t>& work,
                                   const std::vector<std::int64_t>& cuts, const char* what) {
  constexpr std::int64_t entry_bytes = 2 * (sizeof(double) + sizeof(std::int32_t));
  const std::int64_t available = core::measure_memory().least();
  if (core::saturating_product(work.back(), entry_bytes) <= available) {
    std::vector<std::int64_t> room(cuts.size(), 0);
    for (std::size_t piece = 0; piece + 1 < cuts.size(); ++piece) {
      room[piece] = work[at(cuts[piece + 1])] - work[at(cuts[piece])];
    }
    return room;
  }
  std::vector<std::int64_t> counts = count_entries(a, b, cuts);
  std::int64_t entries = 0;
  for (const std::int64_t count : counts) entries += count;
  if (core::saturating_product(entries, entry_bytes) <= available) return counts;
  core::fail(errc::out_of_memory, "{} has {} entries: {} are needed to compute it, {} are available", what,
             core::count_text(entries), core::bytes_text(core::saturating_product(entries, entry_bytes)),
             core::bytes_text(available));
}

}  // namespace

setup_matrix multiply(const setup_matrix& a, const setup_matrix& b, const char* what) {
  return multiply(a, b, what, [](std::int64_t, std::span<const std::int32_t>, std::span<double>) {});
}

setup_matrix multiply(const setup_matrix& a, const setup_matrix& b, const char* what, row_change change) {
  const setup_array<std::int64_t> work = work_before(a, b);
  const std::vector<std::int64_t> cuts =
      even_cuts(a.rows, converters::worthwhile_pieces(work.back()), [&](std::int64_t i) { return work[at(i)] + i; });
  const std::vector<std::int64_t> room = room_for(a, b, work, cuts, what);

  setup_matrix made{a.rows, b.cols, unset<std::int64_t>(a.rows + 1, what), {}, {}};
  struct part {
    std::unique_ptr<std::int32_t[]> columns;
    std::unique_ptr<double[]> values;
  };
  std::vector<part> parts(cuts.size());
  row_sums sums(b.cols);
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    part& mine = parts[at(piece)];
    mine.columns = std::make_unique_for_overwrite<std::int32_t[]>(at(room[at(piece)]));
    mine.values = std::make_unique_for_overwrite<double[]>(at(room[at(piece)]));
    sums.with_one([&](row_sum& sum) {
      std::int32_t* columns = mine.columns.get();
      double* values = mine.values.get();
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t count = sum.add(a, b, i, columns, values);
        change(i, {columns, at(count)}, {values, at(count)});
        made.row_ptr[at(i) + 1] = count;
        columns += count;
        values += count;
      }
    });
  });
  point_to_segments(made.row_ptr);
  made.col_ind = unset<std::int32_t>(made.row_ptr.back(), what);
  made.values = unset<double>(made.row_ptr.back(), what);
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    part& mine = parts[at(piece)];
    const std::int64_t begin = made.row_ptr[at(first)], count = made.row_ptr[at(last)] - begin;
    std::copy_n(mine.columns.get(), count, made.col_ind.begin() + begin);
    std::copy_n(mine.values.get(), count, made.values.begin() + begin);
    mine = {};
  });
  return made;
}

setup_matrix transpose(const setup_matrix& a) {
  setup_matrix made{a.cols, a.rows, unset<std::int64_t>(a.cols + 1, "a transpose"),
                    unset<std::int32_t>(a.nnz(), "a transpose"), unset<double>(a.nnz(), "a transpose")};
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
  for_each_of(a.cols, [&](std::int64_t j) {
    std::int64_t count = 0;
    for (std::size_t piece = 0; piece + 1 < cuts.size(); ++piece) count += next[piece][at(j)];
    made.row_ptr[at(j) + 1] = count;
  });
  point_to_segments(made.row_ptr);
  for_each_of(a.cols, [&](std::int64_t j) {
    std::int64_t before = made.row_ptr[at(j)];
    for (std::size_t piece = 0; piece + 1 < cuts.size(); ++piece) {
      const std::int64_t count = next[piece][at(j)];
      next[piece][at(j)] = before;
      before += count;
    }
  });
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

}  // namespace bcsc::solvers
