#include <cstddef>
#include <cstdint>
#include <cstring>

/// As much of libmkl_rt as the benchmark calls: plain loops over CSR behind MKL's names, for tests without an MKL.
namespace {

constexpr int row_major = 101;

struct matrix_descr {
  int type, mode, diag;
};

template <class T>
struct matrix {
  int rows;
  const std::int32_t *begin, *end, *cols;
  const T* values;
};

/// Never freed: nobody asks a stand-in for its memory.
template <class T>
int create(void** made, int rows, std::int32_t* begin, std::int32_t* end, std::int32_t* cols, T* values) {
  *made = new matrix<T>{rows, begin, end, cols, values};
  return 0;
}

template <class T>
int multiply(T alpha, void* of, int layout, const T* b, int columns, int ldb, T* c, int ldc) {
  const auto& a = *static_cast<const matrix<T>*>(of);
  const auto at = [layout](std::ptrdiff_t row, std::ptrdiff_t col, int ld) {
    return layout == row_major ? row * ld + col : col * ld + row;
  };
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      T sum = 0;
      for (std::int32_t k = a.begin[i]; k < a.end[i]; ++k) sum += a.values[k] * b[at(a.cols[k], j, ldb)];
      c[at(i, j, ldc)] = alpha * sum;
    }
  }
  return 0;
}

}  // namespace

extern "C" {

int MKL_Set_Interface_Layer(int layer) { return layer; }
int MKL_Set_Threading_Layer(int layer) { return layer; }
void MKL_Set_Num_Threads(int) {}
void MKL_Get_Version_String(char* text, int size) { std::strncpy(text, "a stand-in", static_cast<std::size_t>(size)); }
int mkl_sparse_set_mm_hint(void*, int, matrix_descr, int, int, int) { return 0; }
int mkl_sparse_set_mv_hint(void*, int, matrix_descr, int) { return 0; }
int mkl_sparse_optimize(void*) { return 0; }
int mkl_sparse_destroy(void*) { return 0; }

int mkl_sparse_s_create_csr(void** made, int, int rows, int, std::int32_t* begin, std::int32_t* end, std::int32_t* cols,
                            float* values) {
  return create(made, rows, begin, end, cols, values);
}
int mkl_sparse_d_create_csr(void** made, int, int rows, int, std::int32_t* begin, std::int32_t* end, std::int32_t* cols,
                            double* values) {
  return create(made, rows, begin, end, cols, values);
}
int mkl_sparse_s_mm(int, float alpha, void* a, matrix_descr, int layout, const float* b, int columns, int ldb, float,
                    float* c, int ldc) {
  return multiply(alpha, a, layout, b, columns, ldb, c, ldc);
}
int mkl_sparse_d_mm(int, double alpha, void* a, matrix_descr, int layout, const double* b, int columns, int ldb, double,
                    double* c, int ldc) {
  return multiply(alpha, a, layout, b, columns, ldb, c, ldc);
}
int mkl_sparse_s_mv(int, float alpha, void* a, matrix_descr, const float* x, float, float* y) {
  return multiply(alpha, a, row_major, x, 1, 1, y, 1);
}
int mkl_sparse_d_mv(int, double alpha, void* a, matrix_descr, const double* x, double, double* y) {
  return multiply(alpha, a, row_major, x, 1, 1, y, 1);
}

}  // extern "C"
