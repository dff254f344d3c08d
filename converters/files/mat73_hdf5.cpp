#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "converters/files/location.hpp"
#include "converters/files/mat73.hpp"
#include "converters/files/mat_candidates.hpp"
#include "converters/files/mat_matrix.hpp"

/// Reading MATLAB's level 7.3 with the HDF5 library, from the file's bytes in memory. A sparse matrix is a group with
/// the attribute MATLAB_sparse (its rows) and the lists data, ir and jc; a struct is a group of its fields; a dense
/// matrix is a dataset whose sizes are reversed.
namespace bcsc::files {
namespace {

using mat::array_class;
using mat::array_head;
using mat::mat_matrix;
using mat::number_list;

/// HDF5 as distributions build it is not thread-safe.
std::mutex& library_lock() {
  static std::mutex lock;
  return lock;
}

/// Keeps HDF5 from printing while it exists.
class silence {
 public:
  silence() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~silence() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  silence(const silence&) = delete;
  silence& operator=(const silence&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// An object that HDF5 has opened, closed in every case. Shared, because candidates are copied.
class handle {
 public:
  handle() = default;
  handle(hid_t id, herr_t (*close)(hid_t)) {
    if (id < 0) return;
    owner_ = std::shared_ptr<const hid_t>(new hid_t(id), [close](const hid_t* at) {
      close(*at);
      delete at;
    });
  }
  bool is_open() const { return owner_ != nullptr; }
  hid_t id() const { return owner_ != nullptr ? *owner_ : hid_t{H5I_INVALID_HID}; }

 private:
  std::shared_ptr<const hid_t> owner_;
};

/// A group or dataset that is one of MATLAB's arrays.
struct found_object {
  std::string path;
  array_head head;
  handle object;
};

/// Structs in structs; a file may link an object into itself.
constexpr int deepest = 32;
/// Objects that link in circles could otherwise multiply without bound.
constexpr std::int64_t max_objects = 100'000;
constexpr std::size_t longest_name = 256;

struct native_number {
  H5T_class_t kind;
  std::size_t bytes;
  number_kind as_signed, as_unsigned;
};
constexpr std::array<native_number, 6> native_numbers{
    {{H5T_INTEGER, 1, number_kind::signed_integer, number_kind::unsigned_integer},
     {H5T_INTEGER, 2, number_kind::signed_integer, number_kind::unsigned_integer},
     {H5T_INTEGER, 4, number_kind::signed_integer, number_kind::unsigned_integer},
     {H5T_INTEGER, 8, number_kind::signed_integer, number_kind::unsigned_integer},
     {H5T_FLOAT, 4, number_kind::real, number_kind::real},
     {H5T_FLOAT, 8, number_kind::real, number_kind::real}}};

class level_7_3_file {
 public:
  explicit level_7_3_file(source& in)
      : in_(in),
        content_(in.content()),
        meter_(in, content_.size()),
        facts_{.path = in.path(), .order = std::endian::native, .has_offsets = false} {
    open();
    read(mat::choose_array<found_object>(in, [&](mat::candidates<found_object>& wanted) {
      num_visited_ = 0;
      look_into(handle(H5Gopen2(file_.id(), "/", H5P_DEFAULT), H5Gclose), "", 0, wanted);
    }));
  }
  const mat_matrix& matrix() const { return matrix_; }

 private:
  template <class... Args>
  [[noreturn]] void fail(errc code, fmt::format_string<Args...> message, Args&&... args) const {
    fail_at({.path = in_.path()}, code, message, std::forward<Args>(args)...);
  }
  /// Any failure of HDF5 is attributed to the file.
  [[noreturn]] void fail_damaged(std::string_view what) const {
    fail(errc::parse_error, "{}: HDF5 cannot read it: damaged, or not as MATLAB writes it", files::quoted(what));
  }
  handle require(hid_t id, herr_t (*close)(hid_t), std::string_view what) const {
    handle found(id, close);
    if (!found.is_open()) fail_damaged(what);
    return found;
  }

  void open();
  void look_into(const handle& group, const std::string& path, int depth, mat::candidates<found_object>& wanted);
  std::string name_of_link(hid_t group, hsize_t k, const std::string& path) const;
  array_head head_of_sparse(hid_t group, const std::string& path) const;
  array_head head_of_dataset(hid_t dataset, const std::string& path) const;
  std::string class_of(hid_t object) const;
  std::int64_t integer_attribute(hid_t object, const char* name, const std::string& path) const;
  std::vector<std::int64_t> sizes_of(hid_t dataset, const std::string& path) const;
  bool is_complex(hid_t dataset, const std::string& path) const;
  void read(const found_object& found);
  number_list read_numbers(hid_t dataset, const std::string& path);
  /// A list of a sparse matrix; a missing one, which MATLAB leaves out, is empty.
  number_list read_list(hid_t group, const char* name);

  source& in_;
  std::string_view content_;
  expansion_meter meter_;
  mat::file_facts facts_;
  handle file_;
  std::int64_t num_visited_ = 0;
  mat_matrix matrix_;
};

void level_7_3_file::open() {
  const handle access = require(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "the file");
  constexpr std::size_t increment = std::size_t{64} << 10;
  const bool ready = H5Pset_fapl_core(access.id(), increment, false) >= 0 &&
                     H5Pset_file_image(access.id(), const_cast<char*>(content_.data()), content_.size()) >= 0;
  if (!ready) throw std::bad_alloc();
  // A file in memory must not share another's name: nothing can lie below the path of a file.
  const std::string name = in_.path() + "/content";
  file_ = require(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose, "the file");
}

std::string level_7_3_file::name_of_link(hid_t group, hsize_t k, const std::string& path) const {
  char name[longest_name + 1];
  const ssize_t size = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, k, name, sizeof name, H5P_DEFAULT);
  if (size < 0) fail_damaged(path);
  if (static_cast<std::size_t>(size) > longest_name) {
    fail(errc::parse_error, "{}: a name of {} bytes: at most {} are read", files::quoted(path), size, longest_name);
  }
  return {name, static_cast<std::size_t>(size)};
}

void level_7_3_file::look_into(const handle& group, const std::string& path, int depth,
                               mat::candidates<found_object>& wanted) {
  if (depth == deepest) fail(errc::unsupported, "{}: nested deeper than {} structs", files::quoted(path), deepest);
  H5G_info_t members;
  if (!group.is_open() || H5Gget_info(group.id(), &members) < 0) fail_damaged(path);
  for (hsize_t k = 0; k < members.nlinks; ++k) {
    if (++num_visited_ > max_objects) fail(errc::unsupported, "holds more than {} objects", max_objects);
    const std::string name = name_of_link(group.id(), k, path);
    const std::string inner_path = path.empty() ? name : path + "." + name;
    H5L_info_t link;
    if (H5Lget_info(group.id(), name.c_str(), &link, H5P_DEFAULT) < 0) fail_damaged(inner_path);
    // '#refs#' and '#subsystem#' are MATLAB's own; a link that is not hard may lead into another file.
    if (name.starts_with('#') || link.type != H5L_TYPE_HARD || !wanted.may_hold_wanted(inner_path)) continue;
    const handle object = require(H5Oopen(group.id(), name.c_str(), H5P_DEFAULT), H5Oclose, inner_path);
    const H5I_type_t kind = H5Iget_type(object.id());
    if (kind == H5I_DATASET) {
      wanted.offer({inner_path, head_of_dataset(object.id(), inner_path), object});
    } else if (kind == H5I_GROUP && H5Aexists(object.id(), "MATLAB_sparse") > 0) {
      wanted.offer({inner_path, head_of_sparse(object.id(), inner_path), object});
    } else if (kind == H5I_GROUP) {
      look_into(object, inner_path, depth + 1, wanted);
    }
  }
}

/// "double", "logical", "struct" ...; empty if the object does not say.
std::string level_7_3_file::class_of(hid_t object) const {
  constexpr const char* name = "MATLAB_class";
  if (H5Aexists(object, name) <= 0) return {};
  const handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  const handle type(H5Aget_type(attribute.id()), H5Tclose);
  const handle space(H5Aget_space(attribute.id()), H5Sclose);
  const std::size_t size = H5Tget_size(type.id());
  const bool is_short_text = H5Tget_class(type.id()) == H5T_STRING && H5Tis_variable_str(type.id()) == 0 &&
                             H5Sget_simple_extent_npoints(space.id()) == 1 && size > 0 && size <= longest_name;
  std::string text(is_short_text ? size : 0, '\0');
  if (!is_short_text || H5Aread(attribute.id(), type.id(), text.data()) < 0) return {};
  return text.substr(0, text.find('\0'));
}

std::int64_t level_7_3_file::integer_attribute(hid_t object, const char* name, const std::string& path) const {
  const handle attribute = require(H5Aopen(object, name, H5P_DEFAULT), H5Aclose, path);
  const handle type = require(H5Aget_type(attribute.id()), H5Tclose, path);
  const handle space = require(H5Aget_space(attribute.id()), H5Sclose, path);
  std::int64_t value = 0;
  if (H5Tget_class(type.id()) != H5T_INTEGER || H5Sget_simple_extent_npoints(space.id()) != 1 ||
      H5Aread(attribute.id(), H5T_NATIVE_INT64, &value) < 0) {
    fail_damaged(path);
  }
  return value;
}

/// As MATLAB orders them: HDF5's last comes first.
std::vector<std::int64_t> level_7_3_file::sizes_of(hid_t dataset, const std::string& path) const {
  const handle space = require(H5Dget_space(dataset), H5Sclose, path);
  std::array<hsize_t, H5S_MAX_RANK> sizes{};
  const int rank = H5Sget_simple_extent_dims(space.id(), sizes.data(), nullptr);
  if (rank < 0) fail_damaged(path);
  std::vector<std::int64_t> reversed;
  for (int k = rank - 1; k >= 0; --k) {
    const hsize_t size = sizes[static_cast<std::size_t>(k)];
    if (!std::in_range<std::int64_t>(size)) {
      fail(errc::size_overflow, "{}: a size does not fit 63 bits", files::quoted(path));
    }
    reversed.push_back(static_cast<std::int64_t>(size));
  }
  return reversed;
}

bool level_7_3_file::is_complex(hid_t dataset, const std::string& path) const {
  const handle type = require(H5Dget_type(dataset), H5Tclose, path);
  return H5Tget_class(type.id()) == H5T_COMPOUND;
}

array_head level_7_3_file::head_of_sparse(hid_t group, const std::string& path) const {
  array_head head;
  head.kind = array_class::sparse;
  head.logical = class_of(group) == "logical";
  const std::int64_t rows = integer_attribute(group, "MATLAB_sparse", path);
  if (rows < 0) fail(errc::value_out_of_range, "{}: {} rows", files::quoted(path), rows);
  const handle pointers = require(H5Dopen2(group, "jc", H5P_DEFAULT), H5Dclose, path + ".jc");
  const std::vector<std::int64_t> sizes = sizes_of(pointers.id(), path);
  if (sizes.size() != 1 || sizes[0] < 1) fail(errc::invalid_format, "{}.jc: is not a list of pointers", path);
  head.sizes = {rows, sizes[0] - 1};
  if (H5Lexists(group, "data", H5P_DEFAULT) > 0) {
    const handle data = require(H5Dopen2(group, "data", H5P_DEFAULT), H5Dclose, path + ".data");
    head.complex = is_complex(data.id(), path);
  }
  return head;
}

array_head level_7_3_file::head_of_dataset(hid_t dataset, const std::string& path) const {
  const std::string name = class_of(dataset);
  array_head head;
  head.logical = name == "logical";
  head.kind = head.logical ? array_class::uint8 : mat::class_named(name);
  head.complex = is_complex(dataset, path);
  head.sizes = sizes_of(dataset, path);
  // An array without elements is stored as the list of its sizes.
  if (H5Aexists(dataset, "MATLAB_empty") > 0) head.sizes = {0, 0};
  return head;
}

void level_7_3_file::read(const found_object& found) {
  matrix_.path = found.path;
  matrix_.head = found.head;
  matrix_.content.file = &facts_;
  require_matrix(matrix_);
  if (matrix_.head.is_sparse()) {
    matrix_.row_ind = read_list(found.object.id(), "ir");
    const number_list pointers = read_list(found.object.id(), "jc");
    for (const number_list* list : {&std::as_const(matrix_.row_ind), &pointers}) {
      if (!list->type.is_integer()) fail(errc::parse_error, "{}: ir and jc must hold integers", found.path);
    }
    set_col_ptr(matrix_, pointers);
    matrix_.values = read_list(found.object.id(), "data");
  } else if (matrix_.rows() > 0 && matrix_.cols() > 0) {
    matrix_.values = read_numbers(found.object.id(), found.path);
  } else {
    matrix_.values.from.data = matrix_.content;
  }
  require_lengths(matrix_);
}

number_list level_7_3_file::read_list(hid_t group, const char* name) {
  const std::string path = matrix_.path + "." + name;
  if (H5Lexists(group, name, H5P_DEFAULT) <= 0) {
    number_list none;
    none.type = {number_kind::unsigned_integer, 1, std::endian::native};
    none.from.data = matrix_.content;
    return none;
  }
  const handle dataset = require(H5Dopen2(group, name, H5P_DEFAULT), H5Dclose, path);
  return read_numbers(dataset.id(), path);
}

/// Every number of a dataset, in this machine's byte order; of complex ones the real parts.
number_list level_7_3_file::read_numbers(hid_t dataset, const std::string& path) {
  const handle stored = require(H5Dget_type(dataset), H5Tclose, path);
  const bool complex = H5Tget_class(stored.id()) == H5T_COMPOUND;
  const int real_member = complex ? H5Tget_member_index(stored.id(), "real") : 0;
  if (real_member < 0) fail_damaged(path);
  const handle part =
      complex ? require(H5Tget_member_type(stored.id(), static_cast<unsigned>(real_member)), H5Tclose, path) : stored;
  const handle native = require(H5Tget_native_type(part.id(), H5T_DIR_ASCEND), H5Tclose, path);
  const std::size_t bytes = H5Tget_size(native.id());
  const H5T_class_t kind = H5Tget_class(native.id());
  const auto row =
      std::ranges::find_if(native_numbers, [&](const native_number& n) { return n.kind == kind && n.bytes == bytes; });
  if (row == native_numbers.end()) {
    fail(errc::unsupported, "{}: holds no numbers of at most 64 bits", files::quoted(path));
  }
  handle in_memory = native;
  if (complex) {
    in_memory = require(H5Tcreate(H5T_COMPOUND, bytes), H5Tclose, path);
    if (H5Tinsert(in_memory.id(), "real", 0, native.id()) < 0) fail_damaged(path);
  }

  const handle space = require(H5Dget_space(dataset), H5Sclose, path);
  const hssize_t count = H5Sget_simple_extent_npoints(space.id());
  std::int64_t total = 0;
  if (count < 0 || __builtin_mul_overflow(count, static_cast<std::int64_t>(bytes), &total)) fail_damaged(path);
  // A dataset may announce numbers that are not stored; they would read as zeros.
  if (count > 0 && H5Dget_storage_size(dataset) == 0) {
    fail(errc::truncated, "{}: announces {} numbers and stores none", files::quoted(path), count);
  }
  meter_.count(total, {.path = in_.path()});
  meter_.require_memory(total, {.path = in_.path()});
  const auto block = std::make_shared<byte_block>();
  block->reserve(0, static_cast<std::size_t>(total));
  if (count > 0 && H5Dread(dataset, in_memory.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, block->data()) < 0) {
    fail_damaged(path);
  }
  number_list list;
  list.type = {H5Tget_sign(native.id()) == H5T_SGN_NONE ? row->as_unsigned : row->as_signed, bytes,
               std::endian::native};
  list.size = count;
  list.from.data = matrix_.content;
  list.from.data.bytes = {block->data(), static_cast<std::size_t>(total)};
  list.from.data.owner = block;
  return list;
}

/// Calls use(matrix) with the lock held and HDF5 silent; all handles of the matrix are closed afterwards.
template <class F>
auto with_matrix(source& in, F&& use) {
  const std::lock_guard one_at_a_time(library_lock());
  const silence quiet;
  const level_7_3_file file(in);
  return use(file.matrix());
}

}  // namespace

file_info mat73::read_info(source& in) {
  return with_matrix(in, [](const mat_matrix& a) { return info_of(a); });
}

template <value T, index I>
coo_matrix<T, I> mat73::read_matrix(source& in) {
  return with_matrix(in, [&](const mat_matrix& a) { return mat::to_coo<T, I>(a, in.options()); });
}

template coo_matrix<float, std::int32_t> mat73::read_matrix(source&);
template coo_matrix<float, std::int64_t> mat73::read_matrix(source&);
template coo_matrix<double, std::int32_t> mat73::read_matrix(source&);
template coo_matrix<double, std::int64_t> mat73::read_matrix(source&);

}  // namespace bcsc::files
