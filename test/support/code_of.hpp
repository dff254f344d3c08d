#pragma once

#include <gtest/gtest.h>

#include "bcsc/error.hpp"

namespace bcsc::test {

/// The code of the error that `call` throws, errc::ok if none.
template <class Call>
errc code_of(Call call) {
  try {
    call();
    return errc::ok;
  } catch (const error& e) {
    EXPECT_STRNE(e.what(), "");
    return e.code();
  }
}

}  // namespace bcsc::test
