#include "converters/formats/parallel.hpp"

namespace bcsc::converters {

void parallel_for(std::int64_t n, core::function_ref<void(std::int64_t)> body) {
  std::exception_ptr failure;
  const auto keep_first = [&](std::exception_ptr thrown) {
#pragma omp critical(bcsc_converters_failure)
    if (!failure) failure = thrown;
  };
#pragma omp parallel for schedule(dynamic, 1) if (n > 1)
  for (std::int64_t i = 0; i < n; ++i) {
    try {
      body(i);
    } catch (const std::bad_alloc&) {
      keep_first(std::make_exception_ptr(error(errc::out_of_memory, "conversion: no host memory left")));
    } catch (...) {
      keep_first(std::current_exception());
    }
  }
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
