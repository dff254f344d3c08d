#pragma once

#include <cstddef>

#include "converters/files/source.hpp"

/// Matrix Market: text, coordinate or array. What is accepted and what is refused: docs/matrix-market.md.
namespace bcsc::files::matrix_market {

/// How much text a thread reads at a time: enough to be worth a turn, little enough to stay in the cache with its
/// entries. Affects only the speed; tests make it small, so that a file has many chunk boundaries.
inline constexpr std::size_t usual_chunk_bytes = std::size_t{256} << 10;

file_info read_info(source& in);
template <value T, index I>
coo_matrix<T, I> read_matrix(source& in, std::size_t chunk_bytes = usual_chunk_bytes);
/// The same as CSR, without a COO on the way that would have to be copied.
template <value T, index I>
csr_matrix<T, I> read_csr(source& in, std::size_t chunk_bytes = usual_chunk_bytes);
template <value T>
dense_matrix<T> read_dense(source& in, std::size_t chunk_bytes = usual_chunk_bytes);

}  // namespace bcsc::files::matrix_market
