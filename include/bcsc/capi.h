#ifndef BCSC_CAPI_H
#define BCSC_CAPI_H

#include <stddef.h>
#include <stdint.h>

/* The C face of the library: contexts, plans, products. Every function returns 0 or a code of bcsc::errc, and never
   throws; bcsc_last_error() holds the message. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bcsc_context_s* bcsc_context;
typedef struct bcsc_plan_s* bcsc_plan;

enum bcsc_value_type { BCSC_FP32 = 0, BCSC_FP64 = 1 };
enum bcsc_layout { BCSC_ROW_MAJOR = 0, BCSC_COL_MAJOR = 1 };

/* The message of this thread's last error; "" if there was none. Valid until the thread's next call. */
const char* bcsc_last_error(void);
/* "0.1.0". */
const char* bcsc_version(void);

/* threads 0: as many as OpenMP takes. */
int bcsc_context_cpu(int threads, bcsc_context* context);
int bcsc_context_cuda(int device, bcsc_context* context);
int bcsc_context_best(bcsc_context* context);
void bcsc_context_free(bcsc_context context);

/* A plan from CSR on the host: row_ptr[rows + 1], col_ind[nnz], values[nnz] of `type`; the arrays may be freed
   afterwards. `cols` is the number of columns of B it will mostly run with. */
int bcsc_plan_csr(bcsc_context context, int type, int64_t rows, int64_t inner, const int32_t* row_ptr,
                  const int32_t* col_ind, const void* values, int64_t cols, int b_layout, bcsc_plan* plan);
void bcsc_plan_free(bcsc_plan plan);

/* C = alpha * A * B + beta * C. alpha and beta point to one host value of the plan's type; B is inner x n, C rows x n,
   where the context computes; stream is a cudaStream_t, or null. Asynchronous on CUDA. */
int bcsc_plan_run(bcsc_plan plan, const void* alpha, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc,
                  int c_layout, int64_t n, void* stream);

/* The same for `count` B's and C's of one shape: number k's B begins b_stride elements behind number k - 1's, and C
   c_stride. b_stride 0: all have the same B. No C shares an element with another or with a B. count 0: nothing is
   done. */
int bcsc_plan_run_batch(bcsc_plan plan, const void* alpha, const void* b, int64_t ldb, int64_t b_stride,
                        const void* beta, void* c, int64_t ldc, int64_t c_stride, int c_layout, int64_t n,
                        int64_t count, void* stream);

/* plan.explain(); valid as long as the plan. */
int bcsc_plan_explain(bcsc_plan plan, const char** text);

#ifdef __cplusplus
}
#endif

#endif
