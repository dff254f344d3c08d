#include "lib/solvers/small_exchange.hpp"

#include <algorithm>
#include <cstddef>

#include "core/checked.hpp"

namespace bcsc::solvers {

using core::at;

small_exchange::small_exchange(const context& ctx, cuda_stream stream, std::int64_t largest)
    : largest_(largest),
      stream_(stream),
      there_(ctx, core::checked_product(largest, num_slots + num_answers, "values of small matrices")) {
  if (ctx.kind() == backend::cuda) here_.emplace(at(there_.size()) * sizeof(double));
}

const double* small_exchange::send(std::span<const double> values) {
  if (unread_ == num_slots) {
    core::gpu::synchronize(stream_);
    unread_ = unread_after_request_ = 0;
  }
  const std::int64_t first = next_slot_ * largest_;
  next_slot_ = (next_slot_ + 1) % num_slots;
  double* const there = there_.data() + first;
  if (!here_) {
    std::ranges::copy(values, there);
    return there;
  }
  double* const here = static_cast<double*>(here_->data()) + first;
  std::ranges::copy(values, here);
  core::gpu::copy_to_device(there, here, values.size_bytes(), stream_);
  ++unread_;
  ++unread_after_request_;
  return there;
}

double* small_exchange::room_for_answer(std::int64_t values) {
  if (taken_ == asked_) asked_ = taken_ = 0;
  double* const room = answers() + asked_;
  asked_ += values;
  return room;
}

void small_exchange::request() {
  arrived_ = false;
  if (!here_) return;
  here_->fetch(at(num_slots * largest_) * sizeof(double), answers(), at(asked_) * sizeof(double), stream_);
  unread_after_request_ = 0;
}

std::span<const double> small_exchange::take(std::int64_t values) {
  const double* from = answers();
  if (here_) {
    if (!arrived_) {
      here_->wait();
      unread_ = unread_after_request_;
    }
    from = static_cast<const double*>(here_->data()) + num_slots * largest_;
  }
  arrived_ = true;
  const std::span<const double> answer(from + taken_, at(values));
  taken_ += values;
  return answer;
}

}  // namespace bcsc::solvers
