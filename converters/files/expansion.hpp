#pragma once

#include <cstdint>

#include "converters/files/location.hpp"
#include "converters/files/source.hpp"

namespace bcsc::files {

/// Counts what the compressed parts inside a file expand to, and holds them to the limits of read_options. (A source
/// does the same for a file that is compressed as a whole.)
class expansion_meter {
 public:
  expansion_meter(const source& in, std::size_t content_bytes)
      : in_(in), content_bytes_(static_cast<std::int64_t>(content_bytes)) {}

  /// Throws error{decompression_limit} if `more` bytes beyond those counted so far are too many.
  void require_permitted(std::int64_t more, const file_location& where) const {
    // Below this a high ratio is harmless.
    constexpr std::int64_t harmless = std::int64_t{1} << 20;
    const read_options& options = in_.options();
    if (more > options.max_expanded_bytes - expanded_) {
      fail_at(where, errc::decompression_limit, "expands beyond max_expanded_bytes = {}", options.max_expanded_bytes);
    }
    const auto total = static_cast<double>(expanded_ + more);
    if (expanded_ + more > harmless && total > options.max_expansion_ratio * static_cast<double>(content_bytes_)) {
      fail_at(where, errc::decompression_limit, "{} bytes expand beyond max_expansion_ratio = {}", content_bytes_,
              options.max_expansion_ratio);
    }
  }

  /// Requires memory for `bytes` of expanded content that will be held. Throws error{decompression_limit}.
  void require_memory(std::int64_t bytes, const file_location& where) const {
    in_.require_memory(0, bytes, "what it expands to", where, errc::decompression_limit);
  }

  /// Counts `bytes` that were expanded. Throws error{decompression_limit | cancelled}.
  void count(std::int64_t bytes, const file_location& where) {
    require_permitted(bytes, where);
    expanded_ += bytes;
    constexpr std::int64_t report_every = std::int64_t{4} << 20;
    if (!in_.options().progress || expanded_ < next_report_) return;
    next_report_ = expanded_ + report_every;
    // The source has reported every stored byte; this is only a chance to stop.
    if (!in_.options().progress(in_.stored_bytes(), in_.stored_bytes())) {
      fail_at(where, errc::cancelled, "reading was cancelled");
    }
  }

 private:
  const source& in_;
  std::int64_t content_bytes_;
  std::int64_t expanded_ = 0;
  std::int64_t next_report_ = std::int64_t{4} << 20;
};

}  // namespace bcsc::files
