#include "bcsc/spmm.hpp"
#include "lib/capi/guard.hpp"
#include "lib/capi/handles.hpp"

using namespace bcsc;
using namespace bcsc::capi;

namespace {

constexpr layout last_layout = layout::col_major;

/// What a plan is made from.
template <class View>
concept factor_view =
    (format_of<View> == matrix_format::csr || format_of<View> == matrix_format::bcsc) && number<typename View::value_t>;

/// f(view) of a matrix that a plan takes.
template <class F>
void with_factor(bcsc_sparse matrix, F f) {
  require(matrix, "matrix");
  matrix->view.visit([&]<class View>(const View& view) {
    if constexpr (factor_view<View>) {
      f(view);
    } else {
      core::fail(errc::unsupported, "matrix is {} of {}: products take csr and bcsc of numbers",
                 to_string(format_of<View>), to_string(value_type_of<typename View::value_t>));
    }
  });
}

plan_options options_of(const bcsc_plan_options* options) {
  const bcsc_plan_options given = taken(options, "options");
  require_unused(given.reserved, "options");
  plan_options made;
  if (given.cols != 0) made.cols = given.cols;
  made.transpose = enumerator(given.transpose, op::transpose, "options.transpose");
  made.b_layout = enumerator(given.b_layout, last_layout, "options.b_layout");
  made.compute = enumerator(given.compute, compute_class::tf32, "options.compute");
  made.deterministic = flag(given.deterministic, "options.deterministic");
  made.transposable = flag(given.transposable, "options.transposable");
  made.check = enumerator(given.check, trust::trusted, "options.check");
  if (given.batch != 0) made.batch = given.batch;
  made.max_workspace_bytes = given.max_workspace_bytes;
  if (given.kernel != nullptr) made.expert.kernel = given.kernel;
  made.expert.m_block = given.m_block;
  made.expert.boundaries = enumerator(given.boundaries, row_blocks::structural, "options.boundaries");
  made.expert.reading = enumerator(given.reading, col_major_b::in_place, "options.reading");
  made.expert.reorder_rows = flag(given.reorder_rows, "options.reorder_rows");
  return made;
}

/// `stream` and workspace; the batch is the caller's to add.
run_options options_of(const bcsc_run_options& given) {
  if ((given.workspace == nullptr) != (given.workspace_bytes == 0)) {
    core::fail(errc::invalid_argument, "options.workspace = {}, options.workspace_bytes = {}: both or neither",
               given.workspace, given.workspace_bytes);
  }
  return {.stream = static_cast<cuda_stream>(given.stream),
          .workspace = {static_cast<std::byte*>(given.workspace), given.workspace_bytes},
          .move_workspace = flag(given.move_workspace, "options.move_workspace")};
}

template <value T>
scalar<T> scalar_at(const void* where, bool in_place) {
  const T* const pointer = static_cast<const T*>(where);
  return in_place ? scalar<T>::at(pointer) : scalar<T>(*pointer);
}

int run_all(bcsc_plan plan, std::int64_t n, const strided_batch& batch, const void* alpha, const void* b,
            std::int64_t ldb, const void* beta, void* c, std::int64_t ldc, int c_layout,
            const bcsc_run_options* options) {
  return guarded([&] {
    require(plan, "plan");
    require(alpha, "alpha");
    require(beta, "beta");
    const layout c_order = enumerator(c_layout, last_layout, "c_layout");
    const bcsc_run_options given = taken(options, "options");
    const bool in_place = flag(given.scalars_in_place, "options.scalars_in_place");
    run_options how = options_of(given);
    how.batch = batch;
    std::visit(
        [&]<class T>(const spmm_plan<T>& p) {
          using S = scalar_of<T>;
          p.run(scalar_at<S>(alpha, in_place), {static_cast<const T*>(b), p.facts().cols, n, ldb, plan->b_layout},
                scalar_at<S>(beta, in_place), {static_cast<T*>(c), p.facts().rows, n, ldc, c_order}, how);
        },
        plan->plan);
  });
}

}  // namespace

int bcsc_plan_create(bcsc_context where, bcsc_sparse matrix, bcsc_plan* out, const bcsc_plan_options* options) {
  return guarded([&] {
    require(where, "context");
    require(out, "plan");
    const plan_options how = options_of(options);
    with_factor(matrix, [&]<class View>(const View& a) {
      *out = new bcsc_plan_s{spmm_plan<typename View::value_t>(where->context, a, how), how.b_layout};
    });
  });
}

