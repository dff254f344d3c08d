#include "converters/formats/pattern_hash.hpp"

#include <vector>

#include "converters/formats/parallel.hpp"

namespace bcsc::converters {

template <index I>
pattern_hash hash_pattern(const csr_pattern<I>& pattern) {
  const std::vector<std::int64_t> cuts = even_cuts(pattern.size());
  std::vector<pattern_hash> sums(cuts.size());
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    pattern_hash sum;
    for (std::int64_t i = first; i < last; ++i) sum.add(i, pattern[i]);
    sums[static_cast<std::size_t>(piece)] = sum;
  });
  pattern_hash all;
  for (const pattern_hash& sum : sums) all += sum;
  return all;
}

template pattern_hash hash_pattern(const csr_pattern<std::int32_t>&);
template pattern_hash hash_pattern(const csr_pattern<std::int64_t>&);

}  // namespace bcsc::converters
