#include "bcsc/plan.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "bcsc/analysis.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/device.hpp"
#include "bcsc/order.hpp"
#include "bcsc_config.h"
#include "converters/formats/device_compact.hpp"
#include "converters/formats/device_convert.hpp"
#include "kernels/cpu/pack.hpp"
#include "kernels/cuda/pack.hpp"
#include "lib/core/buffer.hpp"
#include "lib/core/checked.hpp"
#include "lib/core/context_state.hpp"
#include "lib/core/fail.hpp"
#include "lib/core/update_lock.hpp"
#include "lib/plan/choice.hpp"
#include "lib/plan/locality.hpp"
#include "lib/plan/run_checks.hpp"
#include "lib/plan/stored.hpp"

#if BCSC_WITH_OPENMP
#include <omp.h>
#endif

// The way of the data: view -> canonical CSR (or BCSC) -> statistics -> choice -> BCSC at the chosen height -> upload.
namespace bcsc {

namespace {

constexpr std::size_t workspace_alignment = 256;
constexpr std::int64_t most_strided_ld = (std::int64_t{1} << 31) / 8 - 1;  // that every kernel multiplies in 32 bits
constexpr std::int64_t most_to_pack = std::int64_t{256} << 20, most_to_turn = std::int64_t{1} << 30;  // workspaces

template <class T, class I>
csr_matrix<T, I> download(const csr_view<T, I>& a) {
  const auto here = [&]<class X>(std::span<const X> array) { return core::copy_to_host(array, a.space); };
  return {a.rows, a.cols, here(a.row_ptr), here(a.col_ind), here(a.values), trust::trusted};
}

template <class T, class I>
bcsc_matrix<T, I> download(const bcsc_view<T, I>& a) {
  const auto here = [&]<class X>(std::span<const X> array) { return core::copy_to_host(array, a.space); };
  return {a.rows,          a.cols,          a.m_block,      here(a.brow_ptr), here(a.col_ind),
          here(a.col_ptr), here(a.row_ind), here(a.values), trust::trusted};
}

/// The CSR itself if its rows are in order, else a sorted and summed copy kept in `owner`.
template <class T, class I>
csr_view<T, I> canonical(const csr_view<T, I>& a, trust check, std::optional<csr_matrix<T, I>>& owner) {
  if (check == trust::trusted) return a;
  try {
    validate(a);
    return a;
  } catch (const error& e) {
    if (e.code() != errc::invalid_format) throw;
  }
  const auto copy = [](auto span) { return std::vector(span.begin(), span.end()); };
  owner.emplace(a.rows, a.cols, copy(a.row_ptr), copy(a.col_ind), copy(a.values));
  return owner->view();
}

/// The converters take as many threads as OpenMP gives: inside a plan's making that is the context's number.
class threads_guard {
 public:
#if BCSC_WITH_OPENMP
  explicit threads_guard(int threads) : former_(omp_get_max_threads()) {
    if (threads > 0) omp_set_num_threads(threads);
  }
  ~threads_guard() { omp_set_num_threads(former_); }
#else
  explicit threads_guard(int) {}
#endif
  threads_guard(const threads_guard&) = delete;
  threads_guard& operator=(const threads_guard&) = delete;

 private:
  [[maybe_unused]] int former_ = 0;
};

}  // namespace

template <number T>
struct spmm_plan<T>::impl {
  using sum_type = scalar_of<T>;
  using factor = scalar<sum_type>;
  using stored_matrix = plan::stored_matrix<T>;

  context ctx;
  plan_options options;
  plan_facts facts;
  const plan::registered_kernel* kernel = nullptr;  // of a table, which outlives all plans; set once it is chosen
  std::shared_ptr<const stored_matrix> a;
  mutable core::update_lock updating;        // of `a`: runs hold it shared, update() alone
  std::vector<std::int64_t> order;           // order[stored row] = row of op(A); empty: the same
  std::vector<std::int64_t> boundaries;      // of the row blocks; empty: uniform
  double refused_reuse = 0;                  // of an order that was found and left
  std::vector<block_statistics> statistics;  // that the kernel was chosen by
  plan::columns_in_place in_place;           // of a column-major B
  bool by_length = false;                    // the order is that of order_rows_by_length()
  std::unique_ptr<impl> forward;  // of a transposed() plan: the plan whose matrix it reads, without a workspace

  // Only for a column-major B, which is made row-major, for a large column-major C, which is turned when it is whole,
  // and for kernels that leave partial sums: products are made in slabs of at most slab_cols columns, of as many
  // members of a batch as the workspace holds.
  std::int64_t slab_cols = 0;
  bool room_to_turn = false;  // for C
  std::size_t workspace_bytes = 0;
  std::vector<std::byte> host_workspace;
  core::device_buffer<std::byte> device_workspace;
  mutable std::atomic<bool> workspace_taken{false};
  mutable bool workspace_used = false;  // under workspace_taken, as is the stream
  mutable cuda_stream workspace_stream = nullptr;

  impl(const context& where, const plan_options& wanted) : ctx(where), options(wanted) {
    if (options.cols < 1)
      core::fail(errc::invalid_argument, "plan_options::cols = {}: must be at least 1", options.cols);
    if (options.m_block < 0 || options.m_block > greatest_m_block) {
      core::fail(errc::invalid_argument, "plan_options::m_block = {}: must be 0 (the plan chooses) or 1 .. {}",
                 options.m_block, greatest_m_block);
    }
    if (options.batch < 1) {
      core::fail(errc::invalid_argument, "plan_options::batch = {}: must be at least 1", options.batch);
    }
    core::require_healthy(ctx.state());
  }

