/* The C interface from end to end, every function of bcsc/capi.h once: a Laplacian on a grid is written to a file and
   read back, converted, multiplied on the best device there is, given new values, and solved with. All results are
   checked against sums made here.
     c_api [FILE.mtx]    (written, read and removed; default: c_api_example.mtx) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bcsc/capi.h"

enum { width = 12, rows = width * width, max_entries = 5 * rows, columns = 3, members = 2 };

/* Ends the program unless a call went well. */
static void check(int code, const char* what) {
  if (code == BCSC_OK) return;
  fprintf(stderr, "%s: %s (%s): %s\n", what, bcsc_error_name(code), bcsc_error_text(code), bcsc_last_error());
  exit(1);
}

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "wrong: %s\n", what);
  exit(1);
}

/* --- The matrix, as plain arrays --------------------------------------------------------------------------------- */

static int32_t row_ptr[rows + 1];
static int32_t col_ind[max_entries];
static double values[max_entries];
static double diagonal[rows];

static void add(int32_t* nnz, int32_t col, double value) {
  col_ind[*nnz] = col;
  values[*nnz] = value;
  ++*nnz;
}

/* 5 on the diagonal, -1 for each neighbour to the left and below, -1/2 for the others, so that A' is not A. */
static int32_t make_matrix(void) {
  int32_t nnz = 0;
  for (int32_t i = 0; i < rows; ++i) {
    row_ptr[i] = nnz;
    if (i >= width) add(&nnz, i - width, -1.0);
    if (i % width > 0) add(&nnz, i - 1, -1.0);
    add(&nnz, i, 5.0);
    if (i % width < width - 1) add(&nnz, i + 1, -0.5);
    if (i + width < rows) add(&nnz, i + width, -0.5);
    diagonal[i] = 5.0;
  }
  row_ptr[rows] = nnz;
  return nnz;
}

/* c = alpha * op(A) * b + beta * c for row-major b and c with `columns` columns. */
static void multiply_here(int transposed, double alpha, const double* b, double beta, double* c) {
  for (int64_t at = 0; at < (int64_t)rows * columns; ++at) c[at] *= beta;
  for (int32_t i = 0; i < rows; ++i) {
    for (int32_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
      const int32_t to = transposed ? col_ind[e] : i, from = transposed ? i : col_ind[e];
      for (int j = 0; j < columns; ++j) c[to * columns + j] += alpha * values[e] * b[from * columns + j];
    }
  }
}

static double distance(const double* x, const double* y, size_t count) {
  double largest = 0;
  for (size_t at = 0; at < count; ++at) {
    const double apart = fabs(x[at] - y[at]);
    if (!(apart <= largest)) largest = apart;
    if (isnan(apart)) break;
  }
  return largest;
}

/* --- Files, formats ---------------------------------------------------------------------------------------------- */

static bcsc_sparse matrix_of(int32_t nnz) {
  const bcsc_csr_arrays arrays = {.size = sizeof arrays,
                                  .value_type = BCSC_FP64,
                                  .index_type = BCSC_INT32,
                                  .memory_space = BCSC_HOST,
                                  .rows = rows,
                                  .cols = rows,
                                  .nnz = nnz,
                                  .row_ptr = row_ptr,
                                  .col_ind = col_ind,
                                  .values = values};
  bcsc_sparse matrix = NULL;
  check(bcsc_sparse_csr(&arrays, &matrix), "bcsc_sparse_csr");
  return matrix;
}

static void expect_same_csr(bcsc_sparse matrix, const char* what) {
  bcsc_csr_arrays arrays = {.size = sizeof arrays};
  check(bcsc_sparse_get_csr(matrix, &arrays), "bcsc_sparse_get_csr");
  const size_t nnz = (size_t)row_ptr[rows];
  expect(arrays.rows == rows && arrays.cols == rows && arrays.nnz == row_ptr[rows], what);
  expect(arrays.value_type == BCSC_FP64 && arrays.index_type == BCSC_INT32, what);
  expect(memcmp(arrays.row_ptr, row_ptr, sizeof row_ptr) == 0, what);
  expect(memcmp(arrays.col_ind, col_ind, nnz * sizeof *col_ind) == 0, what);
  expect(memcmp(arrays.values, values, nnz * sizeof *values) == 0, what);
}

