#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/registry.hpp"

namespace bcsc::plan {
template <number T>
class body;
template <number T>
struct access;
}  // namespace bcsc::plan

#pragma GCC visibility push(default)
namespace bcsc {

/// How a plan cuts the rows into row blocks (bcsc/order.hpp says how each is found).
enum class row_blocks {
  uniform,     ///< every m_block rows
  balanced,    ///< heavy row blocks are cut smaller
  structural,  ///< cut where neighbouring rows share the fewest columns
};
std::string_view to_string(row_blocks kind);

/// How exact the products of A's and B's values have to be.
enum class compute_class {
  full,  ///< within the error bound of their type, by whatever method
  tf32,  ///< fp32 values may be rounded to the 11 bits of TF32 before they are multiplied; sums are fp32
};
std::string_view to_string(compute_class kind);

/// How a GPU reads a column-major B; the result is right either way.
enum class col_major_b {
  as_predicted,  ///< whichever is predicted to take less time, for each N
  packed,        ///< made row-major in the workspace first
  in_place,      ///< where it lies, by kernels that can, while its leading dimension is below 2^28
};
std::string_view to_string(col_major_b way);

/// What a plan chooses by itself, and experts may choose for it: to measure, or where they know better.
struct expert_plan_options {
  std::string kernel = {};   ///< force a kernel by name, or an algorithm ("tiled"); empty: the plan chooses
  std::int64_t m_block = 0;  ///< force the height of the row blocks; 0: the plan chooses
  row_blocks boundaries = row_blocks::uniform;
  /// Store the rows in the order that order_rows_by_similarity finds, unless that does not improve the reuse; C still
  /// comes out in A's order. Found on the host, and kept by update_values.
  bool reorder_rows = false;
  /// How a column-major B is read. in_place: only kernels that can are chosen, else error{no_such_kernel}: there are
  /// none on the CPU or for 64-bit indices; transposed() packs. The workspace still has room for a packed B, unless the
  /// kernel is "sliced", which never needs it.
  col_major_b reading = col_major_b::as_predicted;
};

/// What a plan is made for. All but `cols` can usually keep its default: first what the product is, then what it may
/// take, then what is better left to the plan.
struct plan_options {
  std::int64_t cols = 32;               ///< the N it mostly runs with; any N works
  op transpose = op::none;              ///< op(A); the plan stores what it needs of it
  layout b_layout = layout::row_major;  ///< B's layout in run(); C's may be either
  compute_class compute = compute_class::full;
  bool deterministic = false;  ///< only kernels that are bit-equal from run to run
  /// Only kernels that store A in a form from which spmm_plan::transposed() can multiply.
  bool transposable = false;
  std::int64_t batch = 1;  ///< members of a batch that the workspace has room for; any number works
  /// Bound on workspace_bytes(); one tile of columns of a column-major B always fits. Less means more, narrower passes
  /// over it, fewer members of a batch at once, and, on a GPU, that a column-major C is written directly where it would
  /// be turned once it is complete: most large ones are. 0: 256 MiB, or 1 GiB where C is turned.
  std::int64_t max_workspace_bytes = 0;
  trust check = trust::validate;  ///< of A's arrays
  expert_plan_options expert = {};
};

/// alpha or beta: a host value, or a pointer to one value where the context computes (device memory on CUDA), read when
/// the kernel runs, so that a solver need not wait.
template <value T>
class scalar {
 public:
  scalar(T on_host) : value_(on_host) {}
  static scalar at(const T* where) {
    scalar s(T{0});
    s.pointer_ = where;
    return s;
  }
  T value() const { return value_; }
  const T* pointer() const { return pointer_; }

