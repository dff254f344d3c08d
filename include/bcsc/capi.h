#ifndef BCSC_CAPI_H
#define BCSC_CAPI_H

#include <stddef.h>
#include <stdint.h>

#include "bcsc/version.h"

/* The C interface of the library; examples/c_api.c uses all of it.

   Functions that return int return 0 (BCSC_OK) or a code of enum bcsc_error, and never throw. A function that fails
   leaves its outputs as they were. Null for a handle, an array or an output that is needed is an error.

   Parameters: the context or the handle first, then inputs, outputs, options. An options pointer may be null; else the
   struct's `size` is its sizeof, and every field left 0 has its default:

       bcsc_plan_options options = {.size = sizeof options, .cols = 128};

   Structs grow only at the end. One from an older header (smaller) is taken as if the rest were 0; one from a newer
   header (larger) is an error if it asks for anything that this library does not know. */

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

typedef struct bcsc_context_s* bcsc_context;
typedef struct bcsc_sparse_s* bcsc_sparse;
typedef struct bcsc_plan_s* bcsc_plan;
typedef struct bcsc_operator_s* bcsc_operator;

/* --- Enumerations: each is the C++ enumeration of that name ------------------------------------------------------ */

enum bcsc_error {
  BCSC_OK = 0,

  BCSC_ERROR_INVALID_ARGUMENT = 1,
  BCSC_ERROR_SIZE_MISMATCH = 2,
  BCSC_ERROR_BAD_LEADING_DIMENSION = 3,
  BCSC_ERROR_WRONG_MEMORY_SPACE = 4,
  BCSC_ERROR_OVERLAPPING_OPERANDS = 5,
  BCSC_ERROR_LAYOUT_MISMATCH = 6,
  BCSC_ERROR_WORKSPACE_TOO_SMALL = 7,
  BCSC_ERROR_WORKSPACE_IN_USE = 8,
  BCSC_ERROR_PATTERN_MISMATCH = 9,
  BCSC_ERROR_NO_SUCH_KERNEL = 10,
  BCSC_ERROR_SIZE_OVERFLOW = 11,
  BCSC_ERROR_INVALID_FORMAT = 12,

  BCSC_ERROR_IO_ERROR = 20,
  BCSC_ERROR_BAD_BANNER = 21,
  BCSC_ERROR_UNSUPPORTED = 22,
  BCSC_ERROR_PARSE_ERROR = 23,
  BCSC_ERROR_TRUNCATED = 24,
  BCSC_ERROR_TRAILING_DATA = 25,
  BCSC_ERROR_INDEX_OUT_OF_RANGE = 26,
  BCSC_ERROR_VALUE_OUT_OF_RANGE = 27,
  BCSC_ERROR_CORRUPT_COMPRESSION = 28,
  BCSC_ERROR_DECOMPRESSION_LIMIT = 29,
  BCSC_ERROR_STRUCTURE_VIOLATION = 30,
  BCSC_ERROR_CHECKSUM_MISMATCH = 31,
  BCSC_ERROR_NETWORK_ERROR = 32,

  BCSC_ERROR_OUT_OF_MEMORY = 40,
  BCSC_ERROR_NO_DEVICE = 41,
  BCSC_ERROR_DRIVER_TOO_OLD = 42,
  BCSC_ERROR_DEVICE_TOO_OLD = 43,
  BCSC_ERROR_CUDA_ERROR = 44,
  BCSC_ERROR_CONTEXT_POISONED = 45,

  BCSC_ERROR_CANCELLED = 60,
  BCSC_ERROR_INTERNAL = 99
};

