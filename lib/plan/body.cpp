#include "lib/plan/body.hpp"

#include <vector>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "kernels/forms/block_slices/layout.hpp"
#include "kernels/forms/mma_tiles/mma_tiles.hpp"
#include "kernels/forms/row_stream/row_stream.hpp"

namespace bcsc::plan {

namespace {

/// Whether a plan made for config `other` and `cols` columns would store A as `how` does.
bool would_share(const recipe& how, const choice::registered_kernel& other, std::int64_t cols) {
  using form = kernels::operand_form;
  const kernel_info& mine = how.facts.kernel;
  const bool same_height = how.options.expert.m_block > 0 || other.info.m_tile == how.facts.m_block;
  const bool same_width = other.form != form::compact || other.info.index_bits == mine.index_bits;
  // Where long rows are cut follows the kernel's steps and teams.
  const auto cut = [&](std::int64_t n, const kernel_info& kernel) {
    return forms::cut_for(how.facts.rows, how.facts.nnz, n, kernel.columns_at_once, kernel.teams).cut();
  };
  const bool same_pieces =
      other.form != form::row_stream || cut(cols, other.info).is_like(cut(how.options.cols, mine), how.longest_row());
  // How long bricks are follows the number of thread blocks, what they may hold the kernel.
  const bool same_bricks =
      other.form != form::bricks || (other.info.columns_at_once == mine.columns_at_once &&
                                     (how.ordered != row_order::in_bricks ||
                                      how.bricks_for(other.info, cols) == how.bricks_for(mine, how.options.cols)));
  // How many pieces row blocks are cut into follows the number of thread blocks.
  const auto max_groups = [&](std::int64_t n, const kernel_info& kernel) {
    return forms::max_staged_groups_for(how.facts.nnzc, how.facts.num_row_blocks,
                                        core::ceil_div(n, std::int64_t{kernel.n_tile}));
  };
  const bool same_groups =
      other.form != form::staged_tiles || max_groups(cols, other.info) == max_groups(how.options.cols, mine);
  const auto slicing_of = [](const kernel_info& kernel) {
    return forms::slicing_for(kernel.columns_at_once, kernel.n_tile);
  };
  const bool same_slices = other.form != form::block_slices || slicing_of(other.info) == slicing_of(mine);
  // Whether rows of equal length stand beside each other follows N. Rows in bricks, or not, suit any.
  const bool same_order =
      !how.unequal_rows || how.gains_by_equal_rows(other.info, cols) == (how.ordered == row_order::by_length);
  return other.form == how.kernel->form && same_order && same_slices && same_height && same_width && same_pieces &&
         same_bricks && same_groups;
}

template <number T>
std::unique_ptr<body<T>> share(std::shared_ptr<const recipe> stored_by,
                               std::shared_ptr<const forms::stored_matrix<T>> a, const std::string& name,
                               std::int64_t cols);
template <number T>
std::unique_ptr<body<T>> transpose_of(std::shared_ptr<const recipe> stored_by,
                                      std::shared_ptr<const forms::stored_matrix<T>> a, const std::string* name,
                                      std::int64_t cols);

/// Multiplies by the matrix as it is stored.
template <number T>
class forward_body final : public body<T> {
 public:
  forward_body(const std::shared_ptr<const recipe>& how, std::shared_ptr<const forms::stored_matrix<T>> a)
      : body<T>(how, how, a, a->partials(), /*turnable=*/true) {}

  std::unique_ptr<body<T>> sharing(const std::string& name, std::int64_t cols) const override {
    return share<T>(this->how_, this->a_.current(), name, cols > 0 ? cols : this->how_->options.cols);
  }
  std::unique_ptr<body<T>> transposed(std::int64_t cols) const override {
    return transpose_of<T>(this->how_, this->a_.current(), nullptr, cols > 0 ? cols : this->how_->options.cols);
  }
};

/// Multiplies by its transpose. Leaves no partial sums, and never turns C.
template <number T>
class transposed_body final : public body<T> {
 public:
  transposed_body(std::shared_ptr<const recipe> how, std::shared_ptr<const recipe> stored_by,
                  std::shared_ptr<const forms::stored_matrix<T>> a)
      : body<T>(std::move(how), std::move(stored_by), std::move(a), {}, /*turnable=*/false) {}