 private:
  T value_;
  const T* pointer_ = nullptr;
};

/// Several products of one A: member k of a batch has its B at b.data + k * b_stride and its C at c.data + k *
/// c_stride, in elements, with the shape, leading dimension and layout of b and c. With b_stride = 0 all share one B.
/// No C may share an element with another C or with a B; members may be interleaved by rows or columns.
struct strided_batch {
  std::int64_t count = 1;  ///< 0: nothing is done or checked
  std::int64_t b_stride = 0, c_stride = 0;
};

struct run_options {
  cuda_stream stream = nullptr;
  /// At least plan.workspace_bytes(), where the context computes, aligned to 256 bytes. Empty: the plan's own, which
  /// serves one caller at a time and on a GPU one stream, the one it was last run on: a run on another is
  /// error{workspace_in_use}, but see move_workspace. A captured graph uses its workspace whenever it is replayed,
  /// which the plan cannot see: give it its own.
  std::span<std::byte> workspace = {};
  strided_batch batch = {};
  /// Lets the plan's own workspace move to `stream` once the stream it was last run on is idle; while that one is not,
  /// or is captured: error{workspace_in_use}. It must still exist: CUDA cannot be asked about a destroyed stream.
  bool move_workspace = false;
};

/// A config that was timed on A, so that a plan takes the fastest (bcsc/tune.hpp).
struct trial {
  std::string kernel;
  std::int64_t m_block = 0;
  bool reordered = false;         ///< with the rows ordered by similarity
  double predicted_seconds = 0;   ///< of one product; 0: the plan has no costs of this config
  double seconds = 0;             ///< of one product: the median of the samples; without any, a rough time
  std::int64_t num_samples = 0;   ///< of which each is the mean of products back to back
  std::int64_t num_products = 0;  ///< run to time it
};

/// What a plan is, for programs; explain() says it in words.
struct plan_facts {
  kernel_info kernel;
  std::string reason;  ///< why this kernel
  std::int64_t m_block = 0;
  std::int64_t rows = 0, cols = 0;  ///< of op(A)
  std::int64_t nnz = 0, nnzc = 0;
  std::int64_t format_bytes = 0;  ///< A as the plan holds it
  double convert_seconds = 0;     ///< analysis, conversion and upload
  bool reblocked = false;         ///< a given BCSC had another m_block
  bool reordered = false;         ///< rows are stored in another order than A's
  row_blocks boundaries = row_blocks::uniform;
  std::int64_t num_row_blocks = 0;
  double reuse = 0;        ///< nnz / nnzc as the plan holds A
  double reuse_given = 0;  ///< with A's rows in their order and uniform row blocks; set if another was asked for
  std::vector<trial> trials = {};  ///< fastest first; empty: the kernel was predicted, asked for, or remembered
  double trial_seconds = 0;        ///< what the trials took
  double trial_setup_seconds = 0;  ///< what A's other forms, operands and captured graphs took
};

/// A matrix made ready for products: its kernel chosen, A stored in the form that this kernel reads, uploaded.
///
/// C = alpha * op(A) * B + beta * C, B of op(A).cols x N, C of op(A).rows x N. Immutable except for update_values: may
/// be run from many threads and streams at once, each with its own workspace. fp16 and bf16 are multiplied exactly,
/// summed in fp32 and rounded to nearest once, when C is written; alpha and beta are then fp32.
///
/// A moved-from plan may be destroyed or assigned to; all else is error{invalid_argument}. Destroying a plan on a GPU
/// waits for the device; while a stream there is being captured it cannot, and the plan's memory is leaked.
template <number T>
class spmm_plan {
 public:
  /// From CSR or BCSC, on the host or (with a CUDA context) on its device. A's arrays may be freed afterwards. Work
  /// that writes device arrays has to be complete before, or to have been submitted to the (legacy) default stream or
  /// to one that synchronises with it.
  /// Throws error{invalid_argument | no_such_kernel | unsupported | invalid_format | wrong_memory_space | out_of_memory
  /// | ...}.
  spmm_plan(const context& ctx, const csr_view<T, std::int32_t>& a, const plan_options& options = {});
  spmm_plan(const context& ctx, const csr_view<T, std::int64_t>& a, const plan_options& options = {});
  spmm_plan(const context& ctx, const bcsc_view<T, std::int32_t>& a, const plan_options& options = {});
  spmm_plan(const context& ctx, const bcsc_view<T, std::int64_t>& a, const plan_options& options = {});
  template <index I>
  spmm_plan(const context& ctx, const csr_matrix<T, I>& a, const plan_options& options = {})
      : spmm_plan(ctx, a.view(), options) {}
  template <index I>
  spmm_plan(const context& ctx, const bcsc_matrix<T, I>& a, const plan_options& options = {})
      : spmm_plan(ctx, a.view(), options) {}

  ~spmm_plan();
  spmm_plan(spmm_plan&&) noexcept;
  spmm_plan& operator=(spmm_plan&&) noexcept;

