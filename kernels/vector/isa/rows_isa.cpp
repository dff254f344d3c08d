// Gram matrices and combinations of a range of rows. Compiled once for each instruction set, as spmm_isa.cpp is and
// with the same care: everything lies in the instruction set's namespace, and nothing of the standard library is
// called.
//
// Both are sums of outer products, so one loop does all the arithmetic: a tile of sums stays in registers while the
// terms go by. gram() sums over rows, combine() over the columns of X. It is a loop over doubles: rows of another type,
// or with weights, become doubles in L1 first, a panel of rows and a strip of columns at a time.
//
// Order           sums go over the terms as they come, each term fused where the instruction set can: no bit depends on
//                 where in a tile a sum lies.
// Bytes moved     rows once, from L2 for the tiles beyond the first; S and sums stay in L1.
// Preconditions   at least one column of Y; any alignment.

#include "kernels/cpu/isa/lanes.hpp"
#include "kernels/vector/rows.hpp"

namespace bcsc::kernels::vector::BCSC_ISA {
namespace {

using namespace cpu::BCSC_ISA;
using std::int64_t;

/// A tile of sums fills the registers, but for the vectors of a term and a factor.
constexpr int tile_vectors = 3;
constexpr int tile_rows = num_registers >= 32 ? 8 : 4;
/// Rows and columns whose terms are brought to L1 together.
constexpr int64_t panel_rows = 64, strip_cols = 64;

constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// What is summed: sums(a, b) += the sum over i of x(a, i) y(i, b).
struct outer_products {
  int64_t count;    ///< of terms
  const double* x;  ///< x(a, i) = x[a * across + i * along]
  int64_t across, along;
  const double* y;  ///< y(i, b) = y[i * ld_y + b]
  int64_t ld_y;
  double* sums;  ///< sums(a, b) = sums[a * ld + b]
  int64_t ld;
  bool fresh;  ///< sums begin at 0

  outer_products from(int64_t a, int64_t b) const {
    outer_products rest = *this;
    rest.x += a * across;
    rest.y += b;
    rest.sums += a * ld + b;
    return rest;
  }
};

template <bool Whole>
[[gnu::always_inline]] inline vec<double> load_some(const double* from, part<double, vector_bytes> lanes) {
  if constexpr (Whole) {
    return load(from);
  } else {
    return load(from, lanes);
  }
}

/// The sums of a tile, Rows x Vectors; of the last vector `lanes` unless it is Whole.
template <int Rows, int Vectors, bool Whole>
void add_tile(const outer_products& of, part<double, vector_bytes> lanes) {
  constexpr int last = Vectors - 1;
  vec<double> sums[Rows][Vectors];
#pragma GCC unroll 8
  for (int a = 0; a < Rows; ++a) {
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) {
      const double* const from = of.sums + a * of.ld + v * width<double>;
      sums[a][v] = of.fresh ? vec<double>{} : v < last ? load(from) : load_some<Whole>(from, lanes);
    }
  }
  const double *x = of.x, *y = of.y;
  for (int64_t i = 0; i < of.count; ++i, x += of.along, y += of.ld_y) {
    vec<double> term[Vectors];
#pragma GCC unroll 3
    for (int v = 0; v < last; ++v) term[v] = load(y + v * width<double>);
    term[last] = load_some<Whole>(y + last * width<double>, lanes);
#pragma GCC unroll 8
    for (int a = 0; a < Rows; ++a) {
      const double factor = x[a * of.across];
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) sums[a][v] = multiply_add(factor, term[v], sums[a][v]);
    }
  }
#pragma GCC unroll 8
  for (int a = 0; a < Rows; ++a) {
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) {
      double* const to = of.sums + a * of.ld + v * width<double>;
      if (Whole || v < last) {
        store(to, sums[a][v]);
      } else {
        store(to, sums[a][v], lanes);
      }
    }
  }
}

/// `rows` rows of tiles as wide as `Vectors`, the tallest first.
template <int Vectors, bool Whole, int Rows = tile_rows>
void add_tiles(outer_products of, int64_t rows, part<double, vector_bytes> lanes) {
  for (; rows >= Rows; rows -= Rows, of = of.from(Rows, 0)) add_tile<Rows, Vectors, Whole>(of, lanes);
  if constexpr (Rows > 1) add_tiles<Vectors, Whole, Rows / 2>(of, rows, lanes);
}

template <int Vectors = tile_vectors>
void add_column_of_tiles(const outer_products& of, int64_t rows, int64_t cols) {
  if constexpr (Vectors > 1) {
    if (cols <= (Vectors - 1) * width<double>) return add_column_of_tiles<Vectors - 1>(of, rows, cols);
  }
  const part<double, vector_bytes> lanes(cols - (Vectors - 1) * width<double>);
  if (cols == Vectors * width<double>) return add_tiles<Vectors, true>(of, rows, lanes);
  add_tiles<Vectors, false>(of, rows, lanes);
}

void add(const outer_products& of, int64_t rows, int64_t cols) {
  constexpr int64_t step = tile_vectors * width<double>;
  for (int64_t b = 0; b < cols; b += step) add_column_of_tiles(of.from(0, b), rows, least(step, cols - b));
}

