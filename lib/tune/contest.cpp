#include "lib/tune/contest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace bcsc::tuning {
namespace {

/// A product that takes at least this long is a sample by itself.
constexpr double long_seconds = 1e-2;
constexpr std::int64_t max_products = 64;
/// A contestant that is this far behind the fastest after two samples drops out.
constexpr double hopeless = 1.2;
constexpr double noise = 0.005;

double run_products(stopwatch& watch, std::size_t i, std::int64_t count, contest_result& s) {
  s.num_products += count;
  return watch.seconds(i, count);
}

/// A rough time of one product, after another that warms the caches; a long one runs once.
void estimate(stopwatch& watch, std::size_t i, contest_result& s) {
  s.estimate = run_products(watch, i, 1, s);
  if (s.estimate >= long_seconds) {
    s.samples.push_back(s.estimate);
  } else {
    s.estimate = run_products(watch, i, 1, s);
  }
}

void take_sample(stopwatch& watch, std::size_t i, double sample_seconds, contest_result& s) {
  const double wanted = std::ceil(sample_seconds / std::max(s.estimate, 1e-9));
  const double count = std::clamp(wanted, 1.0, static_cast<double>(max_products));
  s.samples.push_back(run_products(watch, i, static_cast<std::int64_t>(count), s));
}

class race {
 public:
  race(stopwatch& watch, std::size_t num, const contest_rules& rules) : watch_(watch), rules_(rules), all_(num) {}

  std::vector<contest_result> run(const std::function<void(double)>& advanced) {
    const auto tell = [&] {
      if (advanced) advanced(share_done());
    };
    for (std::size_t i = 0; i < all_.size() && (i == 0 || !is_over()); ++i) {
      qualify(i);
      tell();
    }
    drop_slow(0);
    for (int round = 0; round < rules_.max_rounds && (round == 0 || alive_.size() > 1); ++round) {
      // Forwards and backwards in turn, so that a drifting clock favours no contestant.
      std::vector<std::size_t> order = alive_;
      if (round % 2 == 1) std::ranges::reverse(order);
      for (const std::size_t i : order) {
        if (is_over()) return std::move(all_);
        sample(i);
        tell();
      }
      drop_slow(round + 1);
    }
    return std::move(all_);
  }

 private:
  void qualify(std::size_t i) {
    estimate(watch_, i, all_[i]);
    fastest_ = std::min(fastest_, all_[i].seconds());
    alive_.push_back(i);
  }

  void sample(std::size_t i) {
    take_sample(watch_, i, rules_.sample_seconds, all_[i]);
    fastest_ = std::min(fastest_, all_[i].seconds());
  }

  /// After `rounds` rounds.
  void drop_slow(int rounds) {
    if (alive_.empty()) return;
    const auto least = [&](std::size_t i) { return all_[i].min_seconds(); };
    std::ranges::sort(alive_, {}, [&](std::size_t i) { return std::pair(least(i), i); });
    std::size_t kept = alive_.size();
    if (kept > rules_.num_finalists) {
      kept = std::max(rules_.num_finalists, (kept + 1) / 2);
    } else if (rounds > 1) {
      const contest_result& best = all_[alive_.front()];
      const auto is_hopeless = [&](const contest_result& s) {
        return s.min_seconds() > hopeless * best.min_seconds() && s.seconds() > hopeless * best.seconds();
      };
      while (is_hopeless(all_[alive_[kept - 1]])) --kept;
    }
    for (std::size_t k = kept; k < alive_.size(); ++k) all_[alive_[k]].dropped = true;
    alive_.resize(kept);
  }

  double budget() const {
    const double products = std::isinf(fastest_) ? 0 : static_cast<double>(rules_.budget_products) * fastest_;
    return std::max(rules_.budget_seconds, products);
  }
  /// The part of the elapsed time that undisturbed products would have taken.
  double charged() const {
    if (rules_.patience <= 1) return watch_.elapsed();
    double seconds = 0;
    for (const contest_result& s : all_) seconds += static_cast<double>(s.num_products) * s.min_seconds();
    return std::max(seconds, watch_.elapsed() / rules_.patience);
  }
  bool is_over() const { return charged() >= budget(); }
  double share_done() const { return std::min(1.0, charged() / std::max(budget(), 1e-9)); }

  stopwatch& watch_;
  const contest_rules& rules_;
  std::vector<contest_result> all_;
  std::vector<std::size_t> alive_;
  double fastest_ = std::numeric_limits<double>::infinity();
};

}  // namespace

double contest_result::seconds() const {
  if (samples.empty()) return estimate;
  std::vector<double> sorted = samples;
  std::ranges::sort(sorted);
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double contest_result::min_seconds() const {
  return std::accumulate(samples.begin(), samples.end(), estimate, [](double x, double y) { return std::min(x, y); });
}

std::vector<contest_result> contest(stopwatch& watch, std::size_t num, const contest_rules& rules,
                                    const std::function<void(double)>& advanced) {
  return race(watch, num, rules).run(advanced);
}

double seconds_of_samples(stopwatch& watch, int num_samples) {
  contest_result only;
  estimate(watch, 0, only);
  while (static_cast<int>(only.samples.size()) < num_samples)
    take_sample(watch, 0, contest_rules().sample_seconds, only);
  return only.seconds();
}

std::size_t winner_of(const std::vector<contest_result>& all) {
  std::size_t best = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].dropped || all[i].seconds() <= 0) continue;
    if (best == all.size() || all[i].seconds() < all[best].seconds() * (best == 0 ? 1 - noise : 1)) best = i;
  }
  return best == all.size() ? 0 : best;
}

}  // namespace bcsc::tuning
