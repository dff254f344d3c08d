#include "converters/formats/parallel.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "core/by_all.hpp"

namespace bcsc::converters {

void parallel_for(std::int64_t n, core::function_ref<void(std::int64_t)> body) {
  std::mutex taking_turns;
  std::exception_ptr failure;
  const auto keep_first = [&](std::exception_ptr thrown) {
    const std::lock_guard turn(taking_turns);
    if (!failure) failure = std::move(thrown);
  };
  std::atomic<std::int64_t> next{0};
  core::by_all(n > 1 ? current_team() : core::team{}, [&](int, int) {
    for (std::int64_t i = next++; i < n; i = next++) {
      try {
        body(i);
      } catch (const std::bad_alloc&) {
        keep_first(std::make_exception_ptr(error(errc::out_of_memory, "conversion: no host memory left")));
      } catch (...) {
        keep_first(std::current_exception());
      }
    }
  });
  if (failure) std::rethrow_exception(failure);
}

std::vector<std::int64_t> even_cuts(std::int64_t n, std::int64_t pieces,
                                    core::function_ref<std::int64_t(std::int64_t)> weight) {
  std::vector<std::int64_t> cuts{0};
  const double total = static_cast<double>(weight(n));
  for (std::int64_t p = 1; p <= pieces && cuts.back() < n; ++p) {
    const double target = total * (static_cast<double>(p) / static_cast<double>(pieces));
    std::int64_t low = cuts.back() + 1, high = n;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (static_cast<double>(weight(middle)) < target) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    cuts.push_back(p == pieces ? n : low);
  }
  return cuts;
}

void for_pieces(const std::vector<std::int64_t>& cuts,
                core::function_ref<void(std::int64_t, std::int64_t, std::int64_t)> body) {
  parallel_for(static_cast<std::int64_t>(cuts.size()) - 1, [&](std::int64_t piece) {
    body(piece, cuts[static_cast<std::size_t>(piece)], cuts[static_cast<std::size_t>(piece) + 1]);
  });
}

}  // namespace bcsc::converters
