#pragma once

#include <optional>
#include <string>

#include "bcsc/tune.hpp"
#include "converters/formats/pattern_hash.hpp"
#include "lib/plan/builder.hpp"

namespace bcsc::tuning {

/// A choice as a cache holds it: "kernel=... m_block=... reordered=... seconds=... effort=...".
struct cached_choice {
  std::string kernel;
  std::int64_t m_block = 0;
  bool reordered = false;
  double seconds = 0;
  bcsc::effort effort = bcsc::effort::check;
};

std::string text_of(const cached_choice& choice);
/// Nothing if the text is something else.
std::optional<cached_choice> parse_choice(std::string_view text);

/// What two products must share for a choice to serve both: the library and its tables, the machine, the pattern of A
/// and everything that the plan is asked for.
std::string key_of(const context& ctx, value_type type, const converters::pattern_hash& pattern,
                   const plan_options& options);

/// The choice in `cache` for `key`, if it was found with at least the effort `least`. Faults of the cache go to the
/// log.
std::optional<cached_choice> find_choice(const context& ctx, const tuning_cache& cache, const std::string& key,
                                         effort least);
/// Keeps it, or says in the log why that cannot be.
void keep_choice(const context& ctx, const tuning_cache& cache, const std::string& key, const cached_choice& choice);

}  // namespace bcsc::tuning