/// The columns [first, first + cols) of a panel as doubles, row i times d[i] unless d is null.
class strip {
 public:
  template <class T>
  strip(row_range<const T> of, int64_t first, int64_t rows, const T* d) : cols(least(strip_cols, of.cols - first)) {
    if constexpr (sizeof(T) == sizeof(double)) {
      if (d == nullptr) {
        at = of.at + first;
        ld = of.ld;
        return;
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      const T* const from = of.at + i * of.ld + first;
      double* const to = doubles_ + i * cols;
      const double weight = d != nullptr ? static_cast<double>(d[i]) : 1.0;
      for (int64_t j = 0; j < cols; ++j) to[j] = weight * static_cast<double>(from[j]);
    }
    at = doubles_;
    ld = cols;
  }
  strip(const strip&) = delete;
  strip& operator=(const strip&) = delete;

  const double* at;
  int64_t ld = 0;
  const int64_t cols;

 private:
  alignas(64) double doubles_[panel_rows * strip_cols];
};

template <class T>
row_range<T> rows_from(row_range<T> of, int64_t row) {
  return {of.at + row * of.ld, of.ld, of.cols};
}

template <class T>
void gram(int64_t n, row_range<const T> x, const T* d, row_range<const T> y, double* sums) {
  if (n == 0) {
    for (int64_t at = 0; at < x.cols * y.cols; ++at) sums[at] = 0;
  }
  for (int64_t row = 0; row < n; row += panel_rows) {
    const int64_t rows = least(panel_rows, n - row);
    const T* const weights = d != nullptr ? d + row : nullptr;
    for (int64_t a = 0; a < x.cols; a += strip_cols) {
      const strip left(rows_from(x, row), a, rows, weights);
      for (int64_t b = 0; b < y.cols; b += strip_cols) {
        const strip right(rows_from(y, row), b, rows, static_cast<const T*>(nullptr));
        add({.count = rows,
             .x = left.at,
             .across = 1,
             .along = left.ld,
             .y = right.at,
             .ld_y = right.ld,
             .sums = sums + a * y.cols + b,
             .ld = y.cols,
             .fresh = row == 0},
            left.cols, right.cols);
      }
    }
  }
}

/// Some columns of a panel of Y on their way: in Y itself, where its elements are doubles.
template <class T>
class target {
 public:
  target(row_range<T> y, int64_t rows, double beta) : y_(y), rows_(rows), is_fresh_(beta == 0) {
    if constexpr (in_place) {
      sums_ = y.at;
      ld_ = y.ld;
      if (beta == 1) return;
    } else {
      sums_ = doubles_;
      ld_ = y.cols;
    }
    if (is_fresh_) return;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < y.cols; ++j) sums_[i * ld_ + j] = beta * static_cast<double>(y.at[i * y.ld + j]);
    }
  }
  target(const target&) = delete;
  target& operator=(const target&) = delete;

  /// += diag(d) X S, s the columns of S that are wanted, whose rows lie ld_s apart.
  void add_product(row_range<const T> x, const T* d, const double* s, int64_t ld_s) {
    for (int64_t a = 0; a < x.cols; a += strip_cols) {
      const strip left(x, a, rows_, d);
      add({.count = left.cols,
           .x = left.at,
           .across = left.ld,
           .along = 1,
           .y = s + a * ld_s,
           .ld_y = ld_s,
           .sums = sums_,
           .ld = ld_,
           .fresh = is_fresh_},
          rows_, y_.cols);
      is_fresh_ = false;
    }
  }

  void store_sums() const {
    if (in_place && !is_fresh_) return;
    for (int64_t i = 0; i < rows_; ++i) {
      for (int64_t j = 0; j < y_.cols; ++j) {
        y_.at[i * y_.ld + j] = is_fresh_ ? T{0} : static_cast<T>(sums_[i * ld_ + j]);
      }
    }
  }

 private:
  static constexpr bool in_place = sizeof(T) == sizeof(double);
  row_range<T> y_;
  int64_t rows_, ld_ = 0;
  bool is_fresh_;  ///< nothing has been added yet, and sums_ is not set
  double* sums_;
  alignas(64) double doubles_[in_place ? 1 : panel_rows * strip_cols];
};

template <class T>
void combine(int64_t n, row_range<const T> x, const T* d, const double* s, row_range<const T> z, const double* r,
             double beta, row_range<T> y) {
  for (int64_t row = 0; row < n; row += panel_rows) {
    const int64_t rows = least(panel_rows, n - row);
    for (int64_t b = 0; b < y.cols; b += strip_cols) {
      target<T> to({y.at + row * y.ld + b, y.ld, least(strip_cols, y.cols - b)}, rows, beta);
      to.add_product(rows_from(x, row), d != nullptr ? d + row : nullptr, s + b, y.cols);
      if (z.cols > 0) to.add_product(rows_from(z, row), nullptr, r + b, y.cols);
      to.store_sums();
    }
  }
}

}  // namespace

template <class T>
const row_operations<T>& rows() {
  static constexpr row_operations<T> table{.gram = &gram<T>, .combine = &combine<T>};
  return table;
}

template const row_operations<float>& rows<float>();
template const row_operations<double>& rows<double>();

}  // namespace bcsc::kernels::vector::BCSC_ISA