  /// The same plan, without a workspace.
  impl(const impl& other)
      : ctx(other.ctx),
        options(other.options),
        facts(other.facts),
        kernel(other.kernel),
        a(other.current()),
        order(other.order),
        boundaries(other.boundaries),
        refused_reuse(other.refused_reuse),
        statistics(other.statistics),
        by_length(other.by_length) {}

  /// The same matrix, by another kernel.
  impl(const impl& other, const plan::registered_kernel& by, std::int64_t cols) : impl(other) {
    kernel = &by;
    options.kernel = by.info.name;
    options.cols = cols;
    facts.kernel = by.info;
    facts.reason = "asked for by name, with the matrix of another plan";
    facts.convert_seconds = 0;
    settle_reading();
    make_workspace();
  }

  std::shared_ptr<const stored_matrix> current() const {
    const std::shared_lock reading(updating);
    return a;
  }

  /// Kernels may still read it when its last owner lets it go, on any stream: they are waited for before it is freed,
  /// wherever that happens.
  static std::shared_ptr<const stored_matrix> owned(stored_matrix made) {
    const auto wait_and_free = [](const stored_matrix* old) {
      const core::gpu::outside_pools waits;
      delete old;
    };
    return {new stored_matrix(std::move(made)), wait_and_free};
  }

  struct transposes {};
  /// The product with the transpose of the same matrix.
  impl(transposes, const impl& other, const plan::registered_kernel& by, std::int64_t cols) : impl(other) {
    forward = std::make_unique<impl>(other);
    kernel = &by;
    options.transpose = options.transpose == op::none ? op::transpose : op::none;
    options.cols = cols;
    facts.kernel = by.info;
    facts.reason = fmt::format("reads the matrix that another plan stores for {}", other.facts.kernel.name);
    facts.convert_seconds = 0;
    std::swap(facts.rows, facts.cols);
    statistics = {};  // they are of the other product
    make_workspace();
  }

  /// Whether a plan made for `kernel` and so many columns would store A as it is here.
  bool would_share(const plan::registered_kernel& other, std::int64_t cols) const {
    const kernels::operand_form form = kernel->form;
    const bool same_height = options.m_block > 0 || other.info.m_tile == facts.m_block;
    const bool same_width = form != kernels::operand_form::compact || other.info.index_bits == facts.kernel.index_bits;
    // Where long rows are cut follows the kernel's steps.
    const bool cached = form == kernels::operand_form::cached;
    const auto cut = [&](std::int64_t n, int step) { return converters::cut_for(facts.rows, facts.nnz, n, step); };
    const bool same_pieces = (form != kernels::operand_form::rows && !cached) ||
                             cut(cols, other.info.columns_at_once) == cut(options.cols, facts.kernel.columns_at_once);
    // Which rows of B lie in shared memory follows from the room that they have there.
    const bool same_panels =
        !cached || (other.info.n_tile == facts.kernel.n_tile && other.info.shared_bytes == facts.kernel.shared_bytes &&
                    other.info.stages == facts.kernel.stages);
    return other.form == form && same_height && same_width && same_pieces && same_panels;
  }

  std::unique_ptr<impl> sharing(const std::string& name, std::int64_t cols) const {
    if (forward) return forward->transposed(cols > 0 ? cols : options.cols, &name);
    plan_options wanted = options;
    wanted.kernel = name;
    for (const plan::registered_kernel* other : plan::allowed(problem(facts.rows, facts.cols, facts.nnz), wanted)) {
      const std::int64_t n = cols > 0 ? cols : options.cols;
      if (other->info.name == name && would_share(*other, n)) return std::make_unique<impl>(*this, *other, n);
    }
    return nullptr;
  }

  /// By the kernel `name`, or by the one that suits.
  std::unique_ptr<impl> transposed(std::int64_t cols, const std::string* name = nullptr) const {
    if (forward) return forward->sharing(forward->facts.kernel.name, cols);
    plan::problem p = problem(facts.rows, facts.cols, facts.nnz);
    if (cols > 0) p.cols = cols;
    auto kernels = plan::transposing(p, *kernel);
    if (name != nullptr) std::erase_if(kernels, [&](const auto* other) { return other->info.name != *name; });
    if (!kernels.empty())
      return std::make_unique<impl>(transposes{}, *this, *plan::choose_transposing(p, kernels), p.cols);
    p.deterministic = false;
    if (name == nullptr && !plan::transposing(p, *kernel).empty()) {
      core::fail(errc::no_such_kernel,
                 "transposed: no kernel on {} that is deterministic; plan_options::transpose stores the transpose",
                 to_string(p.where));
    }
    return nullptr;
  }

  /// Converting, with the context's threads.
  template <class Body>
  void convert_guarded(Body body) const {
    const threads_guard threads(on_gpu() ? 0 : ctx.threads());
    const core::gpu::pool_guard pool(ctx.state().pool);
    core::guarded(ctx.state(), "a plan", [&] {
      body();
      if (!on_gpu()) return;
      // What was allocated on the default stream is there for all streams from here on.
      const core::gpu::device_guard guard(device());
      core::gpu::synchronize();
    });
  }

  int device() const { return ctx.device().device; }
  bool on_gpu() const { return ctx.kind() == backend::cuda; }

