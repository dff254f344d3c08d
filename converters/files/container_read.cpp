#include "converters/files/container_read.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "converters/files/container_arrays.hpp"
#include "converters/files/container_metadata.hpp"
#include "converters/files/location.hpp"
#include "converters/files/matrix_market_names.hpp"
#include "converters/files/pattern_values.hpp"
#include "converters/files/within_memory.hpp"
#include "converters/formats/instantiate.hpp"
#include "converters/formats/narrowing.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"

namespace bcsc {
namespace files::container {
namespace {

/// Fills a view with spans of the content, which lies at a multiple of 8 bytes. The spans are known to lie inside the
/// file; whether their lengths are what the format asks for is for validate() to say.
class view_reader {
 public:
  view_reader(std::string_view content, const directory& from, const std::string& path)
      : content_(content), from_(from), path_(path), taken_(from.sections.size(), false) {}

  void parameter(std::int64_t& value) { value = from_.header.parameters[next_parameter_++]; }
  void parameter(layout& order) { order = static_cast<layout>(from_.header.parameters[next_parameter_++]); }

  template <index I>
  void indices(std::string_view name, std::span<const I>& to) {
    to = array<I>(take(name));
  }
  template <index I>
  void indices_unless_empty(std::string_view name, std::span<const I>& to) {
    if (from_.find(name) != nullptr) indices(name, to);
  }
  template <index I>
  void indices_or(std::string_view name, std::span<const I>& to, std::string_view short_name,
                  std::span<const std::uint16_t>& to_short) {
    if (from_.find(short_name) != nullptr) {
      to_short = array<std::uint16_t>(take(short_name));
    } else {
      indices(name, to);
    }
  }
  template <index I>
  void same_indices(std::string_view, std::span<const I>& to, std::span<const I> from) {
    to = from;
  }
  void small(std::string_view name, small_indices& to, std::size_t size, std::int64_t m_block) {
    const int bytes = small_indices::bytes_for(m_block);
    if (bytes == 0) {
      to = {nullptr, size, bytes};
      return;
    }
    const section& s = take(name);
    require_type(s, bytes == 1 ? array_type::bytes : array_type::u16);
    if (s.count != size) {
      fail(s.entry + offsetof(section_header, count), errc::invalid_format, "section {}: has {} entries: must have {}",
           name, s.count, size);
    }
    to = {content_.data() + s.offset, size, bytes};
  }

  void values(pattern_span& to) { to = pattern_span(static_cast<std::size_t>(from_.header.num_values)); }
  template <number T>
  void values(std::span<const T>& to) {
    const section& s = take("values");
    to = array<T>(s);
    if (s.count != static_cast<std::uint64_t>(from_.header.num_values)) {
      fail(s.entry + offsetof(section_header, count), errc::invalid_format,
           "section values: has {} entries: must have num_values = {}", s.count, from_.header.num_values);
    }
  }
  template <number T>
  void values(dense_view<const T>& to) {
    std::span<const T> packed;
    values(packed);
    std::int64_t size = 0;
    if (__builtin_mul_overflow(to.rows, to.cols, &size) || size != from_.header.num_values) {
      fail(offsetof(file_header, num_values), errc::invalid_format, "num_values = {}: must be rows x cols = {} x {}",
           from_.header.num_values, to.rows, to.cols);
    }
    to = dense_view<const T>(packed.data(), to.rows, to.cols, to.order);
  }