enum bcsc_value_type { BCSC_FP32 = 0, BCSC_FP64 = 1, BCSC_FP16 = 2, BCSC_BF16 = 3, BCSC_PATTERN = 4 };
enum bcsc_index_type { BCSC_INT32 = 0, BCSC_INT64 = 1 };
enum bcsc_layout { BCSC_ROW_MAJOR = 0, BCSC_COL_MAJOR = 1 };
enum bcsc_op { BCSC_OP_NONE = 0, BCSC_OP_TRANSPOSE = 1 };
enum bcsc_memory_space { BCSC_HOST = 0, BCSC_DEVICE = 1 };
enum bcsc_backend { BCSC_CPU = 0, BCSC_CUDA = 1 };
enum bcsc_trust { BCSC_VALIDATE = 0, BCSC_TRUSTED = 1 };
enum bcsc_matrix_format {
  BCSC_FORMAT_COO = 0,
  BCSC_FORMAT_CSR = 1,
  BCSC_FORMAT_CSC = 2,
  BCSC_FORMAT_BSR = 3,
  BCSC_FORMAT_ELL = 4,
  BCSC_FORMAT_DENSE = 5,
  BCSC_FORMAT_BCSC = 6,
  BCSC_FORMAT_COMPACT_BCSC = 7
};
enum bcsc_compute_class { BCSC_COMPUTE_FULL = 0, BCSC_COMPUTE_TF32 = 1 };
enum bcsc_row_blocks { BCSC_ROW_BLOCKS_UNIFORM = 0, BCSC_ROW_BLOCKS_BALANCED = 1, BCSC_ROW_BLOCKS_STRUCTURAL = 2 };
enum bcsc_col_major_b { BCSC_COL_MAJOR_B_AS_PREDICTED = 0, BCSC_COL_MAJOR_B_PACKED = 1, BCSC_COL_MAJOR_B_IN_PLACE = 2 };
enum bcsc_cg_method { BCSC_CG_METHOD_SIMULTANEOUS = 0, BCSC_CG_METHOD_BLOCK = 1 };
enum bcsc_cg_inner {
  BCSC_CG_INNER_AS_GIVEN = 0,
  BCSC_CG_INNER_FP32 = 1,
  BCSC_CG_INNER_TF32 = 2,
  BCSC_CG_INNER_TF32X3 = 3,
  BCSC_CG_INNER_BF16 = 4
};
enum bcsc_cg_beta { BCSC_CG_BETA_FLETCHER_REEVES = 0, BCSC_CG_BETA_POLAK_RIBIERE = 1 };
enum bcsc_cg_correction {
  BCSC_CG_CORRECTION_NONE = 0,
  BCSC_CG_CORRECTION_RECOMPUTE = 1,
  BCSC_CG_CORRECTION_RELIABLE = 2,
  BCSC_CG_CORRECTION_REFINE = 3
};
enum bcsc_cg_stop {
  BCSC_CG_CONVERGED = 0,
  BCSC_CG_MAX_ITERATIONS = 1,
  BCSC_CG_NOT_POSITIVE_DEFINITE = 2,
  BCSC_CG_STAGNATED = 3,
  BCSC_CG_NOT_FINITE = 4,
  BCSC_CG_CANCELLED = 5,
  BCSC_CG_INCONSISTENT = 6,
  BCSC_CG_NOT_SYMMETRIC = 7
};
enum bcsc_spectrum_end { BCSC_SPECTRUM_SMALLEST = 0, BCSC_SPECTRUM_LARGEST = 1 };
enum bcsc_residual_scale { BCSC_RESIDUAL_MATRIX = 0, BCSC_RESIDUAL_EIGENVALUE = 1 };
enum bcsc_lobpcg_stop {
  BCSC_LOBPCG_CONVERGED = 0,
  BCSC_LOBPCG_MAX_ITERATIONS = 1,
  BCSC_LOBPCG_STAGNATED = 2,
  BCSC_LOBPCG_NOT_FINITE = 3,
  BCSC_LOBPCG_CANCELLED = 4,
  BCSC_LOBPCG_NOT_SYMMETRIC = 5,
  BCSC_LOBPCG_B_NOT_POSITIVE_DEFINITE = 6,
  BCSC_LOBPCG_BREAKDOWN = 7
};

/* --- Errors and the version -------------------------------------------------------------------------------------- */

/* "size_mismatch" for BCSC_ERROR_SIZE_MISMATCH; "unknown" for a number that is not a code. */
const char* bcsc_error_name(int code);
/* What a code means, in a few words. */
const char* bcsc_error_text(int code);
/* The message of this thread's last call, naming the parameter and its value; "" if it succeeded. Valid until the
   thread's next call. */
const char* bcsc_last_error(void);