  plan::problem problem(std::int64_t rows, std::int64_t inner, std::int64_t nnz) const {
    return {.where = ctx.kind(),
            .type = value_type_of<T>,
            .rows = rows,
            .inner = inner,
            .nnz = nnz,
            .cols = options.cols,
            .index_bits = plan::index_bits_for(rows, inner, nnz),
            .deterministic = options.deterministic,
            .b_is_col_major = options.b_layout == layout::col_major,
            .max_shared_bytes = ctx.device().shared_bytes_per_block,
            .num_multiprocessors = ctx.device().num_multiprocessors};
  }

  /// Analyses by `analyse(heights)` and settles kernel and m_block.
  template <class Analyse>
  void decide(std::int64_t rows, std::int64_t inner, std::int64_t nnz, Analyse analyse) {
    const plan::problem p = problem(rows, inner, nnz);
    const auto possible = plan::candidates(p, options);
    statistics = analyse(plan::heights(possible, options));
    const plan::decision d = plan::choose(p, options, possible, statistics);
    kernel = d.kernel;
    facts.kernel = kernel->info;
    facts.reason = d.reason;
    facts.m_block = d.m_block;
    facts.rows = rows;
    facts.cols = inner;
    facts.nnz = nnz;
    settle_reading();
    ctx.state().say(
        fmt::format("plan: {} with m_block {} for N = {}: {}", d.kernel->info.name, d.m_block, options.cols, d.reason));
  }

  /// For which N a column-major B is read where it lies, if the plan may say.
  void settle_reading() {
    in_place = {};
    if (options.reading != col_major_b::as_predicted) return;
    in_place = plan::reads_in_place(problem(facts.rows, facts.cols, facts.nnz), *kernel, statistics);
  }

  /// A in the form that the kernel reads, where it computes.
  template <class I>
  stored_matrix settle(const csr_view<T, I>& csr) const {
    return {csr,
            {.form = kernel->form,
             .index_bits = facts.kernel.index_bits,
             .m_block = facts.m_block,
             .cols = options.cols,
             .columns_at_once = facts.kernel.columns_at_once,
             .slab_cols = facts.kernel.n_tile,
             .stages = facts.kernel.stages,
             .shared_bytes = facts.kernel.shared_bytes,
             .boundaries = boundaries,
             .order = order,
             .device = on_gpu() ? std::optional(device()) : std::nullopt}};
  }

  template <class I>
  stored_matrix convert_on_host(const csr_view<T, I>& given, bool decide_first) {
    std::optional<csr_matrix<T, I>> owner;
    csr_view<T, I> csr = canonical(given, options.check, owner);
    if (options.transpose == op::transpose) {
      owner = transpose(csr);
      csr = owner->view();
    }
    // Order and boundaries are those of the rows the plan was made for.
    if (!decide_first && csr.rows != facts.rows) fail_pattern();
    if (decide_first) {
      if (options.reorder_rows) order = order_rows_by_similarity(csr);
      decide_on_host(csr);
      if (gains_by_equal_rows()) {
        order = plan::order_rows_by_length(csr);
        facts.reordered = by_length = !order.empty();
      }
    }
    if (!order.empty()) {
      owner = permute_rows(csr, order);
      csr = owner->view();
    }
    if (decide_first) cut_rows(csr);
    return settle(csr);
  }

  /// Settles kernel and m_block, and whether the order found stays: only if rows share more columns in it.
  template <class I>
  void decide_on_host(const csr_view<T, I>& csr) {
    const auto settle_with = [&](const csr_view<pattern, I>& a) {
      decide(csr.rows, csr.cols, csr.nnz(), [&](const auto& heights) { return analyse_blocks(a, heights); });
    };
    const csr_view<pattern, I> given{csr.rows, csr.cols, csr.row_ptr, csr.col_ind, pattern_span(csr.values.size())};
    if (!order.empty()) {
      settle_with(permute_rows(given, order).view());
      const order_comparison orders = compare_orders(given, order, facts.m_block);
      facts.reordered = orders.after.nnzc < orders.before.nnzc;
      if (!facts.reordered) {
        refused_reuse = orders.after.reuse;
        order = {};
      }
    }
    if (!facts.reordered) settle_with(given);
    if (keeps_rows()) return;
    const std::int64_t heights[] = {facts.m_block};
    facts.reuse_given = analyse_blocks(given, heights).front().reuse;
  }

  /// Whether the kernel's loop over a row is short enough for its length to matter, and nobody else orders the rows.
  bool gains_by_equal_rows() const {
    constexpr std::int64_t most_bytes = 256;  // of a row of C
    return !on_gpu() && keeps_rows() && facts.kernel.algorithm == "rows" && facts.m_block == 1 && options.cols > 1 &&
           options.cols * static_cast<std::int64_t>(sizeof(T)) <= most_bytes;
  }

  /// Finds the boundaries of the row blocks, in the rows' final order.
  template <class I>
  void cut_rows(const csr_view<T, I>& csr) {
    facts.boundaries = options.boundaries;
    if (options.boundaries == row_blocks::balanced) boundaries = balanced_boundaries(csr, facts.m_block);
    if (options.boundaries == row_blocks::structural) boundaries = structural_boundaries(csr, facts.m_block);
  }

  /// Whether A's rows stay as they are, in uniform row blocks; all else is found on the host.
  bool keeps_rows() const { return !options.reorder_rows && options.boundaries == row_blocks::uniform; }

