#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "converters/formats/parallel.hpp"
#include "core/fail.hpp"

/// Long arrays of a set-up: written in parallel by the threads that made them, so that no thread sets them first.
namespace bcsc::solvers {

/// Leaves elements unset until they are written, which places their pages beside the thread that writes them. Large
/// arrays ask for huge pages: a set-up makes and frees gigabytes, and 4 KiB pages would cost more than what fills them.
template <class T>
struct unset_allocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = unset_allocator<U>;
  };
  static constexpr std::size_t huge_page = std::size_t{1} << 21;

  T* allocate(std::size_t n) {
    if (!is_large(n)) return std::allocator<T>::allocate(n);
    void* const memory = ::operator new (n * sizeof(T), std::align_val_t{huge_page});
    madvise(memory, n * sizeof(T), MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t n) {
    if (!is_large(n)) return std::allocator<T>::deallocate(memory, n);
    ::operator delete (memory, std::align_val_t{huge_page});
  }
  template <class U, class... Given>
  void construct(U* place, Given&&... given) {
    if constexpr (sizeof...(Given) == 0) {
      static_assert(std::is_trivially_default_constructible_v<U>);
    } else {
      std::construct_at(place, std::forward<Given>(given)...);
    }
  }

 private:
  static bool is_large(std::size_t n) { return n >= 2 * huge_page / sizeof(T); }
};

template <class T>
using setup_array = std::vector<T, unset_allocator<T>>;

/// n elements, not set, or error{out_of_memory} that says what could not be stored.
template <class T>
setup_array<T> unset(std::int64_t n, std::string_view what) {
  try {
    return setup_array<T>(static_cast<std::size_t>(n));
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  core::fail(errc::out_of_memory, "{}: no memory for {} entries of {} bytes", what, n, sizeof(T));
}

/// body(i) for each i of [0, n), in parallel.
template <class Body>
void for_each_of(std::int64_t n, const Body& body) {
  converters::for_pieces(converters::even_cuts(n), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) body(i);
  });
}

/// Counts of segments, from the second element on, become the pointers to them: [0] becomes 0.
void point_to_segments(std::span<std::int64_t> counts);

}  // namespace bcsc::solvers
