#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bcsc/container.hpp"
#include "converters/files/container_directory.hpp"
#include "converters/files/source.hpp"

/// Containers read from a source, which may be compressed or lie in memory. What is accepted and what is refused:
/// docs/container.md.
namespace bcsc::files::container {

/// A container whose content stays in memory for as long as its source lives.
class opened {
 public:
  opened(source& in, const container_read_options& options);

  const container_info& info() const { return info_; }
  any_view view() const { return view_; }

 private:
  std::string_view aligned_content(source& in, bool map);

  std::vector<std::uint64_t> aligned_;  ///< the content, if it does not lie at a multiple of 8 bytes by itself
  container_info info_;
  any_view view_;
};

/// The header and the metadata.
container_info read_container_info(source& in);
file_info read_info(source& in);
template <value T, index I>
coo_matrix<T, I> read_matrix(source& in);
template <value T, index I>
csr_matrix<T, I> read_csr(source& in);
template <value T>
dense_matrix<T> read_dense(source& in);
any_matrix read_any(source& in, const container_read_options& options);

}  // namespace bcsc::files::container