int bcsc_plan_transposed(bcsc_plan plan, int64_t cols, bcsc_plan* out) {
  return guarded([&] {
    require(plan, "plan");
    require(out, "transposed");
    std::visit(
        [&](const auto& p) {
          auto transposed = p.transposed(cols);
          if (!transposed) {
            core::fail(errc::no_such_kernel,
                       "the plan's kernel \"{}\" stores A in a form that no kernel multiplies by its transpose: say "
                       "options.transposable",
                       p.facts().kernel.name);
          }
          *out = new bcsc_plan_s{*std::move(transposed), plan->b_layout};
        },
        plan->plan);
  });
}

int bcsc_plan_update_values(bcsc_plan plan, bcsc_sparse matrix) {
  return guarded([&] {
    require(plan, "plan");
    with_factor(matrix, [&]<class View>(const View& a) {
      using T = typename View::value_t;
      auto* const p = std::get_if<spmm_plan<T>>(&plan->plan);
      if (p == nullptr) {
        core::fail(errc::invalid_argument, "matrix is of {}, which is not the plan's type",
                   to_string(value_type_of<T>));
      }
      p->update_values(a);
    });
  });
}

int bcsc_plan_workspace_bytes(bcsc_plan plan, size_t* bytes) {
  return guarded([&] {
    require(plan, "plan");
    require(bytes, "bytes");
    *bytes = std::visit([](const auto& p) { return p.workspace_bytes(); }, plan->plan);
  });
}

int bcsc_plan_get_facts(bcsc_plan plan, bcsc_plan_facts* out) {
  return guarded([&] {
    require(plan, "plan");
    require(out, "facts");
    check_size(*out, "facts");
    const plan_facts& facts = std::visit([](const auto& p) -> const plan_facts& { return p.facts(); }, plan->plan);
    give({.rows = facts.rows,
          .cols = facts.cols,
          .nnz = facts.nnz,
          .nnzc = facts.nnzc,
          .m_block = facts.m_block,
          .format_bytes = facts.format_bytes,
          .kernel = facts.kernel.name.c_str(),
          .value_type = static_cast<int>(facts.kernel.type),
          .deterministic = facts.kernel.deterministic ? 1 : 0},
         out);
  });
}

int bcsc_plan_explain(bcsc_plan plan, const char** text) {
  return guarded([&] {
    require(plan, "plan");
    require(text, "text");
    *text = plan->explanation.c_str();
  });
}

void bcsc_plan_free(bcsc_plan plan) { delete plan; }

int bcsc_plan_run(bcsc_plan plan, int64_t n, const void* alpha, const void* b, int64_t ldb, const void* beta, void* c,
                  int64_t ldc, int c_layout, const bcsc_run_options* options) {
  return run_all(plan, n, {}, alpha, b, ldb, beta, c, ldc, c_layout, options);
}

int bcsc_plan_run_batch(bcsc_plan plan, int64_t n, int64_t count, const void* alpha, const void* b, int64_t ldb,
                        int64_t b_stride, const void* beta, void* c, int64_t ldc, int64_t c_stride, int c_layout,
                        const bcsc_run_options* options) {
  return run_all(plan, n, {count, b_stride, c_stride}, alpha, b, ldb, beta, c, ldc, c_layout, options);
}

int bcsc_spmm(bcsc_context where, bcsc_sparse matrix, int64_t n, const void* alpha, const void* b, int64_t ldb,
              int b_layout, const void* beta, void* c, int64_t ldc, int c_layout) {
  return guarded([&] {
    require(where, "context");
    require(alpha, "alpha");
    require(beta, "beta");
    const layout b_order = enumerator(b_layout, last_layout, "b_layout");
    const layout c_order = enumerator(c_layout, last_layout, "c_layout");
    with_factor(matrix, [&]<class View>(const View& a) {
      using T = typename View::value_t;
      if constexpr (std::is_same_v<View, csr_view<T, std::int32_t>>) {
        using S = scalar_of<T>;
        spmm<T>(where->context, a, {static_cast<const T*>(b), a.cols, n, ldb, b_order},
                {static_cast<T*>(c), a.rows, n, ldc, c_order}, *static_cast<const S*>(alpha),
                *static_cast<const S*>(beta));
      } else {
        core::fail(errc::unsupported, "matrix is {}: bcsc_spmm takes csr with 32-bit indices, bcsc_plan_create more",
                   to_string(format_of<View>));
      }
    });
  });
}