  /// Requires that no section is left which the reader has to know.
  void finish() const {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      const section& s = from_.sections[i];
      if (taken_[i] || !s.is_required || s.name == metadata_section) continue;
      fail(s.entry, errc::unsupported, "section {}: unknown, and not to be left out: written by a newer version",
           s.name);
    }
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(std::uint64_t byte, errc code, fmt::format_string<Args...> message, Args&&... args) const {
    fail_at({.path = path_, .byte = static_cast<std::int64_t>(byte)}, code, message, std::forward<Args>(args)...);
  }
  const section& take(std::string_view name) {
    const section* const found = from_.find(name);
    if (found == nullptr) {
      fail(sizeof(file_header), errc::invalid_format, "section {}: is missing, {} needs it", name,
           to_string(from_.format));
    }
    taken_[static_cast<std::size_t>(found - from_.sections.data())] = true;
    return *found;
  }
  void require_type(const section& s, array_type type) const {
    if (s.type == type) return;
    fail(s.entry + offsetof(section_header, type), errc::invalid_format, "section {}: is of {}: must be of {}", s.name,
         to_string(s.type), to_string(type));
  }
  template <class T>
  std::span<const T> array(const section& s) const {
    require_type(s, array_type_of<T>());
    return {reinterpret_cast<const T*>(content_.data() + s.offset), s.count};
  }