/* "0.1.0". */
const char* bcsc_version(void);
/* BCSC_VERSION_NUMBER of the library; the header's may differ. */
int bcsc_version_number(void);
/* BCSC_ERROR_UNSUPPORTED unless a program compiled with the header of this number may use this library: the same major
   version (before 1.0 also the same minor one), and not older. Call bcsc_require_version(BCSC_VERSION_NUMBER) once. */
int bcsc_require_version(int number);

/* --- Contexts: where work is done -------------------------------------------------------------------------------- */

/* threads 0: as many as OpenMP takes. */
int bcsc_context_cpu(int threads, bcsc_context* context);
/* The same by threads of the context's own, for programs that do nothing by OpenMP between products; 0: as many as the
   process has CPUs. */
int bcsc_context_cpu_own_threads(int threads, bcsc_context* context);
int bcsc_context_cuda(int device, bcsc_context* context);
/* The first usable GPU, else the CPU. */
int bcsc_context_best(bcsc_context* context);
/* enum bcsc_backend. */
int bcsc_context_backend(bcsc_context context, int* backend);
/* One line; valid as long as the context. */
int bcsc_context_describe(bcsc_context context, const char** text);
/* Plans keep what they need of it. Null is allowed, as for every function that frees. */
void bcsc_context_free(bcsc_context context);

/* Memory where a context computes, on the GPU or on the host, aligned to 256 bytes; for programs that have no allocator
   of their own there. */
int bcsc_memory_allocate(bcsc_context context, size_t bytes, void** memory);
/* Between such memory and the host, or within either. Done on return, after all work on the default stream. */
int bcsc_memory_copy(bcsc_context context, const void* from, void* to, size_t bytes);
int bcsc_memory_free(bcsc_context context, void* memory);

/* --- Matrices ---------------------------------------------------------------------------------------------------- */

/* Compressed sparse rows. Indices are from 0; fp16 and bf16 values are 16-bit words, a pattern's values null. */
typedef struct bcsc_csr_arrays {
  size_t size;
  int value_type;   /* enum bcsc_value_type */
  int index_type;   /* enum bcsc_index_type */
  int memory_space; /* enum bcsc_memory_space */
  int reserved;     /* 0 */
  int64_t rows, cols, nnz;
  const void* row_ptr; /* [rows + 1] */
  const void* col_ind; /* [nnz] */
  const void* values;  /* [nnz] */
} bcsc_csr_arrays;

/* Block compressed sparse columns (docs/formats.md). */
typedef struct bcsc_bcsc_arrays {
  size_t size;
  int value_type;
  int index_type;
  int memory_space;
  int reserved; /* 0 */
  int64_t rows, cols, nnz, nnzc, m_block;
  const void* brow_ptr; /* [ceil(rows / m_block) + 1] */
  const void* col_ind;  /* [nnzc] */
  const void* col_ptr;  /* [nnzc + 1] */
  const void* row_ind;  /* [nnz] */
  const void* values;   /* [nnz] */
} bcsc_bcsc_arrays;

typedef struct bcsc_sparse_facts {
  size_t size;
  int format; /* enum bcsc_matrix_format */
  int value_type;
  int index_type;
  int memory_space;
  int64_t rows, cols;
  int64_t num_values; /* stored; in CSR and BCSC the non-zeros */
} bcsc_sparse_facts;

typedef struct bcsc_read_options {
  size_t size;
  const char* format;       /* what the file is, e.g. "edge-list"; null: recognised by its content, then its name */
  const char* member;       /* which matrix, of a file that holds several; null: the only one */
  int64_t pattern_seed;     /* of a file without values: 0: all are 1; else drawn from +-[0.5, 1.5) with this seed */
  int64_t max_memory_bytes; /* 0: all that is available */
  int real_part;            /* 1: complex values lose their imaginary parts; 0: they are an error */
  int reserved;             /* 0 */
} bcsc_read_options;

typedef struct bcsc_write_options {
  size_t size;
  const char* format;  /* the format to write; null: told by the file's name */
  const char* comment; /* for formats that have comments; null: none */
} bcsc_write_options;

/* A matrix that refers to the caller's arrays, on the host or on a GPU. Nothing is copied, so the arrays live as long
   as the handle; their content is checked by whoever uses it. */
