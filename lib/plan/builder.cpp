#include "lib/plan/builder.hpp"

#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include "bcsc/convert.hpp"
#include "bcsc/device.hpp"
#include "bcsc/order.hpp"
#include "converters/formats/coalescing.hpp"
#include "converters/formats/current_team.hpp"
#include "converters/formats/device_analysis.hpp"
#include "converters/formats/device_validate.hpp"
#include "converters/formats/grid.hpp"
#include "converters/formats/structure.hpp"
#include "core/buffer.hpp"
#include "core/fail.hpp"
#include "kernels/forms/compact/locality.hpp"

namespace bcsc::plan {

namespace {

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

template <number T>
class builder {
 public:
  using stored = forms::stored_matrix<T>;

  /// Stores as `how` says.
  explicit builder(const recipe& how) : how_(how) {}
  /// Decides first.
  explicit builder(recipe& how) : how_(how), open_(&how) {}

  template <class I>
  stored convert(const csr_view<T, I>& given) {
    if (given.space == memory_space::host) return convert_on_host(given);
    require_device_source();
    if (!in_order_on_device(given)) return convert_on_host<I>(download(given));
    // The transpose, and indices of another width than given, are made on the host.
    const bool plain = stays_on_device<I>() && choice::index_bits_for(given.rows, given.cols, given.nnz()) == 32;
    const core::gpu::device_guard guard(how_.device());
    if (!plain) return convert_on_host<I>(download(given));
    require_rows(given.rows);
    decide_on_device(given);
    return made_on_device() ? settle_decided(given) : convert_decided(given);
  }

  template <class I>
  stored convert(const bcsc_view<T, I>& given) {
    if (given.space == memory_space::device) {
      require_device_source();
      if (how_.options.check == trust::validate) converters::validate_on_device(how_.device(), given);
      const core::gpu::device_guard guard(how_.device());
      if (!stays_on_device<I>()) return convert_on_host<I>(download(given));
      require_rows(given.rows);
      decide_on_device(given);
      return made_on_device() ? settle_decided<I>(to_csr_on_device(how_.ctx, given)) : convert_decided(given);
    }
    if (how_.options.check == trust::validate) validate(given);
    return convert_on_host(given);
  }

 private:
  /// Settles kernel and m_block by what `analyse(heights)` finds.
  template <class Analyse>
  void decide(std::int64_t rows, std::int64_t inner, std::int64_t nnz, Analyse analyse) {
    const choice::problem p = how_.described(rows, inner, nnz);
    if (choice::considers_dense(p, how_.options) && !p.no_dense_library.empty()) {
      how_.ctx.state().say(core::format("plan: no dense product is considered: {}", p.no_dense_library));
    }
    const auto possible = choice::candidates(p, how_.options);
    open_->statistics = analyse(choice::heights(possible, how_.options));
    const choice::decision d = choice::choose(p, how_.options, possible, how_.statistics);
    open_->kernel = d.kernel;
    plan_facts& facts = open_->facts;
    facts.kernel = d.kernel->info;
    facts.reason = d.reason;
    facts.m_block = d.m_block;
    facts.rows = rows;
    facts.cols = inner;
    facts.nnz = nnz;
    open_->settle_reading();
    how_.ctx.state().say(core::format("plan: {} with m_block {} for N = {}: {}", d.kernel->info.name, d.m_block,
                                      how_.options.cols, d.reason));
  }

  template <class View>
  void decide_on_device(const View& given) {
    if (open_ == nullptr) return;
    // Row blocks have no rows to sample: slices are not considered.
    if constexpr (!requires { given.m_block; }) {
      look_at_columns(given);
      if (how_.may_gain_by_bricks(given.rows, given.cols, given.nnz())) look_for_grid(given);
    }
    decide(given.rows, given.cols, given.nnz(), [&](const auto& heights) {
      return converters::analyse_blocks_on_device(how_.device(), given, std::span<const std::int64_t>(heights));
    });
    if constexpr (requires { given.m_block; }) open_->facts.reblocked = how_.facts.m_block != given.m_block;
  }

