#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bcsc/capi.h"
#include "test/support/battery.hpp"
#include "test/support/oracle.hpp"

/// Systems of equations as the C interface is given them.
namespace bcsc::test {

inline bool says(const std::string& words) { return std::string(bcsc_last_error()).find(words) != std::string::npos; }

template <class Options>
Options sized() {
  Options options{};
  options.size = sizeof options;
  return options;
}

/// A product with the triplets of a test, one by one, as a callback for the CPU. It counts its calls, and may fail.
template <class T>
struct triplet_product {
  const sparse_case* a = nullptr;
  int calls = 0, fails_at = -1, fails_with = 0;

  static int apply(void* data, int64_t k, const void* alpha, const void* x, int64_t ldx, const void* beta, void* y,
                   int64_t ldy, int in_place, void*) {
    auto& self = *static_cast<triplet_product*>(data);
    EXPECT_EQ(in_place, 0);
    if (self.calls++ == self.fails_at) return self.fails_with;
    const auto* const from = static_cast<const T*>(x);
    auto* const to = static_cast<T*>(y);
    const T factor = *static_cast<const T*>(alpha), old = *static_cast<const T*>(beta);
    for (std::int64_t i = 0; i < self.a->rows; ++i) {
      for (std::int64_t j = 0; j < k; ++j) to[i * ldy + j] = old != 0 ? old * to[i * ldy + j] : 0;
    }
    for (const triplet& e : self.a->entries) {
      const T value = factor * static_cast<T>(e.value);
      for (std::int64_t j = 0; j < k; ++j) to[e.row * ldy + j] += value * from[e.col * ldx + j];
    }
    return BCSC_OK;
  }
};

/// All that the C interface can be told of one matrix, and freed at the end.
template <class T>
class c_system {
 public:
  explicit c_system(bcsc_context where, sparse_case given)
      : a(std::move(given)), arrays_(csr_of<T>(a)), context(where) {
    const auto v = arrays_.view();
    auto arrays = sized<bcsc_csr_arrays>();
    arrays.value_type = static_cast<int>(value_type_of<T>);
    arrays.rows = v.rows;
    arrays.cols = v.cols;
    arrays.nnz = v.nnz();
    arrays.row_ptr = v.row_ptr.data();
    arrays.col_ind = v.col_ind.data();
    arrays.values = v.values.data();
    EXPECT_EQ(bcsc_sparse_csr(&arrays, &matrix), BCSC_OK) << bcsc_last_error();
    EXPECT_EQ(bcsc_plan_create(context, matrix, &plan, nullptr), BCSC_OK) << bcsc_last_error();
    EXPECT_EQ(bcsc_operator_plan(plan, &of_plan), BCSC_OK) << bcsc_last_error();
    EXPECT_EQ(bcsc_operator_callback(context, a.rows, a.cols, arrays.value_type, triplet_product<T>::apply, &product,
                                     &of_function),
              BCSC_OK)
        << bcsc_last_error();
  }
  ~c_system() {
    bcsc_operator_free(of_function);
    bcsc_operator_free(of_plan);
    bcsc_plan_free(plan);
    bcsc_sparse_free(matrix);
  }
  c_system(const c_system&) = delete;
  c_system& operator=(const c_system&) = delete;

  std::vector<T> diagonal() const {
    std::vector<T> entries(static_cast<std::size_t>(a.rows), 0);
    for (const triplet& e : a.entries) {
      if (e.row == e.col) entries[static_cast<std::size_t>(e.row)] += static_cast<T>(e.value);
    }
    return entries;
  }

  const sparse_case a;

 private:
  const csr_matrix<T> arrays_;

 public:
  const bcsc_context context;
  triplet_product<T> product{&a};
  bcsc_sparse matrix = nullptr;
  bcsc_plan plan = nullptr;
  bcsc_operator of_plan = nullptr, of_function = nullptr;
};

}  // namespace bcsc::test