  template <class I>
  stored_matrix convert(const csr_view<T, I>& given, bool decide_first) {
    if (given.space == memory_space::host) return convert_on_host(given, decide_first);
    require_device_source();
    if (!in_order_on_device(given)) return convert_on_host(download(given).view(), decide_first);
    // The transpose, and indices of another width than given, are made on the host.
    const bool plain = options.transpose == op::none && keeps_rows() && sizeof(I) == 4 &&
                       plan::index_bits_for(given.rows, given.cols, given.nnz()) == 32;
    const core::gpu::device_guard guard(device());
    if (!plain || (!decide_first && !made_on_device())) {
      return convert_on_host(download(given).view(), decide_first);
    }
    if (decide_first) {
      decide(given.rows, given.cols, given.nnz(), [&](const auto& heights) {
        return converters::analyse_blocks_on_device(device(), given, std::span<const std::int64_t>(heights));
      });
      if (!made_on_device()) return convert_on_host(download(given).view(), false);
    }
    return settle(given);
  }

  /// Whether what the kernel reads is made on the GPU, all the way from CSR there.
  bool made_on_device() const { return facts.kernel.index_bits == 32 && kernel->form != kernels::operand_form::cached; }

  template <class I>
  stored_matrix convert(const bcsc_view<T, I>& given, bool decide_first) {
    if (given.space == memory_space::device) {
      require_device_source();
      if (options.check == trust::validate) converters::validate_on_device(device(), given);
      const core::gpu::device_guard guard(device());
      const bool plain = options.transpose == op::none && keeps_rows() && sizeof(I) == 4;
      if (plain && decide_first) {
        decide(given.rows, given.cols, given.nnz(), [&](const auto& heights) {
          return converters::analyse_blocks_on_device(device(), given, std::span<const std::int64_t>(heights));
        });
        facts.reblocked = facts.m_block != given.m_block;
      }
      if (plain && made_on_device()) {
        if (kernel->form != kernels::operand_form::compact) return settle(to_csr_on_device(ctx, given).view());
        return stored_matrix(converters::to_compact_on_device(
            device(), converters::reblock_on_device(device(), given, facts.m_block).view(), true));
      }
      return convert_on_host(download(given).view(), decide_first && !plain);
    }
    if (options.check == trust::validate) validate(given);
    return convert_on_host(given, decide_first);
  }

  template <class I>
  stored_matrix convert_on_host(const bcsc_view<T, I>& given, bool decide_first) {
    const csr_matrix<T, I> csr = to_csr(given);
    auto stored = convert_on_host(csr.view(), decide_first);
    if (decide_first) facts.reblocked = options.transpose == op::none && facts.m_block != given.m_block;
    return stored;
  }

  /// Checks a device CSR; false if its only fault is the order of its rows or a duplicate, which the host mends (or
  /// names what else is wrong).
  template <class I>
  bool in_order_on_device(const csr_view<T, I>& given) const {
    if (options.check == trust::trusted) return true;
    try {
      converters::validate_on_device(device(), given);
      return true;
    } catch (const error& e) {
      if (e.code() != errc::invalid_format) throw;
      return false;
    }
  }

  void require_device_source() const {
    if (!on_gpu()) {
      core::fail(errc::wrong_memory_space, "A lies on a device, the context is {}", ctx.describe());
    }
  }

  template <class View>
  void build(const View& given) {
    const auto begin = std::chrono::steady_clock::now();
    a = owned(convert(given, true));
    if (on_gpu()) {
      const core::gpu::device_guard guard(device());
      core::gpu::synchronize();
    }
    facts.convert_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const plan::stored_facts stored = a->facts();
    facts.nnzc = stored.nnzc;
    facts.format_bytes = stored.bytes;
    facts.num_row_blocks = stored.num_row_blocks;
    facts.reuse = facts.nnzc > 0 ? static_cast<double>(facts.nnz) / static_cast<double>(facts.nnzc) : 0.0;
    make_workspace();
  }

  /// Values of workspace for the kernel's partial sums; those that read the transpose leave none.
  std::int64_t partial_values(std::int64_t n) const { return forward ? 0 : a->partial_values(n); }

  bool packs_b() const { return options.b_layout == layout::col_major && facts.cols > 0; }
  /// A column-major B of N = n columns.
  bool reads_in_place(std::int64_t n) const {
    if (!packs_b() || n < 2) return false;
    return options.reading == col_major_b::in_place ? kernel->info.strided_cols > 0 : in_place.contains(n);
  }
  bool turns_c(std::int64_t n) const {
    plan::problem p = problem(facts.rows, facts.cols, facts.nnz);
    p.cols = n;
    return plan::turns_c(p);
  }

  /// Values of workspace for `width` columns of a matrix that is made row-major: another may follow.
  static std::int64_t row_major_values(std::int64_t rows, std::int64_t width) {
    constexpr std::int64_t grain = workspace_alignment / sizeof(T);
    return core::ceil_div(core::checked_product(rows, width, "workspace"), grain) * grain;
  }
  std::int64_t packed_values(std::int64_t width) const { return packs_b() ? row_major_values(facts.cols, width) : 0; }
  std::int64_t turned_values(std::int64_t width) const {
    return room_to_turn ? row_major_values(facts.rows, width) : 0;
  }
  std::int64_t slab_bytes(std::int64_t width) const {
    return core::checked_product(packed_values(width) + turned_values(width), sizeof(T), "workspace") +
           core::checked_product(partial_values(width), sizeof(sum_type), "workspace");
  }

