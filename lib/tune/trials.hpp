#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/tune.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "lib/plan/access.hpp"
#include "lib/tune/contest.hpp"
#include "lib/tune/operands.hpp"
#include "lib/tune/ranking.hpp"

namespace bcsc::tuning {

/// Makes the plans that a choice is made among, times them, and keeps the fastest. Plans whose kernels read the same
/// form share the stored matrix; of forms a few are held at once.
template <number T>
class trials {
 public:
  /// `a` and `options` outlive it; `predicted`: the plan's own choice.
  trials(const context& ctx, const plan::source<T>& a, const tuning_options& options, spmm_plan<T> predicted,
         make_stopwatch_fn make_stopwatch)
      : ctx_(ctx), a_(a), options_(options), make_stopwatch_(std::move(make_stopwatch)) {
    const plan::recipe& how = plan::access<T>::how(predicted);
    ranking_ = ranked(how, options.effort == effort::search);
    predicted_name_ = how.facts.kernel.name;
    predicted_facts_ = how.facts;
    auto& first = entries_.emplace_back(std::move(predicted), ranking_.seconds_of(predicted_name_));
    first.convert_seconds = predicted_facts_.convert_seconds;
  }

  /// The fastest plan, its facts saying how it was found; the predicted one where there is nothing to compare it with.
  spmm_plan<T> best() {
    if (ranking_.names.size() < 2 || predicted_facts_.nnz == 0) return std::move(entries_.front().plan);
    const auto begin = clock::now();
    operands_.emplace(ctx_, predicted_facts_.rows, predicted_facts_.cols, options_.plan);
    setup_seconds_ += seconds_since(begin);
    options_.effort == effort::search ? search() : check();
    return winner_ == entries_.end() ? std::move(entries_.front().plan) : settled();
  }

 private:
  using clock = std::chrono::steady_clock;
  static double seconds_since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
  }

  struct entry {
    entry(spmm_plan<T> made, double predicted) : plan(std::move(made)), predicted_seconds(predicted) {}
    spmm_plan<T> plan;
    double predicted_seconds;
    double convert_seconds = 0;  // of the form it reads
    bool owns_form = true;
    contest_result result = {};
    std::int64_t num_products = 0;  // in all contests
  };
  using entries = std::list<entry>;
  using place = typename entries::iterator;

  static constexpr std::size_t num_finalists = 4;

  /// A CPU's products are disturbed more often: fewer of them are timed more often.
  std::size_t max_checked() const { return ctx_.kind() == backend::cpu ? 4 : 6; }
  /// A CPU makes a form more slowly.
  std::size_t max_forms_checked() const { return ctx_.kind() == backend::cpu ? 3 : 4; }

  /// The best predicted, in few forms. The last is of another algorithm if one is in sight: a prediction that errs
  /// tends to err for all configs of an algorithm.
  void check() {
    constexpr double in_sight = 1.5;
    std::size_t num_forms = 1;
    const auto enter = [&](const std::string& name, std::size_t max_forms) {
      if (name == predicted_name_ || is_alike(name) || join(name) || num_forms == max_forms) return;
      num_forms += make(name, options_.plan) ? 1 : 0;
    };
    const auto is_of_another_algorithm = [&](const std::string& name) {
      return std::ranges::none_of(entries_, [&](const entry& held) {
        return algorithm_of(held.plan.facts().kernel.name) == algorithm_of(name);
      });
    };
    const double least = ranking_.seconds_of(predicted_name_);
    for (const std::string& name : ranking_.names) {
      if (entries_.size() == max_checked() - 1) break;
      enter(name, max_forms_checked() - 1);
    }
    for (const std::string& name : ranking_.names) {
      if (entries_.size() == max_checked() || ranking_.seconds_of(name) > in_sight * least) break;
      if (is_of_another_algorithm(name)) enter(name, max_forms_checked());
    }
    for (const std::string& name : ranking_.names) {
      if (entries_.size() == max_checked()) break;
      if (!holds(name)) enter(name, max_forms_checked());
    }
    if (entries_.size() > 1) compete(all(), budget(1));
  }

  bool holds(const std::string& name) const {
    return std::ranges::any_of(entries_, [&](const entry& e) { return e.plan.facts().kernel.name == name; });
  }

  /// Whether the plan cannot tell it from one that is held: tiles that hold all columns do the same work.
  bool is_alike(const std::string& name) const {
    constexpr double tie = 1e-3;
    const double seconds = ranking_.seconds_of(name);
    return seconds > 0 && std::ranges::any_of(entries_, [&](const entry& held) {
             return std::fabs(held.predicted_seconds - seconds) <= tie * seconds;
           });
  }

