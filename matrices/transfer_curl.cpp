#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <exception>
#include <memory>
#include <vector>

#include "bcsc/version.hpp"
#include "core/fail.hpp"
#include "core/format.hpp"
#include "core/run_time_library.hpp"
#include "matrices/transfer.hpp"

namespace bcsc::suitesparse {
namespace {

/// The functions of libcurl that are used here.
struct libcurl {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_easy_setopt) easy_setopt = nullptr;
  decltype(&curl_easy_perform) easy_perform = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
  std::string why_not;

  libcurl() {
    core::run_time_library library("libcurl.so.4");
    library.bind(global_init, "curl_global_init");
    library.bind(easy_init, "curl_easy_init");
    library.bind(easy_cleanup, "curl_easy_cleanup");
    library.bind(easy_setopt, "curl_easy_setopt");
    library.bind(easy_perform, "curl_easy_perform");
    library.bind(easy_strerror, "curl_easy_strerror");
    library.bind(slist_append, "curl_slist_append");
    library.bind(slist_free_all, "curl_slist_free_all");
    why_not = library.why_not();
    if (why_not.empty() && global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) why_not = "libcurl cannot be initialised";
  }
};

const libcurl& curl() {
  static const libcurl loaded;
  return loaded;
}

// --- Headers --------------------------------------------------------------------------------------------------------

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// A number of bytes, or -1.
std::int64_t count_of(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), count);
  return status == std::errc{} && end == text.data() + text.size() && count >= 0 ? count : -1;
}

/// "bytes 100-199/200", "bytes 100-199/*", "bytes */200".
std::optional<content_range> range_of(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text = trimmed(text.substr(6));
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return content_range{count_of(text.substr(0, std::min(text.find('-'), slash))), count_of(text.substr(slash + 1))};
}

