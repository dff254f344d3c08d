#pragma once

namespace thrust {

/// 0, 1, 2 and so on, from `first`: what steps give to sums.
template <class I>
struct counting_iterator {
  I first;
  explicit counting_iterator(I first_) : first(first_) {}
  I operator[](I i) const { return first + i; }
};

}  // namespace thrust