  std::string_view content_;
  const directory& from_;
  const std::string& path_;
  std::vector<bool> taken_;
  std::size_t next_parameter_ = 0;
};

/// Calls read(view) with an empty view of the type that the header names, and returns what that has filled in.
template <class Read, matrix_view... View>
std::optional<any_view> read_alternative(const directory& from, Read& read, std::type_identity<std::variant<View...>>) {
  std::optional<any_view> found;
  const auto try_one = [&]<matrix_view V>(std::type_identity<V>) {
    if (format_of<V> != from.format || index_bytes_of<V>() != from.header.index_bytes) return false;
    V view;
    read(view);
    found = view;
    return true;
  };
  (void)(try_one(std::type_identity<View>{}) || ...);
  return found;
}
template <class Read, class... ByElement>
any_view read_view_of(const directory& from, Read&& read, std::type_identity<std::variant<ByElement...>>) {
  std::optional<any_view> found;
  const auto try_one = [&]<class Views>(std::type_identity<Views> views) {
    using first = std::variant_alternative_t<0, Views>;
    if (value_type_of<typename first::value_t> != from.element) return false;
    found = read_alternative(from, read, views);
    return true;
  };
  (void)(try_one(std::type_identity<ByElement>{}) || ...);
  if (!found) core::fail(errc::internal, "container: {} {} was not checked", to_string(from.element), from.header.kind);
  return *found;
}

any_view read_view(std::string_view content, const directory& from, const std::string& path) {
  return read_view_of(
      from,
      [&](auto& view) {
        view_reader in(content, from, path);
        view.rows = from.header.rows;
        view.cols = from.header.cols;
        pass(in, view);
        in.finish();
      },
      std::type_identity<detail::by_element<detail::view_variant_of>>{});
}

container_info describe(const directory& from, std::string_view content, const std::string& path) {
  container_info info{.version = from.header.version,
                      .file_bytes = static_cast<std::int64_t>(from.header.file_bytes),
                      .format = from.format,
                      .element = from.element,
                      .index_bytes = from.header.index_bytes,
                      .rows = from.header.rows,
                      .cols = from.header.cols,
                      .num_values = from.header.num_values,
                      .metadata = {},
                      .sections = {}};
  if (const section* const words = from.find(metadata_section)) {
    require_bounded_metadata(*words, from, path);
    info.metadata = decode_metadata(content.substr(words->offset, words->bytes), words->offset, path);
  }
  for (const section& s : from.sections) {
    info.sections.push_back({s.name, std::string(to_string(s.type)), static_cast<std::int64_t>(s.offset),
                             static_cast<std::int64_t>(s.count), static_cast<std::int64_t>(s.bytes)});
  }
  return info;
}

/// Runs checks and conversions that know nothing of files, and adds the file's name to their errors.
template <class F>
auto naming(const std::string& path, F&& body) {
  try {
    return body();
  } catch (const error& problem) {
    fail_at({.path = path}, problem.code(), "{}", problem.what());
  }
}

// --- Copies ---------------------------------------------------------------------------------------------------------

template <class T>
std::vector<T> copied(std::span<const T> array) {
  return {array.begin(), array.end()};
}
pattern_array copied(pattern_span entries) { return pattern_array(entries.size()); }
std::vector<std::byte> copied(const small_indices& array) {
  const auto* const from = static_cast<const std::byte*>(array.data());
  return {from, from + array.size_bytes()};
}

template <element T, index I>
any_matrix copied(const coo_view<T, I>& a) {
  return coo_matrix<T, I>(a.rows, a.cols, copied(a.row_ind), copied(a.col_ind), copied(a.values), trust::trusted);
}
template <element T, index I>
any_matrix copied(const csr_view<T, I>& a) {
  return csr_matrix<T, I>(a.rows, a.cols, copied(a.row_ptr), copied(a.col_ind), copied(a.values), trust::trusted);
}
template <element T, index I>
any_matrix copied(const csc_view<T, I>& a) {
  return csc_matrix<T, I>(a.rows, a.cols, copied(a.col_ptr), copied(a.row_ind), copied(a.values), trust::trusted);
}
template <number T, index I>
any_matrix copied(const bsr_view<T, I>& a) {
  return bsr_matrix<T, I>(a.rows, a.cols, a.row_block, a.col_block, copied(a.brow_ptr), copied(a.bcol_ind),
                          copied(a.values), trust::trusted);
}
template <number T, index I>
any_matrix copied(const ell_view<T, I>& a) {
  return ell_matrix<T, I>(a.rows, a.cols, a.block, a.blocks_per_row, copied(a.bcol_ind), copied(a.values),
                          trust::trusted);
}
template <element T, index I>
any_matrix copied(const bcsc_view<T, I>& a) {
  return bcsc_matrix<T, I>(a.rows, a.cols, a.m_block, copied(a.brow_ptr), copied(a.col_ind), copied(a.col_ptr),
                           copied(a.row_ind), copied(a.values), trust::trusted);
}
template <element T, index I>
any_matrix copied(const compact_bcsc_view<T, I>& a) {
  compact_bcsc_arrays<T, I> arrays;
  arrays.block_row = copied(a.block_row);
  arrays.brow_ptr = copied(a.brow_ptr);
  if (a.m_block > 1) arrays.entry_ptr = copied(a.entry_ptr);
  arrays.dense_end = copied(a.dense_end);
  arrays.col_ind = copied(a.col_ind);
  arrays.col_count = copied(a.col_count);
  arrays.row_in_block = copied(a.row_in_block);
  arrays.values = copied(a.values);
  arrays.col_ind16 = copied(a.col_ind16);
  return compact_bcsc_matrix<T, I>(a.rows, a.cols, a.m_block, std::move(arrays), trust::trusted);
}
template <number T>
any_matrix copied(const dense_view<const T>& a) {
  return dense_matrix<T>(a.rows, a.cols, a.order, std::vector<T>(a.data, a.data + a.rows * a.cols));
}

// --- For callers that ask for one format and type
// ----------------------------------------------------------------------

template <value T>
void seed(std::span<T> values, const read_options& options) {
  std::int64_t k = 0;
  for (T& value : values) value = pattern_value<T>(options.pattern_seed, k++);
}

/// Gives a matrix that was a pattern its values.
template <value T>
void seed_values(any_matrix& rows, const read_options& options) {
  if (auto* const narrow = rows.get_if<csr_matrix<T, std::int32_t>>()) seed(std::span<T>(narrow->values()), options);
  if (auto* const wide = rows.get_if<csr_matrix<T, std::int64_t>>()) seed(std::span<T>(wide->values()), options);
}

/// COO as COO of other types, in memory of the order of its entries: CSR would take a pointer for every row, of which
/// there may be any number.
template <value T2, index I2, element T, index I>
coo_matrix<T2, I2> cast_entries(const coo_view<T, I>& a, [[maybe_unused]] const read_options& options) {
  (void)core::narrow<I2>(a.rows, "rows");
  (void)core::narrow<I2>(a.cols, "cols");
  std::vector<T2> values(a.values.size());
  if constexpr (std::same_as<T, pattern>) {
    seed(std::span(values), options);
  } else {
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (converters::overflows<T2>(a.values[k]))
        converters::refuse_overflow<T2>(a.values[k], a.row_ind[k], a.col_ind[k]);
      values[k] = static_cast<T2>(a.values[k]);
    }
  }
  return coo_matrix<T2, I2>(a.rows, a.cols, std::vector<I2>(a.row_ind.begin(), a.row_ind.end()),
                            std::vector<I2>(a.col_ind.begin(), a.col_ind.end()), std::move(values), trust::trusted);
}

template <owning_matrix Matrix>
Matrix converted(const any_view& held, conversion_options wanted, const source& in) {
  using T = typename Matrix::value_t;
  any_matrix result = naming(in.path(), [&] {
    const matrix_format format = format_of<decltype(std::declval<const Matrix&>().view())>;
    wanted.element = value_type_of<T>;
    if (held.element() != value_type::pattern) return convert(held, format, wanted);
    // Values are drawn in the order of the rows.
    any_matrix rows = convert(held, matrix_format::csr, {.element = wanted.element, .indices = wanted.indices});
    seed_values<T>(rows, in.options());
    return convert(std::move(rows), format, wanted);
  });
  return std::move(*result.get_if<Matrix>());
}

template <owning_matrix Matrix>
Matrix read_as(source& in, const conversion_options& wanted) {
  const opened file(in, {.map = in.options().map_containers, .progress = in.options().progress});
  return converted<Matrix>(file.view(), wanted, in);
}

}  // namespace

opened::opened(source& in, const container_read_options& options) {
  const std::string_view content = aligned_content(in, options.map);
  const directory from = parse(content, content.size(), in.path());
  if (options.verify_checksums) verify(content, from, in.path(), options.progress);
  info_ = describe(from, content, in.path());
  view_ = read_view(content, from, in.path());
  if (options.check == trust::validate) naming(in.path(), [&] { validate(view_); });
}

std::string_view opened::aligned_content(source& in, bool map) {
  const std::string_view content = map ? in.mapped_content() : in.content();
  if (reinterpret_cast<std::uintptr_t>(content.data()) % sizeof(std::uint64_t) == 0) return content;
  aligned_.resize(content.size() / sizeof(std::uint64_t) + 1);
  std::memcpy(aligned_.data(), content.data(), content.size());
  return {reinterpret_cast<const char*>(aligned_.data()), content.size()};
}

container_info read_container_info(source& in) {
  const std::uint64_t header_bytes = header_bytes_of(in.head(sizeof(file_header)), in.path());
  const bool size_is_known = !in.compressed() && in.stored_bytes() > 0;
  const auto file_bytes = size_is_known ? std::optional(static_cast<std::uint64_t>(in.stored_bytes())) : std::nullopt;
  const directory from = parse(in.head(header_bytes), file_bytes, in.path());
  std::string_view head = in.head(header_bytes);
  if (const section* const words = from.find(metadata_section)) {
    require_bounded_metadata(*words, from, in.path());
    head = in.head(words->offset + words->bytes);
    if (head.size() < words->offset + words->bytes) {
      fail_at({.path = in.path(), .byte = static_cast<std::int64_t>(head.size())}, errc::truncated,
              "the file ends inside its metadata");
    }
    verify_section(head, *words, in.path());
  }
  return describe(from, head, in.path());
}

namespace {

/// The symmetry that the metadata names, if it is one of Matrix Market's that fits the matrix: the word may mean
/// anything.
file_symmetry symmetry_told_by(const container_info& info) {
  const auto told = info.metadata.find("symmetry");
  if (told == info.metadata.end() || info.rows != info.cols) return file_symmetry::general;
  for (const file_symmetry symmetry : {file_symmetry::symmetric, file_symmetry::skew_symmetric}) {
    if (told->second == files::to_string(symmetry)) return symmetry;
  }
  return file_symmetry::general;
}

}  // namespace

file_info read_info(source& in) {
  const container_info info = read_container_info(in);
  const auto field = info.metadata.find("field");
  return {.format = file_format::container,
          .rows = info.rows,
          .cols = info.cols,
          .stored_entries = info.num_values,
          .symmetry = symmetry_told_by(info),
          .field = info.element == value_type::pattern                          ? file_field::pattern
                   : field != info.metadata.end() && field->second == "integer" ? file_field::integer
                                                                                : file_field::real,
          .array = info.format == matrix_format::dense,
          .member = {}};
}

template <value T, index I>
coo_matrix<T, I> read_matrix(source& in) {
  const opened file(in, {.map = in.options().map_containers, .progress = in.options().progress});
  return file.view().visit([&]<matrix_view View>(const View& view) {
    if constexpr (format_of<View> == matrix_format::coo) {
      return naming(in.path(), [&] { return cast_entries<T, I>(view, in.options()); });
    } else {
      return converted<coo_matrix<T, I>>(view, {.indices = index_type_of<I>}, in);
    }
  });
}

template <value T, index I>
csr_matrix<T, I> read_csr(source& in) {
  return read_as<csr_matrix<T, I>>(in, {.indices = index_type_of<I>});
}

template <value T>
dense_matrix<T> read_dense(source& in) {
  return read_as<dense_matrix<T>>(in, {.order = layout::col_major});
}

any_matrix read_any(source& in, const container_read_options& options) {
  const opened file(in, options);
  in.require_memory(0, file.info().file_bytes, "the matrix", {.path = in.path()});
  return file.view().visit([](const auto& view) { return copied(view); });
}

#define BCSC_INSTANTIATE(T, I)                          \
  template coo_matrix<T, I> read_matrix<T, I>(source&); \
  template csr_matrix<T, I> read_csr<T, I>(source&);
template dense_matrix<float> read_dense<float>(source&);
template dense_matrix<double> read_dense<double>(source&);
BCSC_FOR_VALUES(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace files::container

namespace files::container {
namespace {

/// A mapped file is available at once; only reading takes time and reports progress.
read_options options_of_source(const container_read_options& options) {
  return {.progress = options.map ? progress_callback() : options.progress};
}

}  // namespace
}  // namespace files::container

struct mapped_matrix::impl {
  files::source in;
  files::container::opened file;

  impl(const std::filesystem::path& path, const container_read_options& options)
      : in(path, files::container::options_of_source(options)), file(in, options) {}
};

mapped_matrix::mapped_matrix(const std::filesystem::path& path, const container_read_options& options)
    : impl_(files::within_memory(path, [&] { return std::make_unique<impl>(path, options); })) {}
mapped_matrix::~mapped_matrix() = default;
mapped_matrix::mapped_matrix(mapped_matrix&&) noexcept = default;
mapped_matrix& mapped_matrix::operator=(mapped_matrix&&) noexcept = default;

mapped_matrix::impl& mapped_matrix::opened(const char* member) const {
  if (impl_ == nullptr) {
    core::fail(errc::invalid_argument, "mapped_matrix::{}: the matrix has been moved from: it has no file", member);
  }
  return *impl_;
}

const container_info& mapped_matrix::info() const { return opened("info").file.info(); }
any_view mapped_matrix::view() const& { return opened("view").file.view(); }

void mapped_matrix::fail_type(matrix_format wanted) const {
  const container_info& held = info();
  files::fail_at({.path = impl_->in.path()}, errc::invalid_argument,
                 "holds {} of {} with {}-byte indices, not the {} asked for, or not of those types",
                 to_string(held.format), to_string(held.element), held.index_bytes, to_string(wanted));
}

container_info read_container_info(const std::filesystem::path& path) {
  return files::within_memory(path, [&] {
    files::source in(path, read_options{});
    return files::container::read_container_info(in);
  });
}

any_matrix read_container(const std::filesystem::path& path, const container_read_options& options) {
  return files::within_memory(path, [&] {
    files::source in(path, files::container::options_of_source(options));
    return files::container::read_any(in, options);
  });
}

}  // namespace bcsc
