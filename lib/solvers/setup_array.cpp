#include "lib/solvers/setup_array.hpp"

namespace bcsc::solvers {

void point_to_segments(std::span<std::int64_t> counts) {
  counts.front() = 0;
  std::int64_t* const ends = counts.data() + 1;
  const std::vector<std::int64_t> cuts = converters::even_cuts(std::ssize(counts) - 1);
  // Sums within the pieces, then what lies before each of them.
  converters::for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first + 1; i < last; ++i) ends[i] += ends[i - 1];
  });
  std::vector<std::int64_t> before(cuts.size(), 0);
  for (std::size_t piece = 1; piece < cuts.size(); ++piece) before[piece] = before[piece - 1] + ends[cuts[piece] - 1];
  converters::for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    const std::int64_t offset = before[static_cast<std::size_t>(piece)];
    for (std::int64_t i = first; i < last; ++i) ends[i] += offset;
  });
}

}  // namespace bcsc::solvers
