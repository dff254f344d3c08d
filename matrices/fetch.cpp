#include "bcsc/fetch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "converters/files/archives.hpp"
#include "converters/files/location.hpp"
#include "converters/files/source.hpp"
#include "core/fail.hpp"
#include "core/format.hpp"
#include "matrices/fetch_cache.hpp"
#include "matrices/sha256.hpp"
#include "matrices/transfer.hpp"

namespace bcsc::suitesparse {
namespace fs = std::filesystem;
namespace {

// --- Options --------------------------------------------------------------------------------------------------------

std::string base_url(const fetch_options& options) {
  std::string url = options.url;
  if (const char* const named = std::getenv("BCSC_COLLECTION_URL"); url.empty() && named != nullptr) url = named;
  if (url.empty()) url = default_url;
  if (!url.starts_with("https://") && !url.starts_with("http://")) {
    core::fail(errc::invalid_argument, "url = \"{}\": must begin with https:// or http://", url);
  }
  // The URL becomes a line of a note; and no URL holds such characters unescaped.
  if (std::ranges::any_of(url, [](unsigned char c) { return c <= ' ' || c == 0x7f; })) {
    core::fail(errc::invalid_argument, "url = \"{}\": holds a blank or a control character", url);
  }
  while (url.ends_with('/')) url.pop_back();
  return url;
}

std::string demanded_sha256(const fetch_options& options) {
  constexpr std::size_t digits = 64;
  std::string sum = options.sha256;
  for (char& c : sum) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  if (sum.empty()) return sum;
  if (sum.size() != digits || sum.find_first_not_of("0123456789abcdef") != std::string::npos) {
    core::fail(errc::invalid_argument, "sha256 = \"{}\": must be 64 hexadecimal digits", options.sha256);
  }
  if (const std::string why = why_no_sha256(); !why.empty()) {
    core::fail(errc::unsupported, "sha256 = \"{}\": cannot be checked: {}", options.sha256, why);
  }
  return sum;
}

/// More than any Matrix Market file and its companions need.
std::int64_t reasonable_bytes(const entry& matrix) {
  constexpr std::int64_t always = std::int64_t{64} << 20, per_line = 128;
  return always + per_line * (matrix.nnz + matrix.explicit_zeros + matrix.rows + matrix.cols);
}

void require_options(const fetch_options& options) {
  constexpr double longest = 86400;
  const auto require_seconds = [&](double seconds, double least, const char* name) {
    if (!(seconds >= least && seconds <= longest)) {
      core::fail(errc::invalid_argument, "{} = {}: must lie between {} and {}", name, seconds, least, longest);
    }
  };
  require_seconds(options.timeout_seconds, 0.001, "timeout_seconds");
  require_seconds(options.retry_delay_seconds, 0, "retry_delay_seconds");
  if (options.retries < 0) core::fail(errc::invalid_argument, "retries = {}: must be at least 0", options.retries);
  if (options.max_bytes < 0)
    core::fail(errc::invalid_argument, "max_bytes = {}: must be at least 0", options.max_bytes);
}

/// What every step of one fetch needs to know.
struct job {
  const entry& matrix;
  const fetch_options& options;
  std::string url;
  std::string sha256;  ///< the one required, or empty
  std::int64_t max_bytes;

  void report(std::int64_t done, std::int64_t total) const {
    if (options.progress && !options.progress(done, std::max<std::int64_t>(total, 0))) {
      core::fail(errc::cancelled, "{}: fetching was cancelled", matrix.full_name());
    }
  }
  void log(const std::string& text) const {
    if (options.log) options.log(text);
  }
};

// --- Downloading ----------------------------------------------------------------------------------------------------

/// The file that a download appends to.
class part_file {
 public:
  part_file(const fs::path& path, std::int64_t offset) : path_(path.string()) {
    constexpr int read_write_by_umask = 0666;
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (offset == 0 ? O_TRUNC : O_APPEND);
    file_ = std::make_unique<files::descriptor>(::open(path.c_str(), flags, read_write_by_umask));
    if (file_->get() < 0) fail_io(errno);
  }
  void append(const char* from, std::size_t size) {
    while (size > 0) {
      const ssize_t written = ::write(file_->get(), from, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_io(errno);
      from += written;
      size -= static_cast<std::size_t>(written);
    }
  }
  void close() {
    if (const int number = file_->close(); number != 0) fail_io(number);
  }

 private:
  [[noreturn]] void fail_io(int number) const {
    files::fail_at({.path = path_}, errc::io_error, "cannot be written: {}", std::generic_category().message(number));
  }
  std::string path_;
  std::unique_ptr<files::descriptor> file_;
};

/// Why an attempt failed, and whether the next one may fare better.
struct failure {
  std::string why;
  bool hopeless = false;
  double wait_seconds = 0;  ///< as the server asks
};

/// A strong ETag, else the date; a weak ETag does not promise equal bytes (RFC 9110, 13.1.5).
std::string validator_of(const response_head& head) {
  return head.etag.empty() || head.etag.starts_with("W/") ? head.last_modified : head.etag;
}

/// Downloads the archive into the slot's partial file, in as many attempts as it takes and is allowed.
class download {
 public:
  download(const job& task, const cache_slot& slot) : job_(task), slot_(slot) {}

