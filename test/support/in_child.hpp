#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bcsc::test {

/// Whether `body` is true in a forked process, for what would spoil this one: limits, signals, other CPUs. One that
/// hangs is ended after 10 s.
template <class Body>
bool holds_in_child(const Body& body) {
  const pid_t child = ::fork();
  EXPECT_GE(child, 0);
  if (child < 0) return false;
  if (child == 0) {
    ::alarm(10);
    ::_exit(body() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace bcsc::test