static void through_a_file(bcsc_sparse matrix, const char* path) {
  const bcsc_write_options writing = {.size = sizeof writing, .format = "matrix-market", .comment = "an example"};
  check(bcsc_sparse_write(matrix, path, &writing), "bcsc_sparse_write");
  bcsc_sparse again = NULL;
  const int code = bcsc_sparse_read(path, BCSC_FP64, &again, NULL);
  remove(path);
  check(code, "bcsc_sparse_read");
  expect_same_csr(again, "the matrix read back");
  bcsc_sparse_free(again);
}

static void through_other_formats(bcsc_sparse matrix) {
  bcsc_sparse blocks = NULL, seen = NULL, csr = NULL, transposed = NULL, back = NULL;
  check(bcsc_sparse_to_bcsc(matrix, 8, &blocks), "bcsc_sparse_to_bcsc");
  bcsc_sparse_facts facts = {.size = sizeof facts};
  check(bcsc_sparse_get_facts(blocks, &facts), "bcsc_sparse_get_facts");
  expect(facts.format == BCSC_FORMAT_BCSC && facts.num_values == row_ptr[rows], "the facts of BCSC");

  bcsc_bcsc_arrays arrays = {.size = sizeof arrays};
  check(bcsc_sparse_get_bcsc(blocks, &arrays), "bcsc_sparse_get_bcsc");
  printf("BCSC, blocks of %d rows: %d non-zeros in %d columns\n", (int)arrays.m_block, (int)arrays.nnz,
         (int)arrays.nnzc);
  check(bcsc_sparse_bcsc(&arrays, &seen), "bcsc_sparse_bcsc");
  check(bcsc_sparse_to_csr(seen, &csr), "bcsc_sparse_to_csr");
  expect_same_csr(csr, "CSR of BCSC");

  check(bcsc_sparse_transpose(matrix, &transposed), "bcsc_sparse_transpose");
  check(bcsc_sparse_transpose(transposed, &back), "bcsc_sparse_transpose");
  expect_same_csr(back, "the transpose's transpose");

  bcsc_sparse_free(back);
  bcsc_sparse_free(transposed);
  bcsc_sparse_free(csr);
  bcsc_sparse_free(seen);
  bcsc_sparse_free(blocks);
}

/* --- Products ---------------------------------------------------------------------------------------------------- */

static double b[members * rows * columns];
static double c[members * rows * columns];
static double expected[members * rows * columns];

static void fill_operands(void) {
  for (int at = 0; at < members * rows * columns; ++at) {
    b[at] = (at * 7 % 23 - 11) / 4.0;
    c[at] = expected[at] = (at * 5 % 17 - 8) / 2.0;
  }
}

