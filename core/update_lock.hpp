#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>

namespace bcsc::core {

/// A shared mutex in which readers cannot starve an updater. std::shared_mutex admits readers for as long as there are
/// any, so an updater might never get it; here readers queue behind a waiting updater, at the cost of one load.
class update_lock {
 public:
  void lock_shared() {
    if (updating_.load(std::memory_order_relaxed)) {
      const std::lock_guard behind(turn_);
    }
    readers_.lock_shared();
  }
  void unlock_shared() { readers_.unlock_shared(); }
  void lock() {
    turn_.lock();
    updating_.store(true, std::memory_order_relaxed);
    readers_.lock();
  }
  void unlock() {
    updating_.store(false, std::memory_order_relaxed);
    readers_.unlock();
    turn_.unlock();
  }

 private:
  std::mutex turn_;
  std::shared_mutex readers_;
  std::atomic<bool> updating_{false};
};

}  // namespace bcsc::core
