#pragma once

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bcsc/files.hpp"

namespace bcsc::cli {

/// Options that every command has.
struct output_options {
  bool json = false;
  bool progress = false;
};

/// A bar on stderr for long work, on one line of the terminal; removed when it is done. Silent unless stderr is a
/// terminal that can overwrite its lines, or it is asked for.
class progress_bar {
 public:
  progress_bar(bool shown, std::string label) : shown_(shown), label_(std::move(label)) {}
  ~progress_bar() { clear(); }
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// `done` in [0, 1]; `note` stands behind the bar, as far as there is room, and the time that is left before it.
  /// Drawn at most ten times a second, but always at first.
  void show(double done, std::string_view note = {});
  void clear() noexcept;
  /// For the library's own long operations; lives as long as the bar.
  progress_callback callback();

 private:
  bool shown_;
  bool drawn_ = false;
  std::string label_;
  std::chrono::steady_clock::time_point first_{}, last_{};
  double first_done_ = 0;
};

/// One line of a bar, of at most `width` columns: what does not fit is left out, the last first.
/// `seconds_left`: negative if it is not known.
std::string progress_line(std::string_view label, double done, double seconds_left, std::string_view note,
                          std::size_t width);

/// Says on stderr what is going on and for how long, if it takes more than a second and progress is shown: for work
/// whose length is not known.
class busy_note {
 public:
  busy_note(bool shown, std::string label);
  ~busy_note();
  busy_note(const busy_note&) = delete;
  busy_note& operator=(const busy_note&) = delete;

 private:
  void run(const std::string& label);

  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread clock_;
};

/// Standard output, and whether it has accepted everything written to it.
class checked_stdout {
 public:
  void put(std::string_view text) noexcept;
  /// Throws error{io_error} with the reason if something was not accepted.
  void require_taken();

 private:
  int failure_ = 0;  ///< errno of the first
};

/// What a command says: lines of text on stdout, or one JSON object there. Commands fill both, one is shown.
class output {
 public:
  explicit output(const output_options& options);

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) const {
    text(fmt::format(format, std::forward<Args>(args)...) + '\n');
  }
  void line() const { text("\n"); }
  /// A line that breaks between words where it is wider than stdout's terminal, and goes on behind `indent` columns.
  template <class... Args>
  void prose(std::size_t indent, fmt::format_string<Args...> format, Args&&... args) const {
    wrap(fmt::format(format, std::forward<Args>(args)...), indent);
  }
  void text(std::string_view said) const;
  /// For commands that write their file there: text goes to stderr. Throws error{invalid_argument} with --json.
  void leave_stdout_to_a_file();

  nlohmann::ordered_json& json() { return json_; }
  /// Prints the JSON object, if that is what is shown. Throws error{io_error} if stdout has not taken everything.
  void finish() const;
  /// Says on stderr what went wrong; with --json also as the one object {"error": ...} on stdout.
  void fail(const std::exception& problem) const;

  progress_bar progress(std::string label) const;
  busy_note busy(std::string label) const;

 private:
  void wrap(std::string_view said, std::size_t indent) const;

  output_options options_;
  nlohmann::ordered_json json_;
  bool stdout_is_a_file_ = false;
  mutable checked_stdout stdout_;
};

/// The width that text on stdout is wrapped to: COLUMNS, else the terminal's; nothing if stdout is not a terminal.
std::optional<std::size_t> stdout_width();

/// Columns of text: numbers are aligned to the right, words to the left.
class table {
 public:
  explicit table(std::vector<std::string> header) { add(std::move(header)); }
  /// As many cells as the header has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print(const output& out) const;
  /// Wrapped to `room` columns without splitting words or numbers: the last column's text wraps if that is enough, else
  /// every row, the header included, takes several lines.
  std::vector<std::string> lines(std::size_t room) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string as_seconds(double seconds);  ///< "3.21 ms"; of bytes and counts: core/memory.hpp

}  // namespace bcsc::cli