  /// Form by form, the form of the best predicted first; then the fastest of each against each other.
  void search() {
    constexpr double for_forms = 0.6;
    std::vector<std::string> left = ranking_.names;
    std::erase(left, predicted_name_);
    std::vector<place> group{entries_.begin()};
    for (;;) {
      std::erase_if(left, [&](const std::string& name) {
        const bool joined = share(group.front()->plan, name);
        if (joined) group.push_back(std::prev(entries_.end()));
        return joined;
      });
      const double share = static_cast<double>(group.size()) / static_cast<double>(ranking_.names.size());
      contest_rules rules = budget(for_forms * share);
      rules.num_finalists = 2;
      rules.max_rounds = 3;
      compete(group, rules);
      keep_finalists();
      group.clear();
      while (group.empty() && !left.empty() && !is_spent(for_forms)) {
        if (make(left.front(), options_.plan)) group.push_back(std::prev(entries_.end()));
        left.erase(left.begin());
      }
      if (group.empty()) break;
    }
    try_other_order();
    compete(all(), budget(1 - for_forms));
  }

  /// The fastest config of row blocks that rows share columns in, once more with the rows ordered by similarity.
  void try_other_order() {
    if (options_.plan.expert.reorder_rows || options_.plan.expert.boundaries != row_blocks::uniform) return;
    const auto is_blocked = [](const entry& e) { return e.plan.facts().m_block > 1; };
    const place found = std::ranges::find_if(entries_, is_blocked);
    if (found == entries_.end()) return;
    plan_options reordered = options_.plan;
    reordered.expert.reorder_rows = true;
    if (!make(found->plan.facts().kernel.name, reordered)) return;
    const place made = std::prev(entries_.end());
    if (!made->plan.facts().reordered) entries_.erase(made);
  }

  /// Keeps the four fastest so far, and the predicted one.
  void keep_finalists() {
    for (place e = entries_.begin(); e != entries_.end();) {
      const bool was_run = e->num_products > 0;
      const bool out = (e->result.dropped || !was_run) && e->plan.facts().kernel.name != predicted_name_;
      if (out && was_run) tried_.push_back(told(*e));
      e = out ? entries_.erase(e) : std::next(e);
    }
    entries_.sort([](const entry& x, const entry& y) { return x.result.seconds() < y.result.seconds(); });
    while (entries_.size() > num_finalists) {
      const place last = std::prev(entries_.end());
      const place out = last->plan.facts().kernel.name == predicted_name_ ? std::prev(last) : last;
      tried_.push_back(told(*out));
      entries_.erase(out);
    }
  }

  /// By a plan that reads the form of one that is held.
  bool join(const std::string& name) {
    return std::ranges::any_of(all(), [&](place held) { return share(held->plan, name); });
  }
  bool share(const spmm_plan<T>& held, const std::string& name) {
    auto shared = held.sharing(name);
    if (!shared) return false;
    auto& e = entries_.emplace_back(std::move(*shared), ranking_.seconds_of(name));
    e.owns_form = false;
    operands_->reserve(e.plan.workspace_bytes());
    return true;
  }

  /// By a plan that stores A again. False where that is impossible: what does not fit the memory is no candidate.
  bool make(const std::string& name, plan_options how) {
    how.expert.kernel = name;
    const auto begin = clock::now();
    try {
      tell(name);
      auto plan = std::visit([&](const auto& a) { return spmm_plan<T>(ctx_, a, how); }, a_);
      operands_->reserve(plan.workspace_bytes());
      auto& e = entries_.emplace_back(std::move(plan), ranking_.seconds_of(name));
      e.convert_seconds = e.plan.facts().convert_seconds;
    } catch (const error& e) {
      if (e.code() == errc::context_poisoned) throw;
      ctx_.state().say(core::format("tuning: {} is left out: {}", name, e.what()));
      return false;
    }
    setup_seconds_ += seconds_since(begin);
    ++num_forms_made_;
    return true;
  }

  std::vector<place> all() {
    std::vector<place> places;
    for (place e = entries_.begin(); e != entries_.end(); ++e) places.push_back(e);
    return places;
  }