/* `count` products at once, with B and C brought to where the context computes and C back. */
static void run(bcsc_context context, bcsc_plan plan, int count, double alpha, double beta) {
  const int64_t each = (int64_t)rows * columns;
  const size_t bytes = (size_t)count * (size_t)each * sizeof(double);
  void *b_there = NULL, *c_there = NULL, *workspace = NULL;
  size_t workspace_bytes = 0;
  check(bcsc_memory_allocate(context, bytes, &b_there), "bcsc_memory_allocate");
  check(bcsc_memory_allocate(context, bytes, &c_there), "bcsc_memory_allocate");
  check(bcsc_plan_workspace_bytes(plan, &workspace_bytes), "bcsc_plan_workspace_bytes");
  if (workspace_bytes > 0) check(bcsc_memory_allocate(context, workspace_bytes, &workspace), "bcsc_memory_allocate");
  check(bcsc_memory_copy(context, b, b_there, bytes), "bcsc_memory_copy");
  check(bcsc_memory_copy(context, c, c_there, bytes), "bcsc_memory_copy");

  const bcsc_run_options options = {.size = sizeof options, .workspace = workspace, .workspace_bytes = workspace_bytes};
  if (count == 1) {
    check(bcsc_plan_run(plan, columns, &alpha, b_there, columns, &beta, c_there, columns, BCSC_ROW_MAJOR, &options),
          "bcsc_plan_run");
  } else {
    check(bcsc_plan_run_batch(plan, columns, count, &alpha, b_there, columns, each, &beta, c_there, columns, each,
                              BCSC_ROW_MAJOR, &options),
          "bcsc_plan_run_batch");
  }
  check(bcsc_memory_copy(context, c_there, c, bytes), "bcsc_memory_copy"); /* waits for the product */
  check(bcsc_memory_free(context, workspace), "bcsc_memory_free");
  check(bcsc_memory_free(context, c_there), "bcsc_memory_free");
  check(bcsc_memory_free(context, b_there), "bcsc_memory_free");
}

static void products(bcsc_context context, bcsc_sparse matrix) {
  const size_t each = (size_t)rows * columns;
  const bcsc_plan_options options = {
      .size = sizeof options, .cols = columns, .deterministic = 0, .transposable = 1, .batch = members};
  bcsc_plan plan = NULL;
  check(bcsc_plan_create(context, matrix, &plan, &options), "bcsc_plan_create");
  bcsc_plan_facts facts = {.size = sizeof facts};
  const char* explanation = NULL;
  check(bcsc_plan_get_facts(plan, &facts), "bcsc_plan_get_facts");
  check(bcsc_plan_explain(plan, &explanation), "bcsc_plan_explain");
  expect(facts.rows == rows && facts.nnz == row_ptr[rows], "the facts of the plan");
  printf("kernel %s\n%s\n", facts.kernel, explanation);

  fill_operands();
  multiply_here(0, 2.0, b, -1.0, expected);
  run(context, plan, 1, 2.0, -1.0);
  expect(distance(c, expected, each) < 1e-12, "C = 2 A B - C");

  fill_operands();
  for (size_t k = 0; k < members; ++k) multiply_here(0, 1.0, b + k * each, 0.5, expected + k * each);
  run(context, plan, members, 1.0, 0.5);
  expect(distance(c, expected, members * each) < 1e-12, "a batch");

  bcsc_plan transposed = NULL;
  check(bcsc_plan_transposed(plan, 0, &transposed), "bcsc_plan_transposed");
  fill_operands();
  multiply_here(1, 1.0, b, 0.0, expected);
  run(context, transposed, 1, 1.0, 0.0);
  expect(distance(c, expected, each) < 1e-12, "C = A' B");
  bcsc_plan_free(transposed);

  for (int32_t e = 0; e < row_ptr[rows]; ++e) values[e] *= 2.0; /* the handle refers to these arrays */
  check(bcsc_plan_update_values(plan, matrix), "bcsc_plan_update_values");
  fill_operands();
  multiply_here(0, 1.0, b, 1.0, expected);
  run(context, plan, 1, 1.0, 1.0);
  expect(distance(c, expected, each) < 1e-12, "C = 2A B + C, with new values");
  bcsc_plan_free(plan);

  const double alpha = 1.0, beta = 1.0;
  fill_operands();
  multiply_here(0, alpha, b, beta, expected);
  check(bcsc_spmm(context, matrix, columns, &alpha, b, columns, BCSC_ROW_MAJOR, &beta, c, columns, BCSC_ROW_MAJOR),
        "bcsc_spmm");
  expect(distance(c, expected, each) < 1e-12, "C = A B + C in one line");
}

