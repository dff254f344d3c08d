#pragma once

#include <cstdint>

namespace thrust {

/// change(in[i]): what steps give to sums.
template <class Change, class In>
struct transform_iterator {
  In in;
  Change change;
  auto operator[](std::int64_t i) const { return change(in[i]); }
};

template <class Change, class In>
transform_iterator<Change, In> make_transform_iterator(In in, Change change) {
  return {in, change};
}

}  // namespace thrust