  /// `share`: of the budget for timing.
  contest_rules budget(double share) const {
    const bool searches = options_.effort == effort::search;
    contest_rules rules;
    rules.budget_seconds = share * (options_.budget_seconds > 0 ? options_.budget_seconds : searches ? 0.1 : 5e-3);
    rules.budget_products =
        options_.budget_seconds > 0 ? 0 : static_cast<std::int64_t>(share * (searches ? 300.0 : 30.0));
    rules.num_finalists = searches ? num_finalists : max_checked();
    // On a CPU one product that briefly loses its core would otherwise use up the budget of all.
    if (options_.budget_seconds <= 0 && ctx_.kind() == backend::cpu) rules.patience = 4;
    return rules;
  }
  bool is_spent(double share) const {
    const contest_rules rules = budget(share);
    double fastest = 0;
    for (const entry& e : entries_) {
      if (e.result.seconds() > 0 && (fastest == 0 || e.result.seconds() < fastest)) fastest = e.result.seconds();
    }
    return trial_seconds_ >= std::max(rules.budget_seconds, static_cast<double>(rules.budget_products) * fastest);
  }

  /// Times them; the predicted one, or else the fastest so far, is the first.
  void compete(std::vector<place> group, const contest_rules& rules) {
    // Its namesake in std::ranges returns a subrange, which clang 14 does not compile with libstdc++ 12.
    std::stable_partition(group.begin(), group.end(),
                          [&](place e) { return e->plan.facts().kernel.name == predicted_name_; });
    std::vector<contestant> contestants;
    for (const place e : group) {
      operands_->reserve(e->plan.workspace_bytes());
      contestants.push_back(
          {e->plan.facts().kernel.name, [this, e](cuda_stream stream) { operands_->run(e->plan, stream); }});
    }
    const auto watch = make_stopwatch_(contestants);
    const double before = trial_seconds_;
    const std::vector<contest_result> results = contest(*watch, group.size(), rules, [&](double done) {
      tell(core::format("{} configs", group.size()), before + done * rules.budget_seconds);
    });
    trial_seconds_ += watch->elapsed();
    setup_seconds_ += watch->setup_seconds();
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (results[i].estimate <= 0) continue;  // the budget was spent before its turn: what was known stands
      group[i]->num_products += results[i].num_products;
      group[i]->result = results[i];
    }
    winner_ = group[winner_of(results)];
  }

  trial told(const entry& e) const {
    const plan_facts& facts = e.plan.facts();
    return {.kernel = facts.kernel.name,
            .m_block = facts.m_block,
            .reordered = plan::access<T>::how(e.plan).ordered == plan::row_order::by_similarity,
            .predicted_seconds = e.predicted_seconds,
            .seconds = e.result.seconds(),
            .num_samples = static_cast<std::int64_t>(e.result.samples.size()),
            .num_products = e.num_products};
  }

  /// The winner, its facts saying what was tried.
  spmm_plan<T> settled() {
    plan_facts facts = winner_->plan.facts();
    facts.trials = std::move(tried_);
    for (const entry& e : entries_) {
      if (e.num_products > 0 && &e != &*winner_) facts.trials.push_back(told(e));
    }
    std::ranges::stable_sort(facts.trials, {}, &trial::seconds);
    facts.trials.insert(facts.trials.begin(), told(*winner_));
    facts.trial_seconds = trial_seconds_;
    facts.trial_setup_seconds = setup_seconds_;
    if (winner_->owns_form) facts.convert_seconds = winner_->convert_seconds;
    facts.reason = reason_of(facts, predicted_name_, num_forms_made_);
    ctx_.state().say(core::format("tuning: {} with m_block {} for N = {}: {}", facts.kernel.name, facts.m_block,
                                  options_.plan.cols, facts.reason));
    return plan::access<T>::restated(winner_->plan, std::move(facts));
  }

  void tell(std::string_view now) { tell(now, trial_seconds_); }
  void tell(std::string_view now, double spent) {
    if (options_.progress) options_.progress(std::min(1.0, spent / budget(1).budget_seconds), now);
  }

  context ctx_;
  const plan::source<T>& a_;
  const tuning_options& options_;
  make_stopwatch_fn make_stopwatch_;
  ranking ranking_;
  std::string predicted_name_;
  plan_facts predicted_facts_;
  std::optional<trial_operands<T>> operands_;
  entries entries_;
  place winner_ = entries_.end();
  std::vector<trial> tried_;
  std::int64_t num_forms_made_ = 0;
  double trial_seconds_ = 0, setup_seconds_ = 0;
};

}  // namespace bcsc::tuning
