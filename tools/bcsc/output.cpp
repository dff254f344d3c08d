#include "tools/bcsc/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bcsc/error.hpp"

namespace bcsc::cli {
namespace {

/// Width in a terminal: code points, not bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padding(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, width_of(text)), ' ');
}

/// The message, led by file and line if it does not name them itself.
std::string full_message(const std::exception& problem) {
  const std::string message = problem.what();
  const auto* typed = dynamic_cast<const error*>(&problem);
  if (typed == nullptr || typed->where().path.empty()) return message;
  const file_location& where = typed->where();
  if (message.find(where.path) != std::string::npos) return message;
  return where.line > 0 ? fmt::format("{}:{}: {}", where.path, where.line, message)
                        : fmt::format("{}: {}", where.path, message);
}

nlohmann::ordered_json describe(const std::exception& problem) {
  nlohmann::ordered_json described{{"code", "internal"}, {"message", full_message(problem)}};
  if (dynamic_cast<const std::bad_alloc*>(&problem) != nullptr) described["code"] = to_string(errc::out_of_memory);
  if (const auto* typed = dynamic_cast<const error*>(&problem)) {
    described["code"] = to_string(typed->code());
    if (!typed->where().path.empty()) described["path"] = typed->where().path;
    if (typed->where().line > 0) described["line"] = typed->where().line;
    if (typed->where().byte >= 0) described["byte"] = typed->where().byte;
  }
  return described;
}

/// Names of files need not be UTF-8; JSON must be.
std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// To stderr, if it takes it: work does not fail because nobody can be told how far it is.
void draw(std::string_view text) noexcept {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

void progress_bar::show(double done, std::string_view note) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  constexpr std::size_t cells = 30;
  const double share = std::isfinite(done) ? std::clamp(done, 0.0, 1.0) : 0.0;
  const auto filled = static_cast<std::size_t>(std::lround(share * cells));
  draw(fmt::format("\r\x1b[K{} [{}{}] {:3.0f}% {}", label_, std::string(filled, '#'), std::string(cells - filled, '.'),
                   100 * share, note));
}

void progress_bar::clear() noexcept {
  if (!drawn_) return;
  draw("\r\x1b[K");
  drawn_ = false;
}

progress_callback progress_bar::callback() {
  return [this](std::int64_t done, std::int64_t total) {
    show(total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0.0);
    return true;
  };
}

busy_note::busy_note(bool shown, std::string label) {
  if (shown) clock_ = std::thread([this, label = std::move(label)] { run(label); });
}

busy_note::~busy_note() {
  if (!clock_.joinable()) return;
  {
    const std::lock_guard guard(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  clock_.join();
}

void busy_note::run(const std::string& label) {
  std::unique_lock lock(mutex_);
  int seconds = 0;
  while (!ended_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; })) {
    draw(fmt::format("\r\x1b[K{} ... {} s", label, ++seconds));
  }
  if (seconds > 0) draw("\r\x1b[K");
}

output::output(const output_options& options) : options_(options), json_(nlohmann::ordered_json::object()) {}

void output::finish() const {
  if (options_.json) fmt::print("{}\n", dump(json_));
}

void output::fail(const std::exception& problem) const {
  fmt::print(stderr, "bcsc: error: {}\n",
             dynamic_cast<const std::bad_alloc*>(&problem) != nullptr ? "out of host memory" : full_message(problem));
  if (options_.json) fmt::print("{}\n", dump({{"error", describe(problem)}}));
}

progress_bar output::progress(std::string label) const {
  return {options_.progress || isatty(STDERR_FILENO) == 1, std::move(label)};
}

busy_note output::busy(std::string label) const {
  return {options_.progress || isatty(STDERR_FILENO) == 1, std::move(label)};
}

void table::print(const output& out) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  for (const auto& row : rows_) {
    std::string text = "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad = padding(row[i], widths[i]);
      text += i == 0 ? fmt::format("{}{}", row[i], pad) : fmt::format("  {}{}", pad, row[i]);
    }
    out.line("{}", text);
  }
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t sign = number < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > sign; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string as_bytes(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double scaled = static_cast<double>(bytes);
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; scaled >= 1024 && unit + 1 < std::size(units); ++unit) scaled /= 1024;
  return fmt::format("{:.1f} {}", scaled, units[unit]);
}

std::string as_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

}  // namespace bcsc::cli
