#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bcsc/container.hpp"
#include "bcsc/dense_files.hpp"
#include "converters/files/dense_formats.hpp"
#include "converters/files/location.hpp"
#include "converters/files/npy.hpp"
#include "converters/files/sink.hpp"
#include "converters/files/writing.hpp"
#include "converters/files/zip.hpp"

/// Writing dense files. The matrix is packed first unless it already is, so that all writers see one array.
namespace bcsc {
namespace files {
namespace {

/// What a value is in a file: NumPy and text know no bf16, and text no fp16; both are fp32 values.
template <number T>
using npy_value = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
template <number T>
using text_value = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// The same matrix as Stored, in its layout, without gaps.
template <class Stored, number T>
dense_matrix<Stored> packed_as(const dense_view<const T>& a) {
  dense_matrix<Stored> packed(a.rows, a.cols, a.order);
  const bool by_rows = a.order == layout::row_major;
  const std::int64_t lines = by_rows ? a.rows : a.cols, length = by_rows ? a.cols : a.rows;
  for (std::int64_t line = 0; line < lines; ++line) {
    std::transform(a.data + line * a.ld, a.data + line * a.ld + length, packed.data() + line * length,
                   [](T value) { return static_cast<Stored>(value); });
  }
  return packed;
}

/// Calls use(view) with the matrix as Stored without gaps: the original, if it already is so.
template <class Stored, number T, class Use>
void with_packed(const dense_view<const T>& a, Use&& use) {
  if constexpr (std::is_same_v<Stored, T>) {
    const std::int64_t length = a.order == layout::row_major ? a.cols : a.rows;
    if (a.ld == std::max<std::int64_t>(length, 1)) return use(a);
  }
  const dense_matrix<Stored> packed = packed_as<Stored>(a);
  use(packed.view());
}

/// Writes an array piece by piece and reports progress.
template <class Target>
void put_pieces(Target& target, std::string_view bytes, write_progress& progress) {
  constexpr std::size_t piece_bytes = std::size_t{1} << 18;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece_bytes, bytes.size()))) {
    const std::string_view piece = bytes.substr(0, piece_bytes);
    target.put(piece);
    progress.advance(static_cast<std::int64_t>(piece.size()));
  }
}

/// Calls put(header, elements) with both as they stand in a NumPy file.
template <number T, class Put>
void with_npy(const dense_view<const T>& a, Put&& put) {
  using stored = npy_value<T>;
  const std::string header = make_npy_header(npy_descr<stored>(), {a.rows, a.cols}, a.order == layout::col_major);
  with_packed<stored>(a, [&](const dense_view<const stored>& packed) {
    const auto size = static_cast<std::size_t>(a.rows * a.cols);
    put(header, std::string_view(reinterpret_cast<const char*>(packed.data), size * sizeof(stored)));
  });
}

template <number T>
void write_npy(const std::filesystem::path& path, const dense_view<const T>& a, const write_dense_options& options) {
  with_npy(a, [&](const std::string& header, std::string_view elements) {
    sink out(path);
    const write_options told{.progress = options.progress};
    write_progress progress(told, static_cast<std::int64_t>(elements.size()), out.path());
    out.put(header);
    put_pieces(out, elements, progress);
    out.commit();
  });
}

template <number T>
void write_npz(const std::filesystem::path& path, const dense_view<const T>& a, const write_dense_options& options) {
  if (options.name.empty() || options.name.find('/') != std::string::npos) {
    fail_at({.path = path.string()}, errc::invalid_argument, "name = \"{}\": must be an array's name, without '/'",
            options.name);
  }
  with_npy(a, [&](const std::string& header, std::string_view elements) {
    sink out(path);
    zip_writer zip(out, true);
    const write_options told{.progress = options.progress};
    write_progress progress(told, static_cast<std::int64_t>(elements.size()), out.path());
    zip.begin(options.name + ".npy", static_cast<std::int64_t>(header.size() + elements.size()));
    zip.put(header);
    put_pieces(zip, elements, progress);
    zip.finish();
    out.commit();
  });
}

template <number T>
void write_market(const std::filesystem::path& path, const dense_view<const T>& a, const write_dense_options& options) {
  write_matrix_market(path, packed_as<text_value<T>>(a), {.comment = options.comment, .progress = options.progress});
}

template <number T>
void write_container_file(const std::filesystem::path& path, const dense_view<const T>& a,
                          const write_dense_options& options) {
  with_packed<T>(a, [&](const dense_view<const T>& packed) {
    write_container(path, packed, {.metadata = {}, .progress = options.progress});
  });
}

/// How a format is written.
template <number T>
struct dense_writer {
  dense_format format;
  void (*write)(const std::filesystem::path&, const dense_view<const T>&, const write_dense_options&);
};
template <number T>
constexpr std::array<dense_writer<T>, 4> dense_writers{{{dense_format::matrix_market, write_market<T>},
                                                        {dense_format::npy, write_npy<T>},
                                                        {dense_format::npz, write_npz<T>},
                                                        {dense_format::container, write_container_file<T>}}};

}  // namespace
}  // namespace files

template <number T>
void write_dense(const std::filesystem::path& path, dense_view<const T> a, const write_dense_options& options) {
  validate(a);
  const auto format = files::dense_format_of_name(path);
  if (!format) {
    files::fail_at({.path = path.string()}, errc::invalid_argument,
                   "the name tells no format of dense files: it ends in none of .npy, .npz, .mtx and .bcsc");
  }
  std::ranges::find(files::dense_writers<T>, *format, &files::dense_writer<T>::format)->write(path, a, options);
}

template void write_dense(const std::filesystem::path&, dense_view<const float>, const write_dense_options&);
template void write_dense(const std::filesystem::path&, dense_view<const double>, const write_dense_options&);
template void write_dense(const std::filesystem::path&, dense_view<const half>, const write_dense_options&);
template void write_dense(const std::filesystem::path&, dense_view<const bfloat16>, const write_dense_options&);

}  // namespace bcsc
