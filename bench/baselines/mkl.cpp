#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "bench/harness/contender.hpp"
#include "core/fail.hpp"

/// Intel's MKL, loaded from the path that the user gives or by the loader's: its inspector-executor interface,
/// row-major, 32-bit indices. Neither its headers nor its libraries are needed to build. Declarations follow the
/// "oneMKL Developer Reference for C", sections "Inspector-Executor Sparse BLAS" and "Support Functions".
namespace bcsc::bench {

namespace {

constexpr int interface_lp64 = 0;
constexpr int threading_gnu = 3;  // libiomp5 in one process with libgomp ends in a crash
constexpr int status_success = 0;
constexpr int index_base_zero = 0;
constexpr int operation_non_transpose = 10;
constexpr int layout_row_major = 101, layout_col_major = 102;

struct matrix_descr {
  int type = 20;  // general
  int mode = 40;  // ignored
  int diag = 50;  // ignored
};
using handle = void*;

template <value T>
struct sparse_functions {
  int (*create_csr)(handle*, int base, int rows, int cols, std::int32_t* rows_start, std::int32_t* rows_end,
                    std::int32_t* col_ind, T* values);
  int (*mm)(int operation, T alpha, handle, matrix_descr, int layout, const T* b, int columns, int ldb, T beta, T* c,
            int ldc);
  int (*mv)(int operation, T alpha, handle, matrix_descr, const T* x, T beta, T* y);
};

struct mkl_functions {
  int (*set_interface_layer)(int);
  int (*set_threading_layer)(int);
  void (*set_num_threads)(int);
  void (*get_version_string)(char*, int);
  int (*set_mm_hint)(handle, int operation, matrix_descr, int layout, int columns, int calls);
  int (*set_mv_hint)(handle, int operation, matrix_descr, int calls);
  int (*optimize)(handle);
  int (*destroy)(handle);
  sparse_functions<float> fp32;
  sparse_functions<double> fp64;

  template <value T>
  const sparse_functions<T>& of() const {
    if constexpr (std::is_same_v<T, float>) {
      return fp32;
    } else {
      return fp64;
    }
  }
};

/// Never unloaded: its threads live as long as the process.
mkl_functions load_mkl(const std::string& library) {
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (opened == nullptr) {
    const char* const why = dlerror();
    core::fail(errc::io_error, "{}: {}", library, why != nullptr ? why : "cannot be loaded");
  }
  const auto bind = [&]<class Function>(Function*& function, const std::string& name) {
    function = reinterpret_cast<Function*>(dlsym(opened, name.c_str()));
    if (function == nullptr) core::fail(errc::io_error, "{}: it has no {}", library, name);
  };
  mkl_functions mkl{};
  bind(mkl.set_interface_layer, "MKL_Set_Interface_Layer");
  bind(mkl.set_threading_layer, "MKL_Set_Threading_Layer");
  bind(mkl.set_num_threads, "MKL_Set_Num_Threads");
  bind(mkl.get_version_string, "MKL_Get_Version_String");
  bind(mkl.set_mm_hint, "mkl_sparse_set_mm_hint");
  bind(mkl.set_mv_hint, "mkl_sparse_set_mv_hint");
  bind(mkl.optimize, "mkl_sparse_optimize");
  bind(mkl.destroy, "mkl_sparse_destroy");
  const auto bind_type = [&](auto& functions, char letter) {
    bind(functions.create_csr, fmt::format("mkl_sparse_{}_create_csr", letter));
    bind(functions.mm, fmt::format("mkl_sparse_{}_mm", letter));
    bind(functions.mv, fmt::format("mkl_sparse_{}_mv", letter));
  };
  bind_type(mkl.fp32, 's');
  bind_type(mkl.fp64, 'd');
  return mkl;
}

void require_success(int status, const char* function) {
  if (status != status_success) core::fail(errc::unsupported, "{} answers {}", function, status);
}

/// A handle over CSR arrays that live elsewhere.
template <value T>
class sparse_matrix {
 public:
  sparse_matrix(const mkl_functions& mkl, const csr_view<T, std::int32_t>& a) : mkl_(mkl) {
    // MKL does not write to them, though its interface does not say so.
    auto* const row_ptr = const_cast<std::int32_t*>(a.row_ptr.data());
    auto* const col_ind = const_cast<std::int32_t*>(a.col_ind.data());
    require_success(
        mkl.of<T>().create_csr(&handle_, index_base_zero, static_cast<int>(a.rows), static_cast<int>(a.cols), row_ptr,
                               row_ptr + 1, col_ind, const_cast<T*>(a.values.data())),
        "mkl_sparse_?_create_csr");
  }
  ~sparse_matrix() { mkl_.destroy(handle_); }
  sparse_matrix(const sparse_matrix&) = delete;
  sparse_matrix& operator=(const sparse_matrix&) = delete;
  handle get() const { return handle_; }