/* --- A from arrays where the context computes, and a solve with it ----------------------------------------------- */

static void* brought(bcsc_context context, const void* array, size_t bytes) {
  void* there = NULL;
  check(bcsc_memory_allocate(context, bytes, &there), "bcsc_memory_allocate");
  check(bcsc_memory_copy(context, array, there, bytes), "bcsc_memory_copy");
  return there;
}

static int tell(void* told, int64_t iteration, double residual) {
  *(int*)told += iteration > 0 && residual >= 0;
  return 1; /* go on */
}

/* The same matrix as a function, for a context on the CPU. */
static int apply_here(void* calls, int64_t k, const void* alpha, const void* x, int64_t ldx, const void* beta, void* y,
                      int64_t ldy, int scalars_in_place, void* stream) {
  const double factor = *(const double*)alpha, old = *(const double*)beta; /* on the host, as everything is here */
  (void)scalars_in_place, (void)stream;
  ++*(int*)calls;
  for (int32_t i = 0; i < rows; ++i) {
    double* to = (double*)y + i * ldy;
    for (int64_t j = 0; j < k; ++j) {
      double sum = 0.0;
      for (int32_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
        sum += values[e] * ((const double*)x)[col_ind[e] * ldx + j];
      }
      to[j] = factor * sum + (old != 0.0 ? old * to[j] : 0.0);
    }
  }
  return BCSC_OK;
}

static int tell_pairs(void* told, int64_t iteration, double residual, int64_t num_converged) {
  *(int*)told += iteration >= 0 && residual >= 0 && num_converged >= 0;
  return 1;
}

/* The smallest eigenvalues of the grid's matrix are 5 - 2 cos(i pi / 13) - 2 cos(j pi / 13). */
static void find_eigenvalues(bcsc_plan plan) {
  enum { pairs = 3 };
  static double x[rows * pairs];
  double found[pairs], again[pairs], residuals[pairs];
  bcsc_operator map = NULL, function = NULL;
  bcsc_context cpu = NULL;
  int told = 0, calls = 0;
  check(bcsc_operator_plan(plan, &map), "bcsc_operator_plan");
  check(bcsc_context_cpu(0, &cpu), "bcsc_context_cpu");
  check(bcsc_operator_callback(cpu, rows, rows, BCSC_FP64, apply_here, &calls, &function), "bcsc_operator_callback");
  const bcsc_lobpcg_options options = {.size = sizeof options, .progress = tell_pairs, .progress_data = &told};
  bcsc_lobpcg_result result = {.size = sizeof result};
  const int code = bcsc_solve_lobpcg(map, pairs, found, residuals, x, pairs, BCSC_ROW_MAJOR, &result, &options);
  if (code == BCSC_ERROR_UNSUPPORTED) {
    printf("LOBPCG: skipped: %s\n", bcsc_last_error());
    bcsc_operator_free(function);
    bcsc_operator_free(map);
    bcsc_context_free(cpu);
    return;
  }
  check(code, "bcsc_solve_lobpcg");
  printf("LOBPCG: %d iterations, smallest eigenvalue %.12f\n", (int)result.iterations, found[0]);
  expect(result.reason == BCSC_LOBPCG_CONVERGED && result.num_converged == pairs, "the eigensolver's end");
  expect(told == result.iterations + 1, "the progress told");
  for (int j = 0; j < pairs; ++j) expect(residuals[j] <= result.tolerance, "the residuals");
  const double angle = acos(-1.0) / (width + 1);
  expect(fabs(found[0] - (5.0 - 4.0 * cos(angle))) < 1e-9, "the smallest eigenvalue");
  expect(fabs(found[1] - (5.0 - 2.0 * cos(angle) - 2.0 * cos(2.0 * angle))) < 1e-9, "the second eigenvalue");
  expect(fabs(found[2] - found[1]) < 1e-9, "the second eigenvalue is double");

  check(bcsc_solve_lobpcg(function, pairs, again, NULL, x, pairs, BCSC_ROW_MAJOR, &result, NULL), "bcsc_solve_lobpcg");
  expect(calls == result.num_products, "the products are counted");
  for (int j = 0; j < pairs; ++j) expect(fabs(again[j] - found[j]) < 1e-9, "the function's eigenvalues");
  bcsc_operator_free(function);
  bcsc_operator_free(map);
  bcsc_context_free(cpu);
}

