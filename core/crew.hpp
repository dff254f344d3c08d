#pragma once

#include <memory>

namespace bcsc::core {

/// Threads of the library's own. Waking a thread takes longer than a small product, so they spin until work comes, and
/// sleep only after 2 ms without any.
class crew {
 public:
  /// `size` threads, that of the caller among them. Throws error{out_of_memory} if the system grants no more threads.
  explicit crew(int size);
  ~crew();
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  /// Calls part(data, t, size) for each thread t < size, on the calling thread for 0, and returns when all are done.
  /// Threads that call at the same time take turns. `part` must not throw. The caller does all parts itself where it is
  /// a thread of a crew, and in a process forked since, which has no others.
  void run(void (*part)(const void* data, int thread, int threads), const void* data);

  /// Whether this thread is doing a crew's work.
  static bool is_member();

  /// How many CPUs this process may use.
  static int available_cpus();

 private:
  struct shared;
  std::unique_ptr<shared> shared_;
};

}  // namespace bcsc::core
