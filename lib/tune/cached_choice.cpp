#include "lib/tune/cached_choice.hpp"

#include <array>

#include "bcsc/version.hpp"
#include "core/context_state.hpp"
#include "core/format.hpp"
#include "lib/choice/registry.hpp"
#include "lib/tune/store.hpp"
#include "lib/tune/use_cache.hpp"

namespace bcsc::tuning {
namespace {

/// Changes when a config comes, goes or is renamed: FNV-1a over the names.
std::uint64_t tables_version() {
  static const std::uint64_t version = [] {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const choice::registered_kernel& kernel : choice::registry()) {
      for (const char c : kernel.info.name + '\n') hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    return hash;
  }();
  return version;
}

std::optional<effort> effort_named(const std::string& name) {
  for (const effort one : {effort::check, effort::search}) {
    if (name == to_string(one)) return one;
  }
  return std::nullopt;
}

}  // namespace

std::string text_of(const cached_choice& choice) {
  return core::format("kernel={} m_block={} reordered={} seconds={} effort={}", choice.kernel, choice.m_block,
                      choice.reordered ? 1 : 0, choice.seconds, to_string(choice.effort));
}

std::optional<cached_choice> parse_choice(std::string_view text) {
  const fields values(text);
  cached_choice choice{.kernel = values.get("kernel")};
  int reordered = 0;
  const auto found = effort_named(values.get("effort"));
  const bool complete = !choice.kernel.empty() && found && values.get("m_block", choice.m_block) &&
                        values.get("reordered", reordered) && values.get("seconds", choice.seconds);
  if (!complete) return std::nullopt;
  choice.reordered = reordered != 0;
  choice.effort = *found;
  return choice;
}

std::string key_of(const context& ctx, value_type type, const converters::pattern_hash& pattern,
                   const plan_options& options) {
  constexpr int choice_version = 2;  // since 2 "reordered" means by similarity alone
  std::string key = core::format("bcsc {} choice {} tables {:016x} | {} | {} pattern {:016x}{:016x} N {} {}", version,
                                 choice_version, tables_version(), machine_name(ctx), to_string(type), pattern.high,
                                 pattern.low, options.cols, to_string(options.b_layout));
  const auto add = [&](bool is_set, std::string_view word) {
    if (is_set) key.append(" ").append(word);
  };
  const expert_plan_options& expert = options.expert;
  add(options.transpose == op::transpose, "transposed");
  add(options.compute == compute_class::tf32, "tf32");
  add(options.deterministic, "deterministic");
  add(options.transposable, "transposable");
  add(options.batch > 1, core::format("batch {}", options.batch));
  add(options.max_workspace_bytes > 0, core::format("workspace {}", options.max_workspace_bytes));
  add(!expert.kernel.empty(), core::format("kernel {}", expert.kernel));
  add(expert.m_block > 0, core::format("m_block {}", expert.m_block));
  add(expert.reorder_rows, "reordered");
  add(expert.boundaries != row_blocks::uniform, to_string(expert.boundaries));
  add(expert.reading != col_major_b::as_predicted, to_string(expert.reading));
  return key;
}

std::optional<cached_choice> find_choice(const context& ctx, const tuning_cache& cache, const std::string& key,
                                         effort least) {
  std::optional<cached_choice> found;
  use_cache(ctx, [&] {
    const std::optional<std::string> text = cache.find(key);
    if (text) found = parse_choice(*text);
    if (found) return;
    // Never stored, or damaged: the latter is worth a line in the log, and checking for it is cheap beside what
    // follows.
    const std::int64_t damaged = cache.is_off() ? 0 : read_store(cache.file()).num_damaged;
    if (damaged > 0) {
      ctx.state().say(core::format("tuning cache {}: {} damaged lines are left out", cache.file(), damaged));
    }
  });
  if (found && least == effort::search && found->effort != effort::search) found.reset();
  return found;
}

void keep_choice(const context& ctx, const tuning_cache& cache, const std::string& key, const cached_choice& choice) {
  use_cache(ctx, [&] {
    const std::array entries{cache_entry{key, text_of(choice)}};
    cache.put(entries);
  });
}

}  // namespace bcsc::tuning