static void expect_solved(const bcsc_cg_result* result, const double* residuals, const char* what) {
  expect(result->reason == BCSC_CG_CONVERGED, what);
  for (int j = 0; j < columns; ++j) expect(residuals[j] <= 1e-10, what);
  multiply_here(0, 1.0, c, 0.0, expected);
  expect(distance(expected, b, (size_t)rows * columns) < 1e-8, what);
}

/* A as an operator with each preconditioner there is, and as a matrix whose products are rounded to fp32. */
static void solve_in_other_ways(bcsc_context context, bcsc_sparse matrix, bcsc_plan plan) {
  enum { kinds = 5 };
  bcsc_operator map = NULL, preconditioners[kinds] = {NULL};
  const bcsc_block_jacobi_options blocks = {.size = sizeof blocks, .block = width};
  const bcsc_chebyshev_options polynomial = {.size = sizeof polynomial, .degree = 4};
  const bcsc_ic0_options factor = {.size = sizeof factor, .shift = 0.001};
  const bcsc_amg_options multigrid = {.size = sizeof multigrid, .max_coarse = 20, .cols = columns};
  check(bcsc_operator_plan(plan, &map), "bcsc_operator_plan");
  check(bcsc_operator_jacobi(context, matrix, &preconditioners[0]), "bcsc_operator_jacobi");
  check(bcsc_operator_block_jacobi(context, matrix, &preconditioners[1], &blocks), "bcsc_operator_block_jacobi");
  check(bcsc_operator_chebyshev(context, matrix, &preconditioners[2], &polynomial), "bcsc_operator_chebyshev");
  check(bcsc_operator_ic0(context, matrix, &preconditioners[3], &factor), "bcsc_operator_ic0");
  check(bcsc_operator_amg(context, matrix, &preconditioners[4], &multigrid), "bcsc_operator_amg");

  double residuals[columns];
  bcsc_cg_options options = {.size = sizeof options, .tolerance = 1e-10, .true_residuals = residuals};
  bcsc_cg_result result = {.size = sizeof result};
  for (int k = 0; k < kinds; ++k) {
    const char* description = NULL;
    check(bcsc_operator_describe(preconditioners[k], &description), "bcsc_operator_describe");
    options.precondition = preconditioners[k];
    check(bcsc_solve_cg_operator(map, columns, b, columns, c, columns, BCSC_ROW_MAJOR, &result, &options),
          "bcsc_solve_cg_operator");
    printf("  %d iterations with %s\n", (int)result.iterations, description);
    expect_solved(&result, residuals, "a preconditioned solve");
    bcsc_operator_free(preconditioners[k]);
  }
  bcsc_operator_free(map);

  char inner[80];
  options.precondition = NULL;
  options.inner = BCSC_CG_INNER_FP32;
  options.correction = BCSC_CG_CORRECTION_REFINE;
  options.correction_when = 0.01;
  options.inner_text = inner;
  options.inner_text_bytes = sizeof inner;
  check(bcsc_solve_cg_matrix(context, matrix, columns, b, columns, c, columns, BCSC_ROW_MAJOR, &result, &options),
        "bcsc_solve_cg_matrix");
  printf("  %d iterations, %d refinements: %s\n", (int)result.iterations, (int)result.num_replacements, inner);
  expect_solved(&result, residuals, "a refined solve");
}