  /// After decide_on_device(), where the GPU makes the form, and where it cannot.
  template <class I>
  stored settle_decided(const csr_view<T, I>& csr) {
    if (open_ != nullptr) look_for_bricks(csr);
    return settle(csr);
  }
  template <class View>
  stored convert_decided(const View& given) {
    open_ = nullptr;
    const auto downloaded = download(given);
    return convert_on_host(downloaded.view());
  }

  /// A plan's order and boundaries are those of the rows that it was made for.
  void require_rows(std::int64_t rows) const {
    if (open_ == nullptr && rows != how_.facts.rows) fail_pattern();
  }

  /// Settles kernel and m_block, and whether the order found stays: only if rows share more columns in it.
  template <class I>
  void decide_on_host(const csr_view<T, I>& csr) {
    const auto settle_with = [&](const csr_view<pattern, I>& a) {
      look_at_columns(a);
      decide(csr.rows, csr.cols, csr.nnz(), [&](const auto& heights) { return analyse_blocks(a, heights); });
    };
    const csr_view<pattern, I> given{csr.rows, csr.cols, csr.row_ptr, csr.col_ind, pattern_span(csr.values.size())};
    plan_facts& facts = open_->facts;
    if (!how_.order.empty()) {
      settle_with(permute_rows(given, how_.order));
      const order_comparison orders = compare_orders(given, how_.order, facts.m_block);
      if (orders.after.nnzc < orders.before.nnzc) {
        take_order(row_order::by_similarity);
      } else {
        open_->refused_reuse = orders.after.reuse;
        open_->order = {};
      }
    }
    if (how_.may_gain_by_bricks(csr.rows, csr.cols, csr.nnz())) look_for_grid(given);
    if (!facts.reordered) settle_with(given);
    if (how_.leaves_rows_to_plan()) return;
    const std::int64_t heights[] = {facts.m_block};
    facts.reuse_given = analyse_blocks(given, heights).front().reuse;
  }

  template <class I>
  stored convert_on_host(const csr_view<T, I>& given) {
    std::optional<csr_matrix<T, I>> owner;
    csr_view<T, I> csr = canonical(given, how_.options.check, owner);
    if (how_.options.transpose == op::transpose) {
      owner = transpose(csr);
      csr = owner->view();
    }
    require_rows(csr.rows);
    if (open_ != nullptr) {
      if (how_.options.expert.reorder_rows) open_->order = order_rows_by_similarity(csr);
      decide_on_host(csr);
      open_->unequal_rows = !how_.on_gpu() && forms::differ_in_length(csr);
      if (how_.unequal_rows && how_.gains_by_equal_rows(how_.facts.kernel, how_.options.cols)) {
        open_->order = forms::order_rows_by_length(csr);
        take_order(row_order::by_length);
      }
      look_for_bricks(csr);
    }
    if (!how_.order.empty()) {
      owner = permute_rows(csr, how_.order);
      csr = owner->view();
    }
    if (open_ != nullptr) cut_rows(csr);
    return settle(csr);
  }

  template <class I>
  stored convert_on_host(const bcsc_view<T, I>& given) {
    const bool decides = open_ != nullptr;
    const csr_matrix<T, I> csr = to_csr(given);
    auto made = convert_on_host(csr.view());
    if (decides) {
      open_->facts.reblocked = how_.options.transpose == op::none && how_.facts.m_block != given.m_block;
    }
    return made;
  }

  void take_order(row_order kind) {
    open_->ordered = kind;
    open_->facts.reordered = true;
  }

  /// How near each other the columns of neighbouring rows are.
  template <class View>
  void look_at_columns(const View& csr) {
    if (!how_.looks_at_columns()) return;
    open_->access = converters::access_to_columns(converters::structure_of(csr));
  }

  /// Rows of neighbouring nodes beside each other, if A is that of a grid and the kernel gains by it. BCSC on a device
  /// has no rows to look at before the choice.
  template <class I>
  void look_for_bricks(const csr_view<T, I>& csr) {
    if (!how_.gains_by_bricks()) return;
    if (!how_.looked_for_grid) look_for_grid(csr);
    if (how_.grid.exists()) take_order(row_order::in_bricks);
  }
  template <class View>
  void look_for_grid(const View& csr) {
    const core::gpu::device_guard guard(how_.device());
    open_->grid = converters::find_grid(converters::structure_of(csr));
    open_->looked_for_grid = true;
  }