  /// What a slab for n columns has: on a GPU whole sectors of 32 bytes, so that N = 17 loads what N = 24 does and packs
  /// no more; on the CPU whole tiles.
  std::int64_t cols_of_slab(std::int64_t n) const {
    constexpr std::int64_t vector = 16 / sizeof(T), sector = 32 / sizeof(T);
    const std::int64_t grain = !on_gpu() ? facts.kernel.n_tile : n <= vector ? vector : sector;
    return core::ceil_div(n, grain) * grain;
  }

  void make_workspace() {
    const std::int64_t one_tile = facts.kernel.n_tile;
    const auto bound_or = [&](std::int64_t ours) {
      return options.max_workspace_bytes > 0 ? options.max_workspace_bytes : ours;
    };
    room_to_turn = !forward && !reads_in_place(options.cols) && turns_c(options.cols);
    if (room_to_turn) {
      const std::int64_t least_cols = core::ceil_div(plan::least_turned_cols, one_tile) * one_tile;
      room_to_turn = slab_bytes(least_cols) <= bound_or(most_to_turn);
    }
    if (slab_bytes(1) == 0) return;
    const std::int64_t bound = bound_or(room_to_turn ? most_to_turn : most_to_pack);
    slab_cols = cols_of_slab(options.cols);
    if (slab_bytes(slab_cols) > bound) {
      slab_cols = std::min(slab_cols, std::max<std::int64_t>(1, bound / slab_bytes(one_tile)) * one_tile);
    }
    const std::int64_t one_member = slab_bytes(slab_cols);
    const std::int64_t members = std::clamp<std::int64_t>(bound / one_member, 1, options.batch);
    workspace_bytes = static_cast<std::size_t>(one_member * members);
    if (on_gpu()) {
      device_workspace = core::device_buffer<std::byte>(device(), static_cast<std::int64_t>(workspace_bytes));
    } else {
      host_workspace.resize(workspace_bytes + workspace_alignment);
    }
  }

  template <class View>
  void update(const View& given) {
    std::shared_ptr<const stored_matrix> renewed;
    if (forward) {
      forward->update(given);
      renewed = forward->current();
    } else {
      convert_guarded([&] {
        renewed = owned(convert(given, false));
        if (!current()->same_pattern(*renewed)) fail_pattern();
      });
    }
    // It is complete: nothing in flight writes it, so kernels may read it before they wait for the one before them.
    // The old one is freed after the lock is released.
    const std::unique_lock lock(updating);
    a.swap(renewed);
  }
  [[noreturn]] static void fail_pattern() {
    throw error(errc::pattern_mismatch, "update_values: the sparsity pattern is not the one the plan was made for");
  }

  void check_spaces(const dense_view<const T>& b, const dense_view<T>& c, factor alpha, factor beta, bool reads_b,
                    const run_options& run) const {
    const auto check = [&](const void* pointer, const char* name) {
      if (pointer == nullptr) return;
      if (on_gpu() && !core::gpu::is_device_pointer(pointer, device())) {
        core::fail(errc::wrong_memory_space, "{} does not lie on device {}; bcsc::spmm() stages host operands", name,
                   device());
      }
      if (!on_gpu() && core::gpu::is_device_only(pointer)) {
        core::fail(errc::wrong_memory_space, "{} lies on a device, the context is a CPU", name);
      }
    };
    if (reads_b && b.rows > 0 && b.cols > 0) check(b.data, "B");
    check(c.data, "C");
    check(alpha.pointer(), "alpha");
    check(beta.pointer(), "beta");
    check(run.workspace.data(), "workspace");
  }

  /// The caller's workspace, or the plan's own, which is given back at the end of the call.
  class workspace_lease {
   public:
    workspace_lease(const impl& plan, const run_options& run) : plan_(plan) {
      if (plan.workspace_bytes == 0) return;
      if (!run.workspace.empty()) {
        if (run.workspace.size() < plan.workspace_bytes) {
          core::fail(errc::workspace_too_small, "workspace of {} bytes, the plan needs {}", run.workspace.size(),
                     plan.workspace_bytes);
        }
        if (reinterpret_cast<std::uintptr_t>(run.workspace.data()) % workspace_alignment != 0) {
          core::fail(errc::invalid_argument, "workspace is not aligned to {} bytes", workspace_alignment);
        }
        data_ = run.workspace.data();
        return;
      }
      if (plan.workspace_taken.exchange(true, std::memory_order_acquire)) {
        throw error(errc::workspace_in_use,
                    "the plan's own workspace serves another caller; give each its own in run_options::workspace");
      }
      // On a GPU the work goes on after this call: what follows on another stream would overwrite it.
      if (plan.on_gpu() && plan.workspace_used && plan.workspace_stream != run.stream &&
          !(run.move_workspace && core::gpu::is_idle(plan.workspace_stream))) {
        plan.workspace_taken.store(false, std::memory_order_release);
        throw error(errc::workspace_in_use,
                    run.move_workspace
                        ? "the plan's own workspace is in use by the stream it was last run on, which is not idle; "
                          "wait for that stream, or give this run its own in run_options::workspace"
                        : "the plan's own workspace belongs to the stream it was last run on; give this run its own in "
                          "run_options::workspace, or say run_options::move_workspace once that stream is idle");
      }
      plan.workspace_used = true;
      plan.workspace_stream = run.stream;
      own_ = true;
      data_ = plan.own_workspace();
    }
    ~workspace_lease() {
      if (own_) plan_.workspace_taken.store(false, std::memory_order_release);
    }
    workspace_lease(const workspace_lease&) = delete;
    workspace_lease& operator=(const workspace_lease&) = delete;
    T* data() const { return reinterpret_cast<T*>(data_); }