int bcsc_sparse_csr(const bcsc_csr_arrays* arrays, bcsc_sparse* matrix);
int bcsc_sparse_bcsc(const bcsc_bcsc_arrays* arrays, bcsc_sparse* matrix);
/* A file of any format as CSR that the handle owns, its values as `value_type`, its indices as wide as they need be. */
int bcsc_sparse_read(const char* path, int value_type, bcsc_sparse* matrix, const bcsc_read_options* options);
/* A host matrix as a file of any format. A failure leaves nothing behind. */
int bcsc_sparse_write(bcsc_sparse matrix, const char* path, const bcsc_write_options* options);

/* Conversions of a host matrix; the new handle owns the result. */
int bcsc_sparse_to_csr(bcsc_sparse matrix, bcsc_sparse* csr);
int bcsc_sparse_to_bcsc(bcsc_sparse matrix, int64_t m_block, bcsc_sparse* bcsc);
/* CSR of CSR, BCSC of BCSC. */
int bcsc_sparse_transpose(bcsc_sparse matrix, bcsc_sparse* transposed);

/* What a matrix is. The outputs' `size` is set by the caller; pointers are valid as long as the handle. */
int bcsc_sparse_get_facts(bcsc_sparse matrix, bcsc_sparse_facts* facts);
int bcsc_sparse_get_csr(bcsc_sparse matrix, bcsc_csr_arrays* arrays);
int bcsc_sparse_get_bcsc(bcsc_sparse matrix, bcsc_bcsc_arrays* arrays);
void bcsc_sparse_free(bcsc_sparse matrix);

/* --- Products: C = alpha * op(A) * B + beta * C ------------------------------------------------------------------ */

/* As plan_options in bcsc/plan.hpp. */
typedef struct bcsc_plan_options {
  size_t size;
  int64_t cols;      /* the N it will mostly run with; 0: 32 */
  int transpose;     /* enum bcsc_op */
  int b_layout;      /* enum bcsc_layout */
  int compute;       /* enum bcsc_compute_class */
  int deterministic; /* 1: only kernels that are bit-equal from run to run */
  int transposable;  /* 1: bcsc_plan_transposed() must be possible */
  int check;         /* enum bcsc_trust, of A's arrays */
  int64_t batch;     /* members of a batch that the workspace has room for; 0: 1 */
  int64_t max_workspace_bytes;
  /* For experts. */
  const char* kernel; /* by name; null: the plan chooses */
  int64_t m_block;    /* 0: the plan chooses */
  int boundaries;     /* enum bcsc_row_blocks */
  int reading;        /* enum bcsc_col_major_b */
  int reorder_rows;   /* 1: rows in an order that reuses more of B */
  int reserved;       /* 0 */
} bcsc_plan_options;

/* As run_options in bcsc/plan.hpp. */
typedef struct bcsc_run_options {
  size_t size;
  void* stream;    /* a cudaStream_t; null: the default stream */
  void* workspace; /* null: the plan's own */
  size_t workspace_bytes;
  int move_workspace;   /* 1: the plan's own workspace may move to `stream` */
  int scalars_in_place; /* 1: alpha and beta lie where the context computes, and are read when the kernel runs */
} bcsc_run_options;

typedef struct bcsc_plan_facts {
  size_t size;
  int64_t rows, cols; /* of op(A) */
  int64_t nnz, nnzc, m_block;
  int64_t format_bytes; /* A as the plan holds it */
  const char* kernel;   /* its name; valid as long as the plan */
  int value_type;
  int deterministic;
} bcsc_plan_facts;

/* From CSR or BCSC on the host or (with a GPU's context) on its device, which may be freed afterwards. */
int bcsc_plan_create(bcsc_context context, bcsc_sparse matrix, bcsc_plan* plan, const bcsc_plan_options* options);
/* C = alpha * op(A)' * B + beta * C from the same stored matrix, made for `cols` columns of B (0: for as many as the
   plan). BCSC_ERROR_NO_SUCH_KERNEL where no kernel can; `transposable` ensures that one can. */