static void solve(bcsc_context context) {
  for (int32_t i = 0; i < rows; ++i) { /* symmetric now: all neighbours weigh -1 */
    for (int32_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) values[e] = col_ind[e] == i ? diagonal[i] : -1.0;
  }
  int backend = BCSC_CPU;
  check(bcsc_context_backend(context, &backend), "bcsc_context_backend");
  const size_t nnz = (size_t)row_ptr[rows];
  void* const there[] = {brought(context, row_ptr, sizeof row_ptr), brought(context, col_ind, nnz * sizeof *col_ind),
                         brought(context, values, nnz * sizeof *values)};
  const bcsc_csr_arrays arrays = {.size = sizeof arrays,
                                  .value_type = BCSC_FP64,
                                  .memory_space = backend == BCSC_CUDA ? BCSC_DEVICE : BCSC_HOST,
                                  .rows = rows,
                                  .cols = rows,
                                  .nnz = (int64_t)nnz,
                                  .row_ptr = there[0],
                                  .col_ind = there[1],
                                  .values = there[2]};
  const bcsc_plan_options planning = {.size = sizeof planning, .cols = columns};
  bcsc_sparse matrix = NULL;
  bcsc_plan plan = NULL;
  check(bcsc_sparse_csr(&arrays, &matrix), "bcsc_sparse_csr");
  check(bcsc_plan_create(context, matrix, &plan, &planning), "bcsc_plan_create");

  fill_operands();
  int told = 0;
  double residuals[columns];
  const bcsc_cg_options options = {.size = sizeof options,
                                   .tolerance = 1e-10,
                                   .progress = tell,
                                   .progress_data = &told,
                                   .true_residuals = residuals};
  bcsc_cg_result result = {.size = sizeof result};
  check(bcsc_solve_cg(plan, columns, diagonal, b, columns, c, columns, BCSC_ROW_MAJOR, &result, &options),
        "bcsc_solve_cg");
  printf("conjugate gradients: %d iterations, true residual %.1e\n", (int)result.iterations, result.true_residual);
  expect(told == result.iterations, "the progress told");
  expect_solved(&result, residuals, "A X = B");
  solve_in_other_ways(context, matrix, plan);
  bcsc_sparse_free(matrix);
  for (int k = 0; k < 3; ++k) check(bcsc_memory_free(context, there[k]), "bcsc_memory_free");
  find_eigenvalues(plan);
  bcsc_plan_free(plan);
}

static void errors_are_codes(void) {
  bcsc_context none = NULL;
  const int code = bcsc_context_cuda(-1, &none);
  expect(code != BCSC_OK && none == NULL, "there is no GPU of that number");
  printf("bcsc_context_cuda(-1): %s: %s\n", bcsc_error_name(code), bcsc_last_error());
}

int main(int argc, char** argv) {
  check(bcsc_require_version(BCSC_VERSION_NUMBER), "bcsc_require_version");
  printf("bcsc %s (%d)\n", bcsc_version(), bcsc_version_number());
  errors_are_codes();

  const int32_t nnz = make_matrix();
  bcsc_sparse matrix = matrix_of(nnz);
  through_a_file(matrix, argc > 1 ? argv[1] : "c_api_example.mtx");
  through_other_formats(matrix);

  bcsc_context contexts[3] = {NULL, NULL, NULL};
  check(bcsc_context_cpu(0, &contexts[0]), "bcsc_context_cpu");
  check(bcsc_context_cpu_own_threads(2, &contexts[1]), "bcsc_context_cpu_own_threads");
  check(bcsc_context_best(&contexts[2]), "bcsc_context_best");
  for (int k = 0; k < 3; ++k) {
    const char* description = NULL;
    check(bcsc_context_describe(contexts[k], &description), "bcsc_context_describe");
    printf("\n%s\n", description);
    make_matrix();
    products(contexts[k], matrix);
    make_matrix();
    solve(contexts[k]);
    bcsc_context_free(contexts[k]);
  }
  bcsc_sparse_free(matrix);
  return 0;
}