   private:
    const impl& plan_;
    std::byte* data_ = nullptr;
    bool own_ = false;
  };

  std::byte* own_workspace() const {
    if (on_gpu()) return device_workspace.data();
    const auto address = reinterpret_cast<std::uintptr_t>(host_workspace.data());
    const auto aligned = (address + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
    return const_cast<std::byte*>(host_workspace.data()) + (aligned - address);
  }

  void run(factor alpha, dense_view<const T> b, factor beta, dense_view<T> c, const run_options& run) const {
    core::require_healthy(ctx.state());
    if (run.batch.count == 0) return;
    const bool reads_b = facts.cols > 0 && facts.nnz > 0 && (alpha.pointer() != nullptr || alpha.value() != 0);
    plan::check_operands<T>(facts.rows, facts.cols, b, c, options.b_layout, reads_b);
    plan::check_batch<T>(b, c, run.batch);
    std::optional<core::gpu::device_guard> guard;
    if (on_gpu()) guard.emplace(device());
    core::guarded(ctx.state(), "a run", [&] { check_spaces(b, c, alpha, beta, reads_b, run); });
    if (facts.rows == 0 || c.cols == 0) return;
    const std::shared_lock reading(updating);

    const std::int64_t count = run.batch.count;
    const std::int64_t b_stride = reads_b && count > 1 ? run.batch.b_stride : 0;
    const std::int64_t c_stride = count > 1 ? run.batch.c_stride : 0;
    // A single column is row-major as it lies, whatever its layout is called.
    const bool in_place = b.ld <= most_strided_ld && reads_in_place(c.cols);
    const bool packs = packs_b() && reads_b && c.cols > 1 && !in_place;
    const b_strides strides{b.row_stride(), in_place ? b.col_stride() : 1, c.cols};
    if (!packs && partial_values(1) == 0) {
      for (std::int64_t k = 0; k < count; k += kernels::most_members) {
        const std::int64_t members = std::min(count - k, kernels::most_members);
        multiply(alpha, b.data + k * b_stride, strides, beta, member(c, k, c_stride), nullptr,
                 {members, b_stride, c_stride}, run.stream);
      }
      return;
    }
    const bool turns = room_to_turn && c.order == layout::col_major && turns_c(c.cols);
    const bool reads_c = beta.pointer() != nullptr || beta.value() != 0;
    const workspace_lease workspace(*this, run);
    const slab most = largest_slab(c.cols, count);
    T* const turned = workspace.data() + most.members * packed_values(most.cols);
    auto* const partials = reinterpret_cast<sum_type*>(turned + most.members * turned_values(most.cols));
    const std::int64_t packed_stride = b_stride != 0 ? packed_values(most.cols) : 0;  // one B is packed once
    const std::int64_t turned_stride = turned_values(most.cols);
    for (std::int64_t k = 0; k < count; k += most.members) {
      const std::int64_t members = std::min(most.members, count - k);
      const T* const b_first = b.data + k * b_stride;
      for (std::int64_t j = 0; j < c.cols; j += most.cols) {
        const std::int64_t width = std::min(most.cols, c.cols - j);
        if (packs) {
          pack(b_first + j * b.ld, b.ld, facts.cols, width, workspace.data(), most.cols,
               {b_stride != 0 ? members : 1, b_stride, packed_stride}, run.stream);
        }
        const T* const b_slab = packs ? workspace.data() : b_first + (reads_b ? j * b.col_stride() : 0);
        const dense_view<T> c_slab =
            member(dense_view<T>(c.data + j * c.col_stride(), c.rows, width, c.ld, c.order), k, c_stride);
        const kernels::cuda::pack_members each{members, c_stride, turned_stride};
        if (turns && reads_c) pack(c_slab.data, c.ld, c.rows, width, turned, most.cols, each, run.stream);
        multiply(
            alpha, b_slab, packs ? b_strides{most.cols, 1, most.cols} : b_strides{strides.row, strides.col, width},
            beta, turns ? dense_view<T>(turned, c.rows, width, most.cols) : c_slab, partials,
            {members, packs ? packed_stride : b_stride, turns ? turned_stride : c_stride, a->partial_values(width)},
            run.stream);
        if (turns) unpack(turned, most.cols, c_slab, each, run.stream);
      }
    }
  }

  /// So many columns of so many members of a batch are multiplied at once, for the workspace holds no more.
  struct slab {
    std::int64_t cols, members;
  };
  slab largest_slab(std::int64_t cols, std::int64_t count) const {
    const std::int64_t width = std::min(slab_cols, cols_of_slab(cols));
    const std::int64_t fit = static_cast<std::int64_t>(workspace_bytes) / slab_bytes(width);
    return {width, std::clamp<std::int64_t>(fit, 1, std::min(count, kernels::most_members))};
  }

  static dense_view<T> member(dense_view<T> c, std::int64_t k, std::int64_t stride) {
    c.data += k * stride;
    return c;
  }

  void pack(const T* from, std::int64_t ld, std::int64_t rows, std::int64_t width, T* packed, std::int64_t ld_packed,
            const kernels::cuda::pack_members& members, cuda_stream stream) const {
    if (!on_gpu()) {
      for (std::int64_t k = 0; k < members.count; ++k) {
        kernels::cpu::pack_row_major(from + k * members.col_major_stride, ld, rows, width,
                                     packed + k * members.row_major_stride, ld_packed, ctx.threads());
      }
      return;
    }
#if BCSC_WITH_CUDA
    const int status = kernels::cuda::pack_row_major(from, ld, rows, width, packed, ld_packed, stream, members);
    core::check_launch(ctx.state(), status, "making an operand row-major");
#else
    (void)stream;
#endif
  }

  void unpack(const T* packed, std::int64_t ld_packed, const dense_view<T>& c,
              const kernels::cuda::pack_members& members, cuda_stream stream) const {
#if BCSC_WITH_CUDA
    const int status =
        kernels::cuda::unpack_row_major(packed, ld_packed, c.rows, c.cols, c.data, c.ld, stream, members);
    core::check_launch(ctx.state(), status, "turning C");
#else
    (void)packed, (void)ld_packed, (void)c, (void)members, (void)stream;
#endif
  }

  /// A thread that is woken for less than some us of work costs more than it brings.
  int threads_for(const dense_view<T>& c) const {
    constexpr double seconds_a_thread = 5e-6, seconds_an_entry = 0.4e-9, bytes_a_second = 100e9;
    const double bytes = static_cast<double>(c.cols) * sizeof(T);
    const double seconds = static_cast<double>(facts.nnz + facts.rows) * (seconds_an_entry + bytes / bytes_a_second);
    return static_cast<int>(
        std::clamp(seconds / seconds_a_thread, 1.0, std::max(1.0, static_cast<double>(ctx.threads()))));
  }

  /// From a row of B to the next, and from a column to the next; how much of a row may be read.
  struct b_strides {
    std::int64_t row, col, readable_cols;
  };
  void multiply(factor alpha, const T* b, const b_strides& strides, factor beta, const dense_view<T>& c,
                sum_type* partials, const kernels::batch_strides& batch, cuda_stream stream) const {
    const kernels::launch_env env{threads_for(c), stream, ctx.device().num_multiprocessors};
    plan::dense_side<T> product{b,
                                strides.row,
                                strides.col,
                                strides.readable_cols,
                                c.cols,
                                c.data,
                                c.row_stride(),
                                c.col_stride(),
                                alpha.value(),
                                beta.value(),
                                alpha.pointer(),
                                beta.pointer(),
                                partials,
                                batch};
    const auto start = [&] {
      core::check_launch(ctx.state(), a->start(kernel->launch, product, env), facts.kernel.name.c_str());
    };
    if (facts.kernel.batches) return start();
    // One after the other, with the same partial sums.
    product.batch = {};
    for (std::int64_t k = 0; k < batch.count; ++k, product.b += batch.b, product.c += batch.c) start();
  }

  /// What was done with the rows, and what it brought.
  std::string explain_rows() const {
    if (by_length) return "\nrows: equally long ones beside each other, within 256 rows";
    if (keeps_rows()) return {};
    std::string text = "\nrows: ";
    if (facts.reordered) {
      text += "ordered by similarity";
    } else if (options.reorder_rows && refused_reuse > 0) {
      text += fmt::format("in their order (by similarity nnz/nnzc would be {:.2f})", refused_reuse);
    } else {
      text += "in their order";
    }
    text += fmt::format(", {} {} row blocks: nnz/nnzc {:.2f}, was {:.2f} as given", facts.num_row_blocks,
                        to_string(facts.boundaries), facts.reuse, facts.reuse_given);
    return text;
  }

  /// In how many bits A's indices are kept, where CSR needs 64.
  std::string explain_indices() const {
    if (plan::index_bits_for(facts.rows, facts.cols, facts.nnz) == 32) return {};
    const bool streamed = kernel->form == kernels::operand_form::rows;
    return fmt::format("\nindices: {} bits{}", facts.kernel.index_bits,
                       streamed ? ", for a stream of rows counts pairs of non-zeros" : "");
  }

  std::string explain_layouts() const {
    if (!packs_b() || options.cols == 1) return {};
    return fmt::format(
        "\nB: column-major, {}{}",
        reads_in_place(options.cols) ? "read where it lies" : "made row-major in the workspace first",
        room_to_turn ? "\nC: if column-major, made row-major in the workspace and turned at the end" : "");
  }

  std::string explain() const {
    const auto model =
        model_spmm(facts.rows, facts.cols, options.cols, facts.nnz, facts.format_bytes, value_type_of<T>);
    std::string text = fmt::format(
        "op(A): {} x {}, {} non-zeros, {}{}\n"
        "where: {}\n"
        "kernel: {} ({}, {}deterministic), tile {} x {}\n"
        "why: {}\n"
        "BCSC: m_block {}, {} non-empty columns, nnz/nnzc {:.2f}, {} bytes{}{}\n"
        "ready after: {:.2f} ms (analysis, conversion{})\n"
        "N = {}: {:.3g} Gflop, at least {:.3g} MB moved, {:.2f} flop/byte",
        facts.rows, facts.cols, facts.nnz, to_string(value_type_of<T>),
        options.transpose == op::transpose ? ", the transpose of what was given" : "", ctx.describe(),
        facts.kernel.name, facts.kernel.algorithm, facts.kernel.deterministic ? "" : "not ", facts.kernel.m_tile,
        facts.kernel.n_tile, facts.reason, facts.m_block, facts.nnzc, facts.reuse, facts.format_bytes,
        facts.reblocked ? ", re-blocked from the height given" : "",
        explain_rows() + explain_indices() + explain_layouts(), facts.convert_seconds * 1e3, on_gpu() ? ", upload" : "",
        options.cols, model.flops * 1e-9, model.bytes * 1e-6, model.intensity());
    if (ctx.device().peak_bandwidth > 0) {
      const double seconds = model.bytes / ctx.device().peak_bandwidth;
      text +=
          fmt::format("\nroofline: {:.1f} us at least from memory at its peak of {:.2f} TB/s: at most {:.0f} GFLOP/s",
                      seconds * 1e6, ctx.device().peak_bandwidth * 1e-12, model.flops / seconds * 1e-9);
    }
    return text;
  }
};

std::string_view to_string(compute_class kind) {
  switch (kind) {
    case compute_class::full:
      return "full";
    case compute_class::tf32:
      return "tf32";
  }
  return "unknown";
}

std::string_view to_string(row_blocks kind) {
  switch (kind) {
    case row_blocks::uniform:
      return "uniform";
    case row_blocks::balanced:
      return "balanced";
    case row_blocks::structural:
      return "structural";
  }
  return "unknown";
}

std::string_view to_string(col_major_b way) {
  switch (way) {
    case col_major_b::as_predicted:
      return "as_predicted";
    case col_major_b::packed:
      return "packed";
    case col_major_b::in_place:
      return "in_place";
  }
  return "unknown";
}

template <number T>
spmm_plan<T>::spmm_plan(const context& ctx, const csr_view<T, std::int32_t>& a, const plan_options& options)
    : impl_(std::make_unique<impl>(ctx, options)) {
  impl_->convert_guarded([&] { impl_->build(a); });
}
template <number T>
spmm_plan<T>::spmm_plan(const context& ctx, const csr_view<T, std::int64_t>& a, const plan_options& options)
    : impl_(std::make_unique<impl>(ctx, options)) {
  impl_->convert_guarded([&] { impl_->build(a); });
}
template <number T>
spmm_plan<T>::spmm_plan(const context& ctx, const bcsc_view<T, std::int32_t>& a, const plan_options& options)
    : impl_(std::make_unique<impl>(ctx, options)) {
  impl_->convert_guarded([&] { impl_->build(a); });
}
template <number T>
spmm_plan<T>::spmm_plan(const context& ctx, const bcsc_view<T, std::int64_t>& a, const plan_options& options)
    : impl_(std::make_unique<impl>(ctx, options)) {
  impl_->convert_guarded([&] { impl_->build(a); });
}

template <number T>
spmm_plan<T>::~spmm_plan() = default;
template <number T>
spmm_plan<T>::spmm_plan(spmm_plan&&) noexcept = default;
template <number T>
spmm_plan<T>& spmm_plan<T>::operator=(spmm_plan&&) noexcept = default;

template <number T>
spmm_plan<T>::spmm_plan(std::unique_ptr<impl> made) : impl_(std::move(made)) {}

template <number T>
typename spmm_plan<T>::impl& spmm_plan<T>::made(const char* member) const {
  if (impl_ == nullptr) {
    core::fail(errc::invalid_argument, "spmm_plan::{}: the plan has been moved from: it has no matrix", member);
  }
  return *impl_;
}

template <number T>
void spmm_plan<T>::run(scalar<scalar_of<T>> alpha, dense_view<const T> b, scalar<scalar_of<T>> beta, dense_view<T> c,
                       const run_options& options) const {
  made("run").run(alpha, b, beta, c, options);
}

template <number T>
std::optional<spmm_plan<T>> spmm_plan<T>::sharing(const std::string& kernel, std::int64_t cols) const {
  if (cols < 0) core::fail(errc::invalid_argument, "sharing: cols = {}: must be at least 0 (0: as before)", cols);
  const impl& self = made("sharing");
  std::unique_ptr<impl> other;
  self.convert_guarded([&] { other = self.sharing(kernel, cols); });
  if (other == nullptr) return std::nullopt;
  return spmm_plan(std::move(other));
}

template <number T>
std::optional<spmm_plan<T>> spmm_plan<T>::transposed(std::int64_t cols) const {
  if (cols < 0) core::fail(errc::invalid_argument, "transposed: cols = {}: must be at least 0 (0: as before)", cols);
  const impl& self = made("transposed");
  std::unique_ptr<impl> other;
  self.convert_guarded([&] { other = self.transposed(cols); });
  if (other == nullptr) return std::nullopt;
  return spmm_plan(std::move(other));
}

template <number T>
std::size_t spmm_plan<T>::workspace_bytes() const {
  return made("workspace_bytes").workspace_bytes;
}

template <number T>
void spmm_plan<T>::update_values(const csr_view<T, std::int32_t>& a) {
  made("update_values").update(a);
}
template <number T>
void spmm_plan<T>::update_values(const csr_view<T, std::int64_t>& a) {
  made("update_values").update(a);
}
template <number T>
void spmm_plan<T>::update_values(const bcsc_view<T, std::int32_t>& a) {
  made("update_values").update(a);
}
template <number T>
void spmm_plan<T>::update_values(const bcsc_view<T, std::int64_t>& a) {
  made("update_values").update(a);
}

template <number T>
const plan_facts& spmm_plan<T>::facts() const {
  return made("facts").facts;
}
template <number T>
std::string spmm_plan<T>::explain() const {
  return made("explain").explain();
}
template <number T>
const context& spmm_plan<T>::where() const {
  return made("where").ctx;
}

template class spmm_plan<float>;
template class spmm_plan<double>;
template class spmm_plan<half>;
template class spmm_plan<bfloat16>;

}  // namespace bcsc