int bcsc_plan_transposed(bcsc_plan plan, int64_t cols, bcsc_plan* transposed);
/* New values on the same pattern, given in the form that the plan was made from. */
int bcsc_plan_update_values(bcsc_plan plan, bcsc_sparse matrix);
/* The minimum number of bytes for bcsc_run_options.workspace. */
int bcsc_plan_workspace_bytes(bcsc_plan plan, size_t* bytes);
int bcsc_plan_get_facts(bcsc_plan plan, bcsc_plan_facts* facts);
/* Kernel, m_block, why, bytes, in several lines; valid as long as the plan. */
int bcsc_plan_explain(bcsc_plan plan, const char** text);
void bcsc_plan_free(bcsc_plan plan);

/* B is op(A).cols x n in the plan's b_layout, C op(A).rows x n, both where the context computes. alpha and beta point
   to one value of the plan's type each, to a float for fp16 and bf16. Asynchronous on CUDA; never allocates. */
int bcsc_plan_run(bcsc_plan plan, int64_t n, const void* alpha, const void* b, int64_t ldb, const void* beta, void* c,
                  int64_t ldc, int c_layout, const bcsc_run_options* options);
/* The same for `count` B's and C's of one shape: each B begins b_stride elements after the one before, each C c_stride.
   b_stride 0: all share one B. No C may share an element with another C or with a B. count 0: nothing is done. */
int bcsc_plan_run_batch(bcsc_plan plan, int64_t n, int64_t count, const void* alpha, const void* b, int64_t ldb,
                        int64_t b_stride, const void* beta, void* c, int64_t ldc, int64_t c_stride, int c_layout,
                        const bcsc_run_options* options);

/* One product with a CSR matrix of 32-bit indices and operands on the host: plans, stages, runs, waits. */
int bcsc_spmm(bcsc_context context, bcsc_sparse matrix, int64_t n, const void* alpha, const void* b, int64_t ldb,
              int b_layout, const void* beta, void* c, int64_t ldc, int c_layout);

/* --- Linear operators, and preconditioners among them ------------------------------------------------------------ */

/* Y = alpha A X + beta Y for k columns: X and Y are row-major and lie where the context computes. alpha and beta point
   to a value of the operator's type each, on the host, or where the context computes if scalars_in_place is 1; with
   *beta = 0 Y is not read. On a GPU the work is for `stream`, a cudaStream_t. Returns 0, or a code of enum bcsc_error,
   with which the call that needed the product then fails. */
typedef int (*bcsc_apply)(void* data, int64_t k, const void* alpha, const void* x, int64_t ldx, const void* beta,
                          void* y, int64_t ldy, int scalars_in_place, void* stream);

/* As block_jacobi_options, chebyshev_options, ic0_options (bcsc/preconditioners.hpp) and amg_options (bcsc/amg.hpp).
   `cols`: the number of vectors that the operator will mostly be applied to; 0: 1. */
typedef struct bcsc_block_jacobi_options {
  size_t size;
  int64_t block; /* height of the blocks on the diagonal, 1 .. 64; 0: found where rows share their columns */
  int64_t cols;
} bcsc_block_jacobi_options;

typedef struct bcsc_chebyshev_options {
  size_t size;
  int degree;        /* 1 .. 16; 0: 8 */
  int lanczos_steps; /* 2 .. 1000; 0: 20 */
  double ratio;      /* of the ends of the interval that the polynomial is made for, above 1; 0: degree^2, at least 4 */
  int64_t cols;
} bcsc_chebyshev_options;

typedef struct bcsc_ic0_options {
  size_t size;
  double shift; /* tried first, 0 .. 1; where a pivot is not positive a larger one is taken, up to 1 */
} bcsc_ic0_options;

typedef struct bcsc_amg_options {
  size_t size;
  int64_t block; /* unknowns per node; 0: 1, with coordinates `dimensions` */
  /* What A maps to nearly 0, on the host: either the rigid-body modes of nodes in these places, row-major, rows /
     dimensions x dimensions, or the columns of near_nullspace, row-major, rows x num_near_nullspace. Null both: a
     constant for each unknown of a node. */
  const double* coordinates;
  int64_t dimensions; /* 2 or 3; without coordinates 0 */
  const double* near_nullspace;
  int64_t num_near_nullspace, ld_near_nullspace;
  double strength;       /* in [0, 1); 0: all that are coupled are aggregated */
  double smoother_ratio; /* above 1; 0: 8 */
  int smoother_degree;   /* 1 .. 8; 0: 3 */
  int single_precision;  /* 1: stored and cycled in fp32, whatever A's type */
  int64_t max_levels;    /* 0: 20 */
  int64_t max_coarse;    /* rows of a level that is solved with its inverse, up to 4096; 0: 500 */
  int64_t cols;
} bcsc_amg_options;