bool is_name(std::string_view given, std::string_view lower_case) {
  return std::ranges::equal(given, lower_case, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

void take_header(response_head& head, std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon), value = trimmed(line.substr(colon + 1));
  if (is_name(name, "content-length")) head.content_length = count_of(value);
  if (is_name(name, "content-range")) head.range = range_of(value);
  if (is_name(name, "etag")) head.etag = value;
  if (is_name(name, "last-modified")) head.last_modified = value;
  if (is_name(name, "retry-after"))
    head.retry_after_seconds = static_cast<double>(std::max<std::int64_t>(count_of(value), 0));
}

/// "HTTP/1.1 200 OK": 200; every response of a chain of redirections begins with such a line.
std::optional<long> status_of(std::string_view line) {
  if (!line.starts_with("HTTP/")) return std::nullopt;
  const std::string_view code = trimmed(line.substr(std::min(line.find(' '), line.size())));
  return static_cast<long>(count_of(code.substr(0, code.find(' '))));
}

// --- One transfer ---------------------------------------------------------------------------------------------------

bool is_wanted(long status) { return status == 200 || status == 206; }

/// The state of libcurl's C callbacks. No exception may pass through them, so it is kept here.
struct running_transfer {
  const transfer_events& events;
  response_head head;
  bool begun = false;
  std::exception_ptr thrown;

  template <class Body>
  bool guarded(Body body) noexcept {
    try {
      body();
      return true;
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  }
  void begin_once() {
    if (begun || !is_wanted(head.status)) return;
    begun = true;
    events.begin(head);
  }
};

std::size_t on_header(char* text, std::size_t, std::size_t size, void* context) {
  auto& running = *static_cast<running_transfer*>(context);
  const bool good = running.guarded([&] {
    const std::string_view line(text, size);
    if (running.begun) return;  // a trailer
    if (const auto status = status_of(line)) {
      running.head = {.status = *status};
    } else {
      take_header(running.head, line);
    }
  });
  return good ? size : 0;
}

std::size_t on_body(char* bytes, std::size_t, std::size_t size, void* context) {
  auto& running = *static_cast<running_transfer*>(context);
  if (!is_wanted(running.head.status)) return 0;  // the body of a refusal: its status is enough
  const bool good = running.guarded([&] {
    running.begin_once();
    running.events.body(bytes, size);
  });
  return good ? size : 0;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& running = *static_cast<running_transfer*>(context);
  return running.guarded([&] { running.events.idle(); }) ? 0 : 1;
}

/// Failures that no further attempt would mend.
bool is_hopeless(CURLcode code) {
  constexpr std::array codes{
      CURLE_UNSUPPORTED_PROTOCOL, CURLE_FAILED_INIT,    CURLE_URL_MALFORMAT,   CURLE_OUT_OF_MEMORY,
      CURLE_TOO_MANY_REDIRECTS,   CURLE_UNKNOWN_OPTION, CURLE_SSL_CERTPROBLEM, CURLE_PEER_FAILED_VERIFICATION,
      CURLE_SSL_CACERT_BADFILE,   CURLE_NOT_BUILT_IN};
  return std::ranges::find(codes, code) != codes.end();
}

class easy_handle {
 public:
  easy_handle() : handle_(curl().easy_init(), curl().easy_cleanup), headers_(nullptr, curl().slist_free_all) {
    if (handle_ == nullptr) core::fail(errc::out_of_memory, "no memory for a transfer");
  }
  template <class Value>
  void set(CURLoption option, Value value) {
    const CURLcode code = curl().easy_setopt(handle_.get(), option, value);
    if (code != CURLE_OK) {
      core::fail(errc::network_error, "libcurl refuses its option {}: {}", static_cast<int>(option),
                 curl().easy_strerror(code));
    }
  }
  void add_header(const std::string& line) {
    curl_slist* const longer = curl().slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) core::fail(errc::out_of_memory, "no memory for a transfer");
    static_cast<void>(headers_.release());
    headers_.reset(longer);
    set(CURLOPT_HTTPHEADER, headers_.get());
  }
  CURLcode perform() { return curl().easy_perform(handle_.get()); }

 private:
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle_;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_;
};

void restrict_protocols(easy_handle& easy, bool encrypted) {
#if LIBCURL_VERSION_NUM >= 0x075500
  easy.set(CURLOPT_PROTOCOLS_STR, "http,https");
  easy.set(CURLOPT_REDIR_PROTOCOLS_STR, encrypted ? "https" : "http,https");
#else
  easy.set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  easy.set(CURLOPT_REDIR_PROTOCOLS, static_cast<long>(encrypted ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  easy.set(CURLOPT_SSL_VERIFYPEER, 1L);
  easy.set(CURLOPT_SSL_VERIFYHOST, 2L);
  easy.set(CURLOPT_FOLLOWLOCATION, 1L);
  easy.set(CURLOPT_MAXREDIRS, 5L);
}

}  // namespace

std::string why_no_transfer() { return curl().why_not; }

transfer_outcome transfer(const transfer_request& request, const transfer_events& events) {
  if (!curl().why_not.empty()) {
    core::fail(errc::unsupported, "{} cannot be loaded: {}", request.url, curl().why_not);
  }
  constexpr long min_bytes_per_second = 1024;
  running_transfer running{.events = events};
  std::array<char, CURL_ERROR_SIZE> message{};
  easy_handle easy;
  easy.set(CURLOPT_ERRORBUFFER, message.data());
  easy.set(CURLOPT_URL, request.url.c_str());
  easy.set(CURLOPT_USERAGENT, core::format("bcsc/{}", version).c_str());
  easy.set(CURLOPT_NOSIGNAL, 1L);
  restrict_protocols(easy, request.url.starts_with("https:"));
  if (!request.ca_file.empty()) easy.set(CURLOPT_CAINFO, request.ca_file.c_str());
  easy.set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::ceil(1000 * request.timeout_seconds)));
  easy.set(CURLOPT_LOW_SPEED_LIMIT, min_bytes_per_second);
  easy.set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(std::ceil(request.timeout_seconds))));
  if (request.offset > 0) {
    easy.set(CURLOPT_RANGE, core::format("{}-", request.offset).c_str());
    easy.add_header("If-Range: " + request.validator);
  }
  easy.set(CURLOPT_HEADERFUNCTION, &on_header);
  easy.set(CURLOPT_HEADERDATA, &running);
  easy.set(CURLOPT_WRITEFUNCTION, &on_body);
  easy.set(CURLOPT_WRITEDATA, &running);
  easy.set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  easy.set(CURLOPT_XFERINFODATA, &running);
  easy.set(CURLOPT_NOPROGRESS, 0L);

  const CURLcode code = easy.perform();
  if (running.thrown) std::rethrow_exception(running.thrown);
  if (code == CURLE_OK) running.begin_once();  // an empty body
  transfer_outcome outcome{.head = running.head};
  const bool refused = code == CURLE_WRITE_ERROR && !is_wanted(running.head.status);
  if (code != CURLE_OK && !refused) {
    outcome.problem = message[0] != '\0' ? message.data() : curl().easy_strerror(code);
    outcome.hopeless = is_hopeless(code);
  }
  return outcome;
}

}  // namespace bcsc::suitesparse