  /// Returns when the partial file is as long as the server said.
  void run() {
    while (const auto failed = attempt()) after(*failed);
  }
  /// Whether to download everything again, since the bytes are no archive. What was pieced together from several
  /// answers may come from two files, and a file that is too short may have been cut off without a trace.
  bool may_start_over(const error& bad) {
    const bool was_pieced = std::exchange(resumed_at_, 0) > 0;
    slot_.discard_partial();
    best_ = std::max(best_, received_);  // loading these bytes again is no progress
    if (!was_pieced && bad.code() != errc::truncated) return false;
    after({.why = bad.what()});
    return true;
  }
  int attempts() const { return attempts_; }
  std::int64_t resumed_at() const { return resumed_at_; }

 private:
  std::optional<failure> attempt() {
    const resume_point from = slot_.resume(job_.url);
    resumed_at_ = std::max(resumed_at_, from.offset);
    received_ = from.offset;
    if (from.offset > 0 && from.offset == from.total) return std::nullopt;
    ++attempts_;
    total_ = from.total;
    file_.reset();
    job_.report(received_, total_);
    const transfer_outcome outcome = transfer({.url = job_.url,
                                               .offset = from.offset,
                                               .validator = from.validator,
                                               .timeout_seconds = job_.options.timeout_seconds,
                                               .ca_file = job_.options.ca_file},
                                              {.begin = [&](const response_head& head) { begin(head, from); },
                                               .body = [&](const char* bytes, std::size_t size) { take(bytes, size); },
                                               .idle = [&] { job_.report(received_, total_); }});
    if (file_) file_->close();
    return judge(outcome);
  }

  /// A 200 is the file from its start; a 206 continues where we stopped, if it is still the same file.
  void begin(const response_head& head, const resume_point& from) {
    const bool is_rest = head.status == 206;
    if (is_rest && !continues(head, from)) return;  // no file to write to: judge() sees that
    const std::int64_t offset = is_rest ? from.offset : 0;
    if (!is_rest) total_ = head.content_length;
    if (is_rest && total_ < 0) total_ = head.range->total;
    if (total_ > job_.max_bytes) refuse_size(total_);
    require_room(total_ - offset);
    if (!is_rest) {
      slot_.start_over({.url = job_.url, .validator = validator_of(head), .total = total_});
      resumed_at_ = 0;
    }
    file_ = std::make_unique<part_file>(slot_.part(), offset);
    received_ = offset;
  }

  bool continues(const response_head& head, const resume_point& from) const {
    if (from.offset == 0 || !head.range || head.range->first != from.offset) return false;
    if (from.total >= 0 && head.range->total >= 0 && head.range->total != from.total) return false;
    const std::string& same_kind = from.validator.starts_with('"') ? head.etag : head.last_modified;
    return same_kind.empty() || same_kind == from.validator;
  }

  void take(const char* bytes, std::size_t size) {
    if (!file_) return;
    if (static_cast<std::int64_t>(size) > job_.max_bytes - received_) {
      slot_.discard_partial();
      refuse_size(-1);
    }
    file_->append(bytes, size);
    received_ += static_cast<std::int64_t>(size);
    job_.report(received_, total_);
  }

  std::optional<failure> judge(const transfer_outcome& outcome) {
    const response_head& head = outcome.head;
    if (!outcome.problem.empty()) return failure{outcome.problem, outcome.hopeless, head.retry_after_seconds};
    if (head.status == 206 && !file_) {
      slot_.discard_partial();
      return failure{"the server went on with another file, or elsewhere in it"};
    }
    if (head.status == 416) {
      slot_.discard_partial();
      return failure{"HTTP status 416: the file has become shorter"};
    }
    if (head.status != 200 && head.status != 206) {
      const auto again = {408L, 425L, 429L, 500L, 502L, 503L, 504L};
      const bool hopeless = std::find(again.begin(), again.end(), head.status) == again.end();
      return failure{core::format("HTTP status {}", head.status), hopeless, head.retry_after_seconds};
    }
    if (total_ >= 0 && received_ != total_) {
      return failure{core::format("{} of {} bytes came", received_, total_)};
    }
    return std::nullopt;
  }

