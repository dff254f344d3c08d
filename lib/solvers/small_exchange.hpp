#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bcsc/context.hpp"
#include "core/gpu.hpp"
#include "lib/solvers/context_array.hpp"

namespace bcsc::solvers {

/// Passes small matrices between the host and where a context computes, on one stream, without waiting for all of its
/// work: what is sent lies in page-locked memory until its turn comes, and taking an answer waits for the request
/// alone.
class small_exchange {
 public:
  /// No matrix has more than `largest` values. Throws error{out_of_memory | cuda_error}.
  small_exchange(const context& ctx, cuda_stream stream, std::int64_t largest);

  /// Where work submitted from now on finds these values, until 12 more have been sent.
  const double* send(std::span<const double> values);

  /// Room where the context shall leave an answer. Up to 3 may be asked for before they are taken.
  double* room_for_answer(std::int64_t values);
  /// Starts to copy the answers of the work submitted so far to the host.
  void request();
  /// The next answer, in the order of their rooms; waits for the request.
  std::span<const double> take(std::int64_t values);

 private:
  static constexpr std::int64_t num_slots = 12, num_answers = 3;

  double* answers() const { return there_.data() + num_slots * largest_; }

  std::int64_t largest_;
  cuda_stream stream_;
  context_array<double> there_;                   ///< the slots of what is sent, then the answers
  std::optional<core::gpu::locked_memory> here_;  ///< the same on the host; none on a CPU
  std::int64_t next_slot_ = 0;
  std::int64_t unread_ = 0, unread_after_request_ = 0;  ///< slots that the GPU may not have read yet
  std::int64_t asked_ = 0, taken_ = 0;                  ///< values of answers
  bool arrived_ = false;
};

}  // namespace bcsc::solvers