/* The operator of a plan, fp32 or fp64, for a row-major B; the plan is freed after it. */
int bcsc_operator_plan(bcsc_plan plan, bcsc_operator* map);
/* An operator of rows x cols given by a function alone. value_type: BCSC_FP32 or BCSC_FP64. */
int bcsc_operator_callback(bcsc_context context, int64_t rows, int64_t cols, int value_type, bcsc_apply apply,
                           void* data, bcsc_operator* map);
/* Z = M^-1 R for a symmetric positive definite A, CSR of fp32 or fp64 on the host or (with a GPU's context) on its
   device, which may be freed afterwards: M the diagonal of A, or its blocks; a polynomial in A; an incomplete Cholesky
   factorisation without fill; a cycle of smoothed aggregation multigrid. BCSC_ERROR_INVALID_ARGUMENT also where A is
   seen not to be positive definite, BCSC_ERROR_UNSUPPORTED for ic0 on a GPU without cuSPARSE. */
int bcsc_operator_jacobi(bcsc_context context, bcsc_sparse matrix, bcsc_operator* map);
int bcsc_operator_block_jacobi(bcsc_context context, bcsc_sparse matrix, bcsc_operator* map,
                               const bcsc_block_jacobi_options* options);
int bcsc_operator_chebyshev(bcsc_context context, bcsc_sparse matrix, bcsc_operator* map,
                            const bcsc_chebyshev_options* options);
int bcsc_operator_ic0(bcsc_context context, bcsc_sparse matrix, bcsc_operator* map, const bcsc_ic0_options* options);
int bcsc_operator_amg(bcsc_context context, bcsc_sparse matrix, bcsc_operator* map, const bcsc_amg_options* options);
/* One line, of multigrid one for each level besides; valid as long as the operator. */
int bcsc_operator_describe(bcsc_operator map, const char** text);
void bcsc_operator_free(bcsc_operator map);

/* --- Conjugate gradients ----------------------------------------------------------------------------------------- */

/* As cg_options and cg_operators in bcsc/cg.hpp. */
typedef struct bcsc_cg_options {
  size_t size;
  double tolerance;       /* on the true relative residual of each right-hand side; 0: 1e-8 */
  int64_t max_iterations; /* 0: 10000 */
  /* Called after each iteration with the largest relative residual; returning 0 stops the solve. Null: never called. */
  int (*progress)(void* progress_data, int64_t iteration, double residual);
  void* progress_data;
  int use_initial_guess;      /* 1: X is the start vector; 0: it is overwritten, starting from 0 */
  int reserved;               /* 0 */
  int method;                 /* enum bcsc_cg_method */
  int beta;                   /* enum bcsc_cg_beta, of simultaneous iterations */
  int correction;             /* enum bcsc_cg_correction: when a true residual takes the recurrence's place */
  int inner;                  /* enum bcsc_cg_inner, of bcsc_solve_cg_matrix: what its products are rounded to */
  double correction_when;     /* RECOMPUTE: every so many iterations; RELIABLE, REFINE: at this share of the last one */
  int64_t check_every;        /* iterations that `progress` hears of together, as the host looks once; 0: as it pays */
  void* stream;               /* a cudaStream_t; null: one that follows the default stream */
  bcsc_operator precondition; /* Z = M^-1 R, of A's type; null: see the functions */
  /* A and M in less precision, of fp32: for the products within the iteration; REFINE takes inner_precondition and not
     `precondition`. Null: none. */
  bcsc_operator inner_operator, inner_precondition;
  /* Outputs for each right-hand side, [k] on the host; null: not wanted. */
  double* true_residuals;
  double* recurrence_residuals;
  int64_t* column_iterations; /* in which it took part */
  int* column_reasons;        /* enum bcsc_cg_stop */
  /* The largest recurrence residual before the first and after each iteration, as many as there is room for. */
  double* history;
  int64_t max_history;
  /* The precision that products within the iteration used; truncated where it does not fit. */
  char* inner_text;
  size_t inner_text_bytes;
} bcsc_cg_options;