  /// Throws if there are to be no more attempts; else waits until it is time for the next.
  void after(const failure& failed) {
    constexpr std::int64_t worth_an_attempt = std::int64_t{1} << 20;
    constexpr double longest_delay = 30, longest_wish = 120;
    const bool got_ahead = received_ >= best_ + worth_an_attempt;
    best_ = std::max(best_, received_);
    failures_ = got_ahead ? 1 : failures_ + 1;
    if (failed.hopeless || failures_ > job_.options.retries) {
      if (slot_.resume(job_.url).offset == 0) slot_.discard_partial();  // of no use to anyone
      core::fail(errc::network_error, "{}: {}{}", job_.url, failed.why,
                 attempts_ > 1 ? core::format(" (attempt {})", attempts_) : "");
    }
    const double own =
        std::min(longest_delay, job_.options.retry_delay_seconds * std::ldexp(1.0, std::min(failures_ - 1, 16)));
    const double seconds = std::max(own, std::min(failed.wait_seconds, longest_wish));
    job_.log(core::format("{}: attempt {} failed: {}; the next one in {:.1f} s", job_.matrix.full_name(), attempts_,
                          failed.why, seconds));
    pause(seconds);
  }

  void pause(double seconds) const {
    using clock = std::chrono::steady_clock;
    constexpr clock::duration slice = std::chrono::milliseconds(100);
    const auto end = clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
    for (auto left = end - clock::now(); left > clock::duration::zero(); left = end - clock::now()) {
      std::this_thread::sleep_for(std::min(left, slice));
      job_.report(received_, total_);
    }
  }

  void require_room(std::int64_t bytes) const {
    std::error_code unknown;
    const fs::space_info space = fs::space(slot_.part().parent_path(), unknown);
    if (unknown || bytes <= 0 || static_cast<std::uintmax_t>(bytes) <= space.available) return;
    files::fail_at({.path = slot_.part().string()}, errc::io_error, "{} more bytes are to come, there is room for {}",
                   bytes, space.available);
  }
  [[noreturn]] void refuse_size(std::int64_t announced) const {
    core::fail(errc::network_error, "{}: {} than max_bytes = {}", job_.url,
               announced >= 0 ? core::format("{} bytes are announced, more", announced) : "more bytes come",
               job_.max_bytes);
  }

