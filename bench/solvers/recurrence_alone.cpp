#include "bench/solvers/recurrence_alone.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/solvers/rounded_products.hpp"

namespace bcsc::bench {

json recurrence_alone(const dense_matrix<double>& points, const dense_matrix<double>& y) {
  constexpr double limit = 1e-6;
  fmt::print("\nStopped by the recurrence, r'r <= {:g}, TF32 emulated on the host\n", limit);
  fmt::print("{:<42} {:>6} {:>10} {:>10}\n", "correction", "steps", "r'r", "true r'r");
  const std::int64_t n = points.rows(), m = points.cols();
  using column = std::vector<double>;
  column rounded(static_cast<std::size_t>(n * m));
  const auto narrow = [](double value) { return static_cast<double>(to_tf32(static_cast<float>(value))); };
  std::transform(points.data(), points.data() + n * m, rounded.begin(), narrow);
  const auto apply = [&](const double* x, const column& in, bool rounds) {
    column out(in.size()), between(static_cast<std::size_t>(m));
    const auto rounded_if = [&](double value) { return rounds ? narrow(value) : value; };
    for (std::int64_t i = 0; i < n; ++i) {
      const double weight = rounded_if(in[static_cast<std::size_t>(i)]);
      for (std::int64_t f = 0; f < m; ++f) between[static_cast<std::size_t>(f)] += x[i * m + f] * weight;
    }
    for (double& entry : between) entry = rounded_if(entry);
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = in[static_cast<std::size_t>(i)];
      for (std::int64_t f = 0; f < m; ++f) sum += x[i * m + f] * between[static_cast<std::size_t>(f)];
      out[static_cast<std::size_t>(i)] = sum;
    }
    return out;
  };
  const auto dot = [](const column& a, const column& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  struct recipe {
    const char* name;
    std::int64_t every;  ///< 0: never
    bool rounds_residual, restarts;
  };
  json all = json::array();
  for (const recipe& how : {recipe{"none", 0, true, false},
                            {"TF32 residual every 50, old direction", 50, true, false},
                            {"fp64 residual every 50, old direction", 50, false, false},
                            {"fp64 residual every 50, fresh direction", 50, false, true}}) {
    const column b(y.data(), y.data() + n);
    column x(b.size(), 0.0), r = b, p = b;
    double rr = dot(r, r);
    std::int64_t steps = 0;
    while (rr > limit && steps < 500 && std::isfinite(rr)) {
      const column q = apply(rounded.data(), p, true);
      const double alpha = rr / dot(p, q);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += alpha * p[i];
      const bool is_due = how.every > 0 && ++steps % how.every == 0;
      if (how.every == 0) ++steps;
      if (is_due) {
        const column ax = apply(how.rounds_residual ? rounded.data() : points.data(), x, how.rounds_residual);
        for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - ax[i];
      } else {
        for (std::size_t i = 0; i < r.size(); ++i) r[i] -= alpha * q[i];
      }
      const double next = dot(r, r), beta = is_due && how.restarts ? 0 : next / rr;
      for (std::size_t i = 0; i < p.size(); ++i) p[i] = r[i] + beta * p[i];
      rr = next;
    }
    column residual = apply(points.data(), x, false);
    for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = b[i] - residual[i];
    fmt::print("{:<42} {:>6} {:>10.1e} {:>10.1e}\n", how.name, steps, rr, dot(residual, residual));
    all.push_back({{"correction", how.name},
                   {"iterations", steps},
                   {"rr", finite_or_null(rr)},
                   {"true_rr", finite_or_null(dot(residual, residual))}});
  }
  return all;
}

}  // namespace bcsc::bench
