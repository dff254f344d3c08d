#pragma once

namespace bcsc::core {

/// More threads than this are a slip, and would end the process: OpenMP's end it where the system grants no more, and
/// keep their bookkeeping on the caller's stack. Eight for each CPU, 1024 at least.
int most_threads() noexcept;

}  // namespace bcsc::core