 private:
  const mkl_functions& mkl_;
  handle handle_ = nullptr;
};

/// Passed to MKL's hints, so that it puts all it can into its inspection.
constexpr int expected_calls = 1000;

class mkl_rivals final : public rivals {
 public:
  mkl_rivals(const std::string& library, int threads) : mkl_(load_mkl(library)) {
    mkl_.set_interface_layer(interface_lp64);
    mkl_.set_threading_layer(threading_gnu);
    mkl_.set_num_threads(threads);
    std::array<char, 256> text{};
    mkl_.get_version_string(text.data(), static_cast<int>(text.size()) - 1);
    version_ = text.data();
    while (!version_.empty() && version_.back() == ' ') version_.pop_back();
    version_ += ", GNU threads";
  }

  std::string main_group() const override { return "mkl"; }
  void describe(machine_facts& facts) const override { facts.versions["mkl"] = version_; }
  using rivals::on;  // the other types have none
  std::vector<rival<float>> on(const problem<float>& p) override { return all(p); }
  std::vector<rival<double>> on(const problem<double>& p) override { return all(p); }

 private:
  template <value T>
  std::vector<rival<T>> all(const problem<T>& p) const {
    return {product(p), vector_product(p)};
  }

  template <value T>
  rival<T> product(const problem<T>& p) const {
    return {.name = "mkl-mm", .group = "mkl", .prepare = [this, a = p.host](dense_view<const T> b, dense_view<T> c) {
              const int order = b.order == layout::row_major ? layout_row_major : layout_col_major;
              const auto matrix = std::make_shared<sparse_matrix<T>>(mkl_, a);
              require_success(mkl_.set_mm_hint(matrix->get(), operation_non_transpose, matrix_descr{}, order,
                                               static_cast<int>(b.cols), expected_calls),
                              "mkl_sparse_set_mm_hint");
              require_success(mkl_.optimize(matrix->get()), "mkl_sparse_optimize");
              prepared ready;
              ready.start = [this, matrix, b, c, order] {
                require_success(mkl_.of<T>().mm(operation_non_transpose, T{1}, matrix->get(), matrix_descr{}, order,
                                                b.data, static_cast<int>(b.cols), static_cast<int>(b.ld), T{0}, c.data,
                                                static_cast<int>(c.ld)),
                                "mkl_sparse_?_mm");
              };
              return ready;
            }};
  }

  /// N = 1 has its own function, whose form of A nothing else can use: hence its own group.
  template <value T>
  rival<T> vector_product(const problem<T>& p) const {
    return {.name = "mkl-mv",
            .group = "mkl-mv",
            .only_cols = 1,
            .prepare = [this, a = p.host](dense_view<const T> b, dense_view<T> c) {
              if (!is_vector(b) || !is_vector(c)) core::fail(errc::unsupported, "only for one packed column");
              const auto matrix = std::make_shared<sparse_matrix<T>>(mkl_, a);
              require_success(mkl_.set_mv_hint(matrix->get(), operation_non_transpose, matrix_descr{}, expected_calls),
                              "mkl_sparse_set_mv_hint");
              require_success(mkl_.optimize(matrix->get()), "mkl_sparse_optimize");
              prepared ready;
              ready.start = [this, matrix, b, c] {
                require_success(
                    mkl_.of<T>().mv(operation_non_transpose, T{1}, matrix->get(), matrix_descr{}, b.data, T{0}, c.data),
                    "mkl_sparse_?_mv");
              };
              return ready;
            }};
  }

  mkl_functions mkl_;
  std::string version_;
};

}  // namespace

std::unique_ptr<rivals> open_mkl_rivals(const std::string& library, int threads) {
  return std::make_unique<mkl_rivals>(library, threads);
}

}  // namespace bcsc::bench
