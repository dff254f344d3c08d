#include "converters/formats/compact_steps.hpp"
#include "converters/formats/no_cuda.hpp"

/// A build without CUDA: there is no device matrix to work on.
namespace bcsc::converters::steps {

template <index I>
loose_columns<I> order_entries(int, const compaction<I>&) {
  no_cuda();
}
template <index I>
void close_ranks(const compaction<I>&, const loose_columns<I>&, I*, std::uint16_t*, std::byte*) {
  no_cuda();
}
template <index I>
void narrow(const I*, std::int64_t, std::uint16_t*) {
  no_cuda();
}
template <index I>
void expand_places(int, const compact_places<I>&, I*, I*) {
  no_cuda();
}
template <index I>
void shrink_indices(const I*, std::int64_t, const I*, std::int64_t, const I*, std::int64_t, std::int64_t, int, I*,
                    std::byte*, std::byte*) {
  no_cuda();
}

#define BCSC_INSTANTIATE(I)                                                                                          \
  template loose_columns<I> order_entries(int, const compaction<I>&);                                                \
  template void close_ranks(const compaction<I>&, const loose_columns<I>&, I*, std::uint16_t*, std::byte*);          \
  template void narrow(const I*, std::int64_t, std::uint16_t*);                                                      \
  template void expand_places(int, const compact_places<I>&, I*, I*);                                                \
  template void shrink_indices(const I*, std::int64_t, const I*, std::int64_t, const I*, std::int64_t, std::int64_t, \
                               int, I*, std::byte*, std::byte*);
BCSC_INSTANTIATE(std::int32_t)
BCSC_INSTANTIATE(std::int64_t)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::converters::steps
