#include <cstdint>

#include "bcsc/files.hpp"
#include "converters/files/sink.hpp"
#include "converters/files/writing.hpp"

/// Writing edge lists: what edge_list_read.cpp reads.
namespace bcsc {
namespace files {
namespace {

template <value T, index I>
void write_edges(const std::filesystem::path& path, const csr_view<T, I>& a, const write_options& options) {
  require_valid_on_host(a);
  require_general(options);
  require_index_base(options);
  require_all_writable(a, options, path.string());

  sink out(path);
  put_comment(out, "# ", options.comment);
  // Last of the comments, so that none of the caller's is taken for the sizes.
  if (a.rows == a.cols) {
    out.put(core::format("# Nodes: {} Edges: {}\n", a.rows, a.nnz()));
  } else {
    out.put(core::format("# Rows: {} Cols: {} Edges: {}\n", a.rows, a.cols, a.nnz()));
  }
  write_progress progress(options, a.rows, out.path());
  for (std::int64_t row = 0; row < a.rows; ++row) {
    progress.advance();
    for (I k = a.row_ptr[row]; k < a.row_ptr[row + 1]; ++k) {
      out.put_number(row + options.index_base);
      out.put("\t");
      out.put_number(static_cast<std::int64_t>(a.col_ind[k]) + options.index_base);
      if (options.field != file_field::pattern) {
        out.put("\t");
        put_value(out, a.values[k], options.field);
      }
      out.put("\n");
    }
  }
  out.commit();
}

}  // namespace
}  // namespace files

template <value T, index I>
void write_edge_list(const std::filesystem::path& path, const csr_view<T, I>& a, const write_options& options) {
  files::write_edges(path, a, options);
}

template void write_edge_list(const std::filesystem::path&, const csr_view<float, std::int32_t>&, const write_options&);
template void write_edge_list(const std::filesystem::path&, const csr_view<float, std::int64_t>&, const write_options&);
template void write_edge_list(const std::filesystem::path&, const csr_view<double, std::int32_t>&,
                              const write_options&);
template void write_edge_list(const std::filesystem::path&, const csr_view<double, std::int64_t>&,
                              const write_options&);

}  // namespace bcsc
