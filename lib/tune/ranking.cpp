#include "lib/tune/ranking.hpp"

#include <algorithm>

#include "core/format.hpp"
#include "lib/plan/explain.hpp"

namespace bcsc::tuning {

using core::time_text;

ranking ranked(const plan::recipe& how, bool all) {
  const choice::problem p = how.described();
  ranking made;
  for (const choice::prediction& one :
       choice::predictions(p, how.options, choice::candidates(p, how.options), how.statistics)) {
    const bool is_new = made.predicted.emplace(one.kernel->info.name, one.seconds).second;
    if (is_new) made.names.push_back(one.kernel->info.name);
  }
  if (!all) return made;
  for (const choice::registered_kernel* kernel : choice::allowed(p, how.options)) {
    const std::string& name = kernel->info.name;
    // Wider indices than A needs are allowed by name alone.
    if (kernel->info.index_bits <= p.index_bits && !made.predicted.contains(name)) made.names.push_back(name);
  }
  return made;
}

std::string reason_of(const plan_facts& facts, const std::string& predicted, std::int64_t num_forms_made) {
  const trial& won = facts.trials.front();
  const auto was_predicted = std::ranges::find(facts.trials, predicted, &trial::kernel);
  std::string other = "as was predicted";
  if (won.kernel != predicted) {
    other = was_predicted == facts.trials.end()
                ? core::format("{} was predicted", predicted)
                : core::format("{} was predicted and took {}", predicted, time_text(was_predicted->seconds));
  }
  return core::format(
      "fastest of {} configs timed on A, {}; {} (timing took {}, {} more form{} of A and other set-up {})",
      facts.trials.size(), time_text(won.seconds), other, time_text(facts.trial_seconds), num_forms_made,
      num_forms_made == 1 ? "" : "s", time_text(facts.trial_setup_seconds));
}

}  // namespace bcsc::tuning
