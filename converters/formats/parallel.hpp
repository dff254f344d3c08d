#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "bcsc/elements.hpp"
#include "converters/formats/checks.hpp"
#include "converters/formats/current_team.hpp"
#include "core/fail.hpp"
#include "core/function_ref.hpp"

/// What the conversions share: work cut into even pieces, storage that fails with a typed error.
namespace bcsc::converters {

inline std::int64_t num_threads() { return current_team().threads; }

/// body(i) for each i in [0, n), in parallel. An exception must not leave a parallel region, so one that `body` throws
/// is rethrown after it.
void parallel_for(std::int64_t n, core::function_ref<void(std::int64_t)> body);

/// Cuts [0, n) into at most `pieces` non-empty ranges of about equal weight; `weight(i)` is the weight of [0, i) and
/// never falls. The cuts: first 0, last n; just {0} for n = 0.
std::vector<std::int64_t> even_cuts(std::int64_t n, std::int64_t pieces,
                                    core::function_ref<std::int64_t(std::int64_t)> weight);

/// How many pieces `work` elementary steps are worth: one while threads would cost more than they gain, else enough of
/// them for uneven ones to even out.
inline std::int64_t worthwhile_pieces(std::int64_t work) {
  constexpr std::int64_t least = 1 << 14;
  return work < 2 * least ? 1 : std::min(8 * num_threads(), work / least);
}

/// Cuts [0, n) for the simple loops, whose steps cost the same.
inline std::vector<std::int64_t> even_cuts(std::int64_t n) {
  return even_cuts(n, worthwhile_pieces(n), [](std::int64_t i) { return i; });
}

/// Cuts the segments of a pointer array [n + 1] evenly by entries and segments.
template <class Pointers>
std::vector<std::int64_t> even_segment_cuts(const Pointers& ptr, std::int64_t n) {
  if (n == 0) return {0};
  const auto weight = [&](std::int64_t i) { return static_cast<std::int64_t>(ptr[static_cast<std::size_t>(i)]) + i; };
  return even_cuts(n, worthwhile_pieces(weight(n)), weight);
}

/// body(piece, first, last) for each range between neighbouring cuts, in parallel.
void for_pieces(const std::vector<std::int64_t>& cuts,
                core::function_ref<void(std::int64_t, std::int64_t, std::int64_t)> body);

/// The smallest i of [0, n) with `is_fault(i)`, or -1. Parallel; the answer does not depend on the threads.
template <class Predicate>
std::int64_t first_fault(std::int64_t n, Predicate&& is_fault) {
  const std::vector<std::int64_t> cuts = even_cuts(n);
  std::vector<std::int64_t> first(cuts.size(), -1);
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (is_fault(i)) {
        first[static_cast<std::size_t>(piece)] = i;
        return;
      }
    }
  });
  const auto found = std::find_if(first.begin(), first.end(), [](std::int64_t i) { return i >= 0; });
  return found == first.end() ? -1 : *found;
}

/// check(i) for each i of [0, n), in parallel; of the errors thrown, the one of the smallest i is rethrown. `work` is
/// what all the checks cost together.
template <class Check>
void check_each(std::int64_t n, std::int64_t work, Check&& check) {
  const std::vector<std::int64_t> cuts = even_cuts(n, worthwhile_pieces(work), [](std::int64_t i) { return i; });
  std::vector<std::exception_ptr> failures(cuts.size());
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    try {
      for (std::int64_t i = first; i < last; ++i) check(i);
    } catch (const error&) {
      failures[static_cast<std::size_t>(piece)] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

/// A vector of n zeros (or n patterns), or error{out_of_memory} that says what could not be stored.
template <class T>
auto storage(std::int64_t n, std::string_view what) {
  try {
    if constexpr (std::same_as<T, pattern>) {
      return pattern_array(static_cast<std::size_t>(n));
    } else {
      return std::vector<T>(static_cast<std::size_t>(n));
    }
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  core::fail(errc::out_of_memory, "{}: no memory for {} entries of {} bytes", what, n, sizeof(T));
}

/// Conversions and checks read host memory only.
inline void require_host(memory_space space, std::string_view what) {
  if (space != memory_space::host) {
    core::fail(errc::wrong_memory_space, "{} lies in {} memory: must lie on the host", what, to_string(space));
  }
}

}  // namespace bcsc::converters