  std::unique_ptr<body<T>> sharing(const std::string& name, std::int64_t cols) const override {
    return transpose_of<T>(this->stored_by_, this->a_.current(), &name, cols > 0 ? cols : this->how_->options.cols);
  }
  std::unique_ptr<body<T>> transposed(std::int64_t cols) const override {
    const recipe& former = *this->stored_by_;
    return share<T>(this->stored_by_, this->a_.current(), former.facts.kernel.name,
                    cols > 0 ? cols : former.options.cols);
  }
};

template <number T>
std::unique_ptr<body<T>> share(std::shared_ptr<const recipe> stored_by,
                               std::shared_ptr<const forms::stored_matrix<T>> a, const std::string& name,
                               std::int64_t cols) {
  plan_options wanted = stored_by->options;
  wanted.expert.kernel = name;
  for (const choice::registered_kernel* other : choice::allowed(stored_by->described(), wanted)) {
    if (other->info.name != name || !would_share(*stored_by, *other, cols)) continue;
    auto how = std::make_shared<recipe>(*stored_by);
    how->take(*other, cols);
    how->options.expert.kernel = name;
    how->facts.reason = "asked for by name, with the matrix of another plan";
    how->settle_reading();
    return std::make_unique<forward_body<T>>(std::move(how), std::move(a));
  }
  return nullptr;
}

/// By the config `name`, or by the best suited one.
template <number T>
std::unique_ptr<body<T>> transpose_of(std::shared_ptr<const recipe> stored_by,
                                      std::shared_ptr<const forms::stored_matrix<T>> a, const std::string* name,
                                      std::int64_t cols) {
  choice::problem p = stored_by->described();
  p.cols = cols;
  auto kernels = choice::transposing(p, *stored_by->kernel);
  if (name != nullptr) std::erase_if(kernels, [&](const auto* other) { return other->info.name != *name; });
  if (kernels.empty()) {
    p.deterministic = false;
    if (name == nullptr && !choice::transposing(p, *stored_by->kernel).empty()) {
      core::fail(errc::no_such_kernel,
                 "transposed: no kernel on {} that is deterministic; plan_options::transpose stores the transpose",
                 to_string(p.where));
    }
    return nullptr;
  }
  auto how = std::make_shared<recipe>(*stored_by);
  how->take(*choice::choose_transposing(p, kernels), cols);
  how->options.transpose = how->options.transpose == op::none ? op::transpose : op::none;
  how->facts.reason = core::format("reads the matrix that another plan stores for {}", stored_by->facts.kernel.name);
  std::swap(how->facts.rows, how->facts.cols);
  how->statistics = {};  // they are of the other product
  how->in_place = {};
  return std::make_unique<transposed_body<T>>(std::move(how), std::move(stored_by), std::move(a));
}

}  // namespace

template <number T>
void body<T>::update(const source<T>& given) {
  std::shared_ptr<const stored> renewed;
  guard_making(*stored_by_, [&] {
    renewed = held_matrix<T>::owned(rebuild<T>(*stored_by_, given));
    if (!a_.current()->same_pattern(*renewed)) fail_pattern();
  });
  a_.replace(std::move(renewed));
}

template <number T>
std::unique_ptr<body<T>> make_body(const context& ctx, const plan_options& options, const source<T>& a) {
  const auto how = std::make_shared<recipe>(ctx, options, value_type_of<T>);
  std::unique_ptr<body<T>> made;
  guard_making(*how, [&] {
    auto matrix = held_matrix<T>::owned(build<T>(*how, a));
    made = std::make_unique<forward_body<T>>(how, std::move(matrix));
  });
  return made;
}

template <number T>
std::unique_ptr<body<T>> restated(const body<T>& made, plan_facts facts) {
  auto how = std::make_shared<recipe>(made.how());
  how->facts = std::move(facts);
  return std::make_unique<forward_body<T>>(std::move(how), made.matrix().current());
}

#define BCSC_INSTANTIATE(T)                                                                           \
  template class body<T>;                                                                             \
  template std::unique_ptr<body<T>> make_body(const context&, const plan_options&, const source<T>&); \
  template std::unique_ptr<body<T>> restated(const body<T>&, plan_facts);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::plan
