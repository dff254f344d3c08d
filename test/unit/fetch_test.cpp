#include "bcsc/fetch.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <ostream>
#include <stdexcept>
#include <string>

#include "bcsc/error.hpp"
#include "test/support/code_of.hpp"

// What needs no server; the rest is test/fetch/fetch_test.py.
namespace {

namespace fs = std::filesystem;
namespace suitesparse = bcsc::suitesparse;
using bcsc::test::code_of;
using suitesparse::fetch_options;

class fetching : public testing::Test {
 protected:
  fetching() {
    std::string name = testing::TempDir() + "bcsc-fetch-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
    cache = name;
  }
  ~fetching() override { fs::remove_all(cache); }
  /// Nothing answers on port 9 of this machine.
  fetch_options options() const {
    return {.url = "http://127.0.0.1:9", .cache = cache, .retries = 0, .retry_delay_seconds = 0.01};
  }
  bool cache_is_untouched() const { return fs::is_empty(cache); }
  fs::path cache;
};

TEST_F(fetching, says_where_the_file_will_be) {
  const auto path = suitesparse::cached_path(suitesparse::find("bcsstk16"), "/some/where");
  EXPECT_EQ(path, fs::path("/some/where/HB/bcsstk16.tar.gz"));
}

TEST_F(fetching, can_be_cancelled_before_anything_happens) {
  if (const std::string why = suitesparse::why_not_fetch(); !why.empty()) GTEST_SKIP() << why;
  int calls = 0;
  fetch_options chosen = options();
  chosen.progress = [&](std::int64_t, std::int64_t) { return ++calls < 0; };
  EXPECT_EQ(code_of([&] { suitesparse::fetch("bcsstk16", chosen); }), bcsc::errc::cancelled);
  EXPECT_EQ(calls, 1);
}

TEST_F(fetching, can_be_cancelled_while_it_waits_for_the_next_attempt) {
  if (const std::string why = suitesparse::why_not_fetch(); !why.empty()) GTEST_SKIP() << why;
  fetch_options chosen = options();
  chosen.retries = 1;
  chosen.retry_delay_seconds = 3600;
  bool waiting = false;
  chosen.log = [&](std::string_view text) { waiting = text.find("the next one in 30.0 s") != std::string_view::npos; };
  chosen.progress = [&](std::int64_t, std::int64_t) { return !waiting; };
  EXPECT_EQ(code_of([&] { suitesparse::fetch("bcsstk16", chosen); }), bcsc::errc::cancelled);
  EXPECT_TRUE(waiting) << "30 s is the longest wait";
}

TEST_F(fetching, passes_on_what_a_callback_throws) {
  if (const std::string why = suitesparse::why_not_fetch(); !why.empty()) GTEST_SKIP() << why;
  fetch_options chosen = options();
  chosen.progress = [](std::int64_t, std::int64_t) -> bool { throw std::runtime_error("enough"); };
  EXPECT_THROW(suitesparse::fetch("bcsstk16", chosen), std::runtime_error);
}

TEST_F(fetching, names_the_url_it_could_not_reach) {
  if (const std::string why = suitesparse::why_not_fetch(); !why.empty()) GTEST_SKIP() << why;
  try {
    suitesparse::fetch("bcsstk16", options());
    FAIL() << "no error";
  } catch (const bcsc::error& error) {
    EXPECT_EQ(error.code(), bcsc::errc::network_error);
    EXPECT_NE(std::string(error.what()).find("http://127.0.0.1:9/MM/HB/bcsstk16.tar.gz"), std::string::npos);
  }
  for (const auto& left : fs::recursive_directory_iterator(cache)) EXPECT_TRUE(left.is_directory()) << left.path();
}

struct refused_option {
  const char* name;
  std::function<void(fetch_options&)> set;
};
void PrintTo(const refused_option& c, std::ostream* out) { *out << c.name; }

class refused : public fetching, public testing::WithParamInterface<refused_option> {};

TEST_P(refused, before_anything_is_touched) {
  fetch_options chosen = options();
  GetParam().set(chosen);
  EXPECT_EQ(code_of([&] { suitesparse::fetch("bcsstk16", chosen); }), bcsc::errc::invalid_argument);
  EXPECT_TRUE(cache_is_untouched());
}

INSTANTIATE_TEST_SUITE_P(
    options, refused,
    testing::Values(refused_option{"retries", [](auto& o) { o.retries = -1; }},
                    refused_option{"no_timeout", [](auto& o) { o.timeout_seconds = 0; }},
                    refused_option{"endless_timeout",
                                   [](auto& o) { o.timeout_seconds = std::numeric_limits<double>::infinity(); }},
                    refused_option{"timeout_nan", [](auto& o) { o.timeout_seconds = std::nan(""); }},
                    refused_option{"retry_delay", [](auto& o) { o.retry_delay_seconds = -1; }},
                    refused_option{"retry_delay_nan", [](auto& o) { o.retry_delay_seconds = std::nan(""); }},
                    refused_option{"max_bytes", [](auto& o) { o.max_bytes = -1; }},
                    refused_option{"url", [](auto& o) { o.url = "ftp://127.0.0.1"; }},
                    refused_option{"url_line", [](auto& o) { o.url = "http://127.0.0.1/\nend"; }},
                    refused_option{"short_sum", [](auto& o) { o.sha256 = std::string(63, '0'); }},
                    refused_option{"long_sum", [](auto& o) { o.sha256 = std::string(65, '0'); }},
                    refused_option{"no_sum", [](auto& o) { o.sha256 = std::string(64, 'x'); }}),
    [](const auto& info) { return info.param.name; });

TEST_F(fetching, refuses_names_that_mean_no_matrix) {
  EXPECT_EQ(code_of([&] { suitesparse::fetch("no-such-matrix", options()); }), bcsc::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { suitesparse::fetch("barth", options()); }), bcsc::errc::invalid_argument);
  EXPECT_TRUE(cache_is_untouched());
}

}  // namespace