  /// Finds the boundaries of the row blocks, in the rows' final order.
  template <class I>
  void cut_rows(const csr_view<T, I>& csr) {
    const row_blocks wanted = how_.options.expert.boundaries;
    open_->facts.boundaries = wanted;
    if (wanted == row_blocks::balanced) open_->boundaries = balanced_boundaries(csr, how_.facts.m_block);
    if (wanted == row_blocks::structural) open_->boundaries = structural_boundaries(csr, how_.facts.m_block);
  }

  /// A in the form that the kernel reads, where it computes.
  template <class I>
  stored settle(const csr_view<T, I>& csr) const {
    return {csr,
            {.form = how_.kernel->form,
             .index_bits = how_.facts.kernel.index_bits,
             .m_block = how_.facts.m_block,
             .cols = how_.options.cols,
             .columns_at_once = how_.facts.kernel.columns_at_once,
             .teams = how_.facts.kernel.teams,
             .tile_cols = how_.facts.kernel.n_tile,
             .thread_blocks = how_.thread_blocks(how_.facts.kernel),
             .boundaries = how_.boundaries,
             .order = how_.order,
             .bricks = how_.ordered == row_order::in_bricks ? how_.grid : converters::grid{},
             .reach = how_.access.reach,
             .device = how_.on_gpu() ? std::optional(how_.device()) : std::nullopt}};
  }

  template <class I>
  bool stays_on_device() const {
    return how_.options.transpose == op::none && how_.leaves_rows_to_plan() && sizeof(I) == 4;
  }
  bool made_on_device() const { return how_.facts.kernel.index_bits == 32; }

  /// Checks a device CSR; false if its only fault is the order of its rows or a duplicate, which the host repairs (or
  /// it names what else is wrong).
  template <class I>
  bool in_order_on_device(const csr_view<T, I>& given) const {
    if (how_.options.check == trust::trusted) return true;
    try {
      converters::validate_on_device(how_.device(), given);
      return true;
    } catch (const error& e) {
      if (e.code() != errc::invalid_format) throw;
      return false;
    }
  }

  void require_device_source() const {
    if (!how_.on_gpu()) {
      core::fail(errc::wrong_memory_space, "A lies on a device, the context is {}", how_.ctx.describe());
    }
  }

  const recipe& how_;
  recipe* open_ = nullptr;  // the same, until it is decided
};

}  // namespace

void fail_pattern() {
  throw error(errc::pattern_mismatch, "update_values: the sparsity pattern is not the one the plan was made for");
}

void guard_making(const recipe& how, const std::function<void()>& body) {
  const converters::team_guard team(how.ctx.state().who());
  const core::gpu::pool_guard pool(how.ctx.state().pool);
  core::guarded(how.ctx.state(), "a plan", [&] {
    body();
    if (!how.on_gpu()) return;
    // Allocations are ordered on the default stream; other streams may use them only after this.
    const core::gpu::device_guard guard(how.device());
    core::gpu::synchronize();
  });
}

template <number T>
forms::stored_matrix<T> build(recipe& how, const source<T>& a) {
  const auto begin = std::chrono::steady_clock::now();
  auto made = std::visit([&](const auto& view) { return builder<T>(how).convert(view); }, a);
  if (how.on_gpu()) {
    const core::gpu::device_guard guard(how.device());
    core::gpu::synchronize();
  }
  plan_facts& facts = how.facts;
  facts.convert_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const forms::stored_facts stored = made.facts();
  facts.nnzc = stored.nnzc;
  facts.format_bytes = stored.bytes;
  facts.num_row_blocks = stored.num_row_blocks;
  facts.reuse = facts.nnzc > 0 ? static_cast<double>(facts.nnz) / static_cast<double>(facts.nnzc) : 0.0;
  return made;
}

template <number T>
forms::stored_matrix<T> rebuild(const recipe& how, const source<T>& a) {
  return std::visit([&](const auto& view) { return builder<T>(how).convert(view); }, a);
}

#define BCSC_INSTANTIATE(T)                                          \
  template forms::stored_matrix<T> build(recipe&, const source<T>&); \
  template forms::stored_matrix<T> rebuild(const recipe&, const source<T>&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::plan
