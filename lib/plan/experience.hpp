#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>

#include "bcsc/types.hpp"
#include "lib/plan/cost_terms.hpp"

/// From measurements to a prediction: the terms of a row's time, each with its cost, and how far that was off in the
/// measured products that are most alike. One definition for the plan and the fit.
namespace bcsc::plan {

/// A row of a table that has been timed.
struct measured_row {
  value_type type;
  std::string_view name;
  double least;   ///< us: it never took less
  cost_terms us;  ///< for each term of cost_term
};

/// us, as the terms say.
inline double us_by_terms(const measured_row& row, const cost_terms& terms) {
  return std::max(row.least, std::inner_product(terms.begin(), terms.end(), row.us.begin(), 0.0));
}

/// Where a product stands among others: logarithms to base 2, each by its weight in the distance between two of them.
using standing = std::array<float, 7>;

inline standing standing_of(const product_shape& p) {
  const auto place = [](double weight, double x) { return static_cast<float>(weight * std::log2(std::max(x, 1e-3))); };
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  const double mean = number(p.nnz) / std::max(1.0, number(p.rows));
  return {place(1.0, number(p.cols)),
          place(0.5, number(p.nnz)),
          place(0.5, 1e-6 * number(p.inner * p.cols * p.value_bytes)),
          place(0.7, mean),
          place(0.5, number(p.longest_row) / std::max(0.1, mean)),
          place(1.5, number(p.nnz) / std::max(1.0, number(p.shared_nnzc))),
          place(1.5, number(p.bytes_at_once()))};
}

/// A product that the rows of its type have been timed on. `off` has a character for each of them, in their order among
/// the measured ones: how much longer than by terms it took (off_of).
struct known_case {
  value_type type;
  standing at;
  std::string_view off;
};

/// A ratio of times as one printable character, from 1/e to e in steps of 2 %, and back.
constexpr char even = 'O';
inline char off_of(double ratio) {
  return static_cast<char>(even + std::lround(46 * std::clamp(std::log(ratio), -1.0, 1.0)));
}
inline double log_of(char off) { return (off - even) / 46.0; }

/// What is known of a product from those like it.
class like_cases {
 public:
  like_cases() = default;
  like_cases(std::span<const known_case> known, value_type type, const product_shape& p) {
    // Without all of its statistics a product stands nowhere.
    if (p.shared_nnzc == 0 || p.longest_row == 0) return;
    const standing here = standing_of(p);
    for (const known_case& c : known) {
      if (c.type != type) continue;
      const auto square = [](float x, float y) { return static_cast<double>((x - y) * (x - y)); };
      const double square_distance =
          std::inner_product(here.begin(), here.end(), c.at.begin(), 0.0, std::plus<>{}, square);
      if (count_ == nearest_.size() && square_distance >= nearest_.back().square_distance) continue;
      // The nearest first; of those as far the one that is known first.
      std::size_t place = count_ < nearest_.size() ? count_++ : count_ - 1;
      for (; place > 0 && nearest_[place - 1].square_distance > square_distance; --place) {
        nearest_[place] = nearest_[place - 1];
      }
      nearest_[place] = {square_distance, c.off};
    }
  }

  /// By what the time that the terms say for a row, the how-manieth measured of its type, is to be multiplied.
  double factor(std::size_t row) const {
    constexpr double nearest = 0.05;  // nearer ones count no more
    constexpr double doubt = 0.5;     // as if a case at distance 1.4 had been just as the terms say
    double sum = 0, weights = doubt;
    for (const neighbour& n : std::span(nearest_).first(count_)) {
      const double distance = std::sqrt(n.square_distance);
      const double weight = 1 / ((distance + nearest) * (distance + nearest));
      sum += weight * log_of(n.off[row]);
      weights += weight;
    }
    return std::exp(sum / weights);
  }

 private:
  struct neighbour {
    double square_distance = 0;
    std::string_view off;
  };
  std::array<neighbour, 8> nearest_;
  std::size_t count_ = 0;
};

}  // namespace bcsc::plan