  const job& job_;
  const cache_slot& slot_;
  std::unique_ptr<part_file> file_;
  std::int64_t received_ = 0;    ///< bytes of the archive loaded so far
  std::int64_t total_ = -1;      ///< of the archive; -1 if unknown
  std::int64_t best_ = 0;        ///< the most that any attempt reached
  std::int64_t resumed_at_ = 0;  ///< last offset at which an answer was appended to earlier bytes
  int attempts_ = 0, failures_ = 0;
};

// --- Verifying ------------------------------------------------------------------------------------------------------

/// Bounds on the number of entries of the whole matrix, according to its file's header.
range expanded_entries(const file_info& told) {
  const std::int64_t stored = told.stored_entries;
  if (told.symmetry == file_symmetry::general) return {stored, stored};
  const std::int64_t on_diagonal =
      told.symmetry == file_symmetry::skew_symmetric ? 0 : std::min(told.rows, told.stored_entries);
  return {2 * stored - on_diagonal, 2 * stored};
}

/// Requires the sizes in the file's header to be the catalogue's. Its zeros may be stored or not.
void require_catalogued(const file_info& told, const job& task) {
  const entry& known = task.matrix;
  const range entries = expanded_entries(told);
  const bool same = told.rows == known.rows && told.cols == known.cols && entries.most >= known.nnz &&
                    entries.least <= known.nnz + known.explicit_zeros;
  if (same) return;
  core::fail(errc::size_mismatch,
             "{}: what was loaded is {} x {} with {} stored entries, and by the catalogue it should be {} x {} with {} "
             "non-zeros (if it has changed since: give the SHA-256 it should have)",
             task.url, told.rows, told.cols, told.stored_entries, known.rows, known.cols, known.nnz);
}

/// Decompresses all of it and checks gzip's own checksums, the limits, and that it is the archive of this matrix.
/// Throws what the source throws, error{corrupt_compression} if it is not gzip, error{parse_error} for another archive,
/// error{size_mismatch} for another matrix.
void require_archive(const fs::path& path, const job& task) {
  const auto fail = [&](errc code, const std::string& what) {
    core::fail(code, "{}: what was loaded {}", task.url, what);
  };
  read_options options{.member = core::format("{0}/{0}.mtx", task.matrix.name), .real_part = true};
  options.max_expanded_bytes = std::max(options.max_expanded_bytes, reasonable_bytes(task.matrix));
  options.progress = task.options.progress;
  try {
    files::source content(path, options);
    if (!content.compressed()) {
      const std::string_view head = content.head();
      fail(errc::corrupt_compression,
           head.empty() ? "is empty" : core::format("is not a gzip file: it begins with {}", files::quoted(head)));
    }
    if (content.member().empty()) fail(errc::parse_error, "is no tar archive");
    std::vector<char> chunk(std::size_t{256} << 10);
    while (content.read(chunk.data(), chunk.size()) > 0) {
    }
  } catch (const error& bad) {
    if (bad.code() != errc::invalid_argument) throw;
    fail(errc::parse_error, core::format("is another archive: {}", bad.what()));  // it holds no such member
  }
  // A checksum that the caller gives is trusted more than the catalogue.
  options.progress = nullptr;
  if (task.sha256.empty()) require_catalogued(read_file_info(path, options), task);
}

void require_sha256(const std::string& found, const std::string& wanted, const fs::path& path,
                    const std::string& whose) {
  if (wanted.empty() || found.empty() || found == wanted) return;
  core::fail(errc::checksum_mismatch, "{}: its SHA-256 is {}, {} {}", path.string(), found, whose, wanted);
}

std::int64_t bytes_of(const fs::path& path) {
  std::error_code result;
  const auto size = fs::file_size(path, result);
  if (result) files::fail_at({.path = path.string()}, errc::io_error, "cannot be examined: {}", result.message());
  return static_cast<std::int64_t>(size);
}

// --- The whole ------------------------------------------------------------------------------------------------------

fetched from_cache(const job& task, const cache_slot& slot) {
  const std::string recorded = slot.recorded_sha256(), sum = sha256_of(slot.archive());
  require_sha256(sum, task.sha256, slot.archive(), "demanded is");
  require_sha256(sum, recorded, slot.archive(),
                 "it has changed in the cache (to load it again: `again`, or --again); recorded is");
  // Without a checksum to compare with, gzip's own must do.
  if (recorded.empty() || sum.empty()) require_archive(slot.archive(), task);
  if (recorded.empty() && !sum.empty()) {
    try {
      slot.record_sha256(sum);
    } catch (const error& problem) {  // a read-only cache is as good as any
      task.log(core::format("{}: its SHA-256 is not recorded: {}", task.matrix.full_name(), problem.what()));
    }
  }
  return {.path = slot.archive(), .bytes = bytes_of(slot.archive()), .sha256 = sum, .from_cache = true};
}

fetched from_network(const job& task, const cache_slot& slot) {
  if (const std::string why = why_not_fetch(); !why.empty()) {
    core::fail(errc::unsupported, "{} is not in the cache ({}) and cannot be loaded: {}", task.matrix.full_name(),
               slot.archive().string(), why);
  }
  download loading(task, slot);
  for (bool whole = false; !whole;) {
    loading.run();
    try {
      require_archive(slot.part(), task);
      whole = true;
    } catch (const error& bad) {
      if (bad.code() == errc::cancelled || !loading.may_start_over(bad)) throw;
    }
  }

  const std::string recorded = slot.recorded_sha256(), sum = sha256_of(slot.part());
  try {
    require_sha256(sum, task.sha256, slot.part(), "demanded is");
    require_sha256(
        sum, recorded, slot.part(),
        core::format("so the server's file is not that of the first fetch (to accept it, remove {}); recorded is",
                     slot.record().string()));
  } catch (const error&) {
    slot.discard_partial();
    throw;
  }
  if (recorded.empty() && !sum.empty()) slot.record_sha256(sum);
  slot.keep();
  return {.path = slot.archive(),
          .bytes = bytes_of(slot.archive()),
          .sha256 = sum,
          .resumed_at = loading.resumed_at(),
          .attempts = loading.attempts()};
}

}  // namespace

std::string why_not_fetch() {
  const std::string missing = files::why_no_archives();
  return missing.empty() ? why_no_transfer() : missing + ", so what came could not be checked";
}

fetched fetch(const entry& matrix, const fetch_options& options) {
  require_options(options);
  const job task{.matrix = matrix,
                 .options = options,
                 .url = core::format("{}/MM/{}/{}.tar.gz", base_url(options), matrix.group, matrix.name),
                 .sha256 = demanded_sha256(options),
                 .max_bytes = options.max_bytes > 0 ? options.max_bytes : reasonable_bytes(matrix)};
  const cache_slot slot(matrix, options.cache.empty() ? cache_folder() : options.cache);
  const auto is_there = [&] { return !options.again && fs::exists(slot.archive()); };
  if (is_there()) return from_cache(task, slot);
  bool waiting = false;
  const file_lock alone(slot.lock(), [&] {
    if (!std::exchange(waiting, true)) task.log(matrix.full_name() + ": waiting for another process that fetches it");
    task.report(0, 0);
  });
  return is_there() ? from_cache(task, slot) : from_network(task, slot);
}

fetched fetch(std::string_view name, const fetch_options& options) { return fetch(find(name), options); }

}  // namespace bcsc::suitesparse