typedef struct bcsc_cg_result {
  size_t size;
  int64_t iterations;
  int64_t num_products;
  double true_residual; /* ||b - A x|| / ||b||, the largest over the right-hand sides */
  double seconds;
  int reason; /* enum bcsc_cg_stop, the worst of the columns' */
  int reserved;
  int64_t num_replacements;   /* true residuals from which the iteration went on */
  double recurrence_residual; /* what the recurrence said before the last true one, the largest */
} bcsc_cg_result;

/* A X = B for a symmetric positive definite A and k right-hand sides at once. B and X, rows x k, both in `layout`, lie
   on the host or where A computes. Not converging is not an error: see result->reason.
   The plan, fp32 or fp64, is for a row-major B. diagonal: A's, on the host, for the Jacobi preconditioner; null: none,
   or options->precondition. */
int bcsc_solve_cg(bcsc_plan plan, int64_t k, const void* diagonal, const void* b, int64_t ldb, void* x, int64_t ldx,
                  int layout, bcsc_cg_result* result, const bcsc_cg_options* options);
/* The same for operators, which are of one context; no preconditioner unless one is given. */
int bcsc_solve_cg_operator(bcsc_operator a, int64_t k, const void* b, int64_t ldb, void* x, int64_t ldx, int layout,
                           bcsc_cg_result* result, const bcsc_cg_options* options);
/* The same for CSR as for the preconditioners above, which is planned, and rounded as options->inner (for REFINE at
   least to fp32) says. Preconditioned by Jacobi unless one is given. */
int bcsc_solve_cg_matrix(bcsc_context context, bcsc_sparse matrix, int64_t k, const void* b, int64_t ldb, void* x,
                         int64_t ldx, int layout, bcsc_cg_result* result, const bcsc_cg_options* options);

/* --- Eigenvalues ------------------------------------------------------------------------------------------------- */

/* As lobpcg_options in bcsc/lobpcg.hpp. */
typedef struct bcsc_lobpcg_options {
  size_t size;
  int which;                  /* enum bcsc_spectrum_end */
  int scale;                  /* enum bcsc_residual_scale */
  double tolerance;           /* 0: 1e-10 in fp64, 1e-5 in fp32 */
  int64_t max_iterations;     /* 0: 1000 */
  int64_t num_guards;         /* 0: chosen; -1: none */
  int64_t seed;               /* 0: 1 */
  bcsc_operator b;            /* symmetric positive definite; null: the identity */
  bcsc_operator precondition; /* Z = M^-1 R; null: none */
  const void* constraints;    /* eigenvectors are sought in the complement of these columns, in X's layout */
  int64_t num_constraints, ld_constraints;
  /* Called before each iteration and at the end; returning 0 stops the solve. Null: never called. */
  int (*progress)(void* progress_data, int64_t iteration, double residual, int64_t num_converged);
  void* progress_data;
  int use_initial_guess; /* 1: X is the start block */
  int reserved;          /* 0 */
} bcsc_lobpcg_options;

typedef struct bcsc_lobpcg_result {
  size_t size;
  int64_t num_converged, iterations, num_products, block_size;
  double norm_a, norm_b;
  double tolerance;
  double seconds;
  int reason; /* enum bcsc_lobpcg_stop */
  int reserved;
} bcsc_lobpcg_result;

/* The k smallest or largest eigenpairs A x = lambda B x of a symmetric A. values [k] and, unless it is null,
   residuals [k] lie on the host; X, rows x k in `layout`, on the host or where the operator computes. Not converging is
   not an error: see result->reason. Needs LAPACK at run time (BCSC_ERROR_UNSUPPORTED). */
int bcsc_solve_lobpcg(bcsc_operator a, int64_t k, double* values, double* residuals, void* x, int64_t ldx, int layout,
                      bcsc_lobpcg_result* result, const bcsc_lobpcg_options* options);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