  /// Asynchronous on CUDA; neither allocates nor synchronises, so it can be captured in a CUDA graph. beta = 0 never
  /// reads C, alpha = 0 reads neither A nor B (scalars on the device are known too late for a column-major operand that
  /// is made row-major first: it is read, without changing the result). N = 0 or M = 0 is a valid no-op. Only stored
  /// entries of A take part: a NaN or Inf of B reaches the rows with an entry in its column and no others, unless the
  /// plan was told to take a kernel that does not guarantee this (kernel_info::stored_entries_only). A batch is one
  /// launch where the kernel takes it (kernel_info::batches) and the workspace, if any is needed, holds what all
  /// members need (plan_options::batch); else as many launches as it takes. Throws error{size_mismatch |
  /// bad_leading_dimension | layout_mismatch | wrong_memory_space | overlapping_operands | workspace_too_small |
  /// workspace_in_use | context_poisoned | cuda_error; for a batch also invalid_argument | size_overflow}, before
  /// anything is launched.
  void run(scalar<scalar_of<T>> alpha, dense_view<const T> b, scalar<scalar_of<T>> beta, dense_view<T> c,
           const run_options& options = {}) const;

  /// Bytes run() needs besides its operands; 0 for most plans.
  std::size_t workspace_bytes() const;

  /// The same product by another kernel that reads A as this plan stores it: nothing is converted, and the plans share
  /// the stored matrix until one of them is given new values. `cols`: the N it mostly runs with; 0: this plan's. Empty
  /// if for that kernel and N A is stored in another form or order (of a grid's rows any will do to a row stream, while
  /// the bricks of "brickwise" follow N), or if it does not run here.
  std::optional<spmm_plan> sharing(const std::string& kernel, std::int64_t cols = 0) const;

  /// C = alpha * op(A)' * B + beta * C from the matrix as this plan stores it: nothing is converted or copied, so that
  /// training holds A once for both its products. B is op(A).rows x N, C op(A).cols x N; facts() are those of op(A)'.
  /// `cols`: as for sharing(). The plans share the stored matrix until one of them is given new values; the transpose
  /// of a transposed plan is the original product.
  ///
  /// On the CPU from every plan, deterministic, but from those that store rows side by side (algorithm "slices", which
  /// plans for cols = 1 take in fp32 and fp64). On a GPU from plans that store a stream of rows (algorithm "rowwise"),
  /// by atomic additions to C: the bits of a result differ from run to run, fp32 sums below the least normal number may
  /// become 0, and a column-major C is slow. None if the plan stores A in another form, such as those slices, bricks of
  /// a grid or MMA tiles for the tensor cores (plan_options::transposable rules them out). plan_options::transpose
  /// stores A' instead. Throws error{no_such_kernel} if the plan is to be deterministic and this kernel is not.
  std::optional<spmm_plan> transposed(std::int64_t cols = 0) const;

  /// New values on the same pattern, given in the form the plan was made from; kernel and choice stay. Needs room for a
  /// second A meanwhile. Device arrays: as for the constructor.
  ///
  /// May be called while runs are in flight on any stream, and from another thread than run's: calls of run() before
  /// this use the old values, calls after it has returned the new ones, and calls meanwhile either. It waits for calls
  /// of run() in progress (on the CPU: for their products), and calls that begin meanwhile wait for it. On a GPU it
  /// waits for all work submitted to the device before, since only then can the old values be freed; it must not be
  /// called while a stream of the device is being captured. A captured graph holds the arrays that were the plan's when
  /// it was captured: replayed after this it reads freed memory, so capture it again. Plans from sharing() and
  /// transposed() keep the old values until they are given new ones themselves. Throws error{pattern_mismatch}, which
  /// leaves the old values, and what the constructor throws.
  void update_values(const csr_view<T, std::int32_t>& a);
  void update_values(const csr_view<T, std::int64_t>& a);
  void update_values(const bcsc_view<T, std::int32_t>& a);
  void update_values(const bcsc_view<T, std::int64_t>& a);

  const plan_facts& facts() const;
  /// Kernel, m_block, why, bytes, roofline bound; several lines.
  std::string explain() const;
  const context& where() const;

 private:
  friend struct plan::access<T>;
  explicit spmm_plan(std::unique_ptr<plan::body<T>> made);
  plan::body<T>& made(const char* member) const;  // throws in a moved-from plan
  std::unique_ptr<plan::body<T>> body_;
};

template <number T, index I>
spmm_plan(const context&, const csr_view<T, I>&, const plan_options& = {}) -> spmm_plan<T>;
template <number T, index I>
spmm_plan(const context&, const bcsc_view<T, I>&, const plan_options& = {}) -> spmm_plan<T>;
template <number T, index I>
spmm_plan(const context&, const csr_matrix<T, I>&, const plan_options& = {}) -> spmm_plan<T>;
template <number T, index I>
spmm_plan(const context&, const bcsc_matrix<T, I>&, const plan_options& = {}) -> spmm_plan<T>;

}  // namespace bcsc
#pragma GCC visibility pop
