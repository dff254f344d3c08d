#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// One HTTP request. What an answer means is decided in fetch.cpp; how it travels is libcurl's business.
namespace bcsc::suitesparse {

struct transfer_request {
  std::string url;          ///< http or https; redirections from https to http are not followed
  std::int64_t offset = 0;  ///< only the bytes from here on ...
  std::string validator;    ///< ... if the file still has this ETag or date (If-Range), else all of it
  double timeout_seconds = 60;
  std::string ca_file;  ///< empty: libcurl's own choice
};

/// "Content-Range: bytes first-last/total"; -1 for what is not given.
struct content_range {
  std::int64_t first = -1, total = -1;
};

/// The head of the final answer, after all redirections.
struct response_head {
  long status = 0;
  std::int64_t content_length = -1;
  std::optional<content_range> range;
  std::string etag, last_modified;
  double retry_after_seconds = 0;
};

/// The caller's callbacks. Whatever they throw ends the transfer and is passed on to the caller.
struct transfer_events {
  std::function<void(const response_head&)> begin;     ///< once, before the first byte of a 200 or 206
  std::function<void(const char*, std::size_t)> body;  ///< of a 200 or 206 only
  std::function<void()> idle;                          ///< about once a second or more often, whatever happens
};

struct transfer_outcome {
  response_head head;     ///< status 0 if no answer came
  std::string problem;    ///< why no complete answer came; empty if one did. The body of a refusal is not waited for
  bool hopeless = false;  ///< another attempt would fail the same way
};

/// Why transfers are unavailable. Empty if they are available.
std::string why_no_transfer();

/// Throws what an event throws; error{unsupported} if why_no_transfer().
transfer_outcome transfer(const transfer_request& request, const transfer_events& events);

}  // namespace bcsc::suitesparse
