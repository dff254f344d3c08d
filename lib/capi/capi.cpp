#include "bcsc/capi.h"

#include <new>
#include <optional>
#include <string>
#include <variant>

#include "bcsc/plan.hpp"
#include "bcsc/version.hpp"
#include "lib/core/checked.hpp"
#include "lib/core/fail.hpp"

struct bcsc_context_s {
  bcsc::context context;
};

struct bcsc_plan_s {
  std::variant<bcsc::spmm_plan<float>, bcsc::spmm_plan<double>> plan;
  std::int64_t rows, inner;
  bcsc::layout b_layout;
  std::string explanation;  // made with the plan; threads only read it
};

namespace {

using namespace bcsc;

thread_local std::string last_error;

/// Runs `body`; no exception leaves it.
template <class Body>
int guarded(Body body) noexcept {
  try {
    last_error.clear();
    body();
    return static_cast<int>(errc::ok);
  } catch (const error& e) {
    last_error = e.what();
    return static_cast<int>(e.code());
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";  // short enough to need none
    return static_cast<int>(errc::out_of_memory);
  } catch (const std::exception& e) {
    last_error = e.what();
    return static_cast<int>(errc::internal);
  }
}

template <class Pointer>
void require(Pointer pointer, const char* name) {
  if (pointer == nullptr) core::fail(errc::invalid_argument, "{} is null", name);
}

layout layout_of(int number, const char* name) {
  if (number != BCSC_ROW_MAJOR && number != BCSC_COL_MAJOR) {
    core::fail(errc::invalid_argument, "{} = {}: must be BCSC_ROW_MAJOR or BCSC_COL_MAJOR", name, number);
  }
  return number == BCSC_ROW_MAJOR ? layout::row_major : layout::col_major;
}

int make_context(bcsc_context* out, auto make) {
  return guarded([&] {
    require(out, "context");
    *out = new bcsc_context_s{make()};
  });
}

template <class T>
spmm_plan<T> plan_of(bcsc_context where, std::int64_t rows, std::int64_t inner, const std::int32_t* row_ptr,
                     const std::int32_t* col_ind, const void* values, const plan_options& options) {
  const std::int32_t nnz = row_ptr[rows];
  if (nnz < 0) core::fail(errc::invalid_format, "row_ptr[{}] = {}: must not be negative", rows, nnz);
  if (nnz > 0) {
    require(col_ind, "col_ind");
    require(values, "values");
  }
  const auto size = static_cast<std::size_t>(nnz);
  const csr_view<T> a{rows,
                      inner,
                      {row_ptr, static_cast<std::size_t>(rows) + 1},
                      {col_ind, size},
                      {static_cast<const T*>(values), size}};
  return spmm_plan<T>(where->context, a, options);
}

}  // namespace

const char* bcsc_last_error(void) { return last_error.c_str(); }
const char* bcsc_version(void) { return bcsc::version; }

int bcsc_context_cpu(int threads, bcsc_context* out) {
  return make_context(out, [&] { return context::cpu(threads); });
}
int bcsc_context_cuda(int device, bcsc_context* out) {
  return make_context(out, [&] { return context::cuda(device); });
}
int bcsc_context_best(bcsc_context* out) {
  return make_context(out, [] { return context::best(); });
}
void bcsc_context_free(bcsc_context where) { delete where; }

int bcsc_plan_csr(bcsc_context where, int type, int64_t rows, int64_t inner, const int32_t* row_ptr,
                  const int32_t* col_ind, const void* values, int64_t cols, int b_layout, bcsc_plan* out) {
  return guarded([&] {
    require(where, "context");
    require(row_ptr, "row_ptr");
    require(out, "plan");
    if (rows < 0) core::fail(errc::invalid_argument, "rows = {}: must not be negative", rows);
    const plan_options options{.cols = cols, .b_layout = layout_of(b_layout, "b_layout")};
    const auto made = [&]<class T>(spmm_plan<T>&& plan) {
      std::string explanation = plan.explain();
      *out = new bcsc_plan_s{std::move(plan), rows, inner, options.b_layout, std::move(explanation)};
    };
    if (type == BCSC_FP32) {
      made(plan_of<float>(where, rows, inner, row_ptr, col_ind, values, options));
    } else if (type == BCSC_FP64) {
      made(plan_of<double>(where, rows, inner, row_ptr, col_ind, values, options));
    } else {
      core::fail(errc::invalid_argument, "type = {}: must be BCSC_FP32 or BCSC_FP64", type);
    }
  });
}
void bcsc_plan_free(bcsc_plan plan) { delete plan; }

int bcsc_plan_run(bcsc_plan plan, const void* alpha, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc,
                  int c_layout, int64_t n, void* stream) {
  return bcsc_plan_run_batch(plan, alpha, b, ldb, 0, beta, c, ldc, 0, c_layout, n, 1, stream);
}

int bcsc_plan_run_batch(bcsc_plan plan, const void* alpha, const void* b, int64_t ldb, int64_t b_stride,
                        const void* beta, void* c, int64_t ldc, int64_t c_stride, int c_layout, int64_t n,
                        int64_t count, void* stream) {
  return guarded([&] {
    require(plan, "plan");
    require(alpha, "alpha");
    require(beta, "beta");
    const layout c_order = layout_of(c_layout, "c_layout");
    std::visit(
        [&]<class T>(const spmm_plan<T>& p) {
          p.run(*static_cast<const T*>(alpha), {static_cast<const T*>(b), plan->inner, n, ldb, plan->b_layout},
                *static_cast<const T*>(beta), {static_cast<T*>(c), plan->rows, n, ldc, c_order},
                {.stream = static_cast<cuda_stream>(stream), .batch = {count, b_stride, c_stride}});
        },
        plan->plan);
  });
}

int bcsc_plan_explain(bcsc_plan plan, const char** text) {
  return guarded([&] {
    require(plan, "plan");
    require(text, "text");
    *text = plan->explanation.c_str();
  });
}
