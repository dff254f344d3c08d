#include "tools/bcsc/output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

#include "bcsc/error.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "tools/bcsc/process.hpp"

namespace bcsc::cli {
namespace {

/// Width in a terminal: code points, not bytes.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padding(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, width_of(text)), ' ');
}

/// "1,234", "3.2 ms", "1.5x", "-", or nothing.
bool looks_like_a_number(std::string_view cell) {
  if (cell == "inf" || cell == "nan") return true;
  const std::size_t end = cell.find_first_not_of("+-.,0123456789e%x");
  return end == std::string_view::npos || (end > 0 && cell[end] == ' ');
}

/// Of a table, as it is shown.
struct table_column {
  std::size_t width = 0, begins = 0;
  bool is_numbers = true, begins_a_line = false;
};
using table_row = std::vector<std::string>;

/// As wide as what they hold; the first row is the header.
std::vector<table_column> columns_of(const std::vector<table_row>& rows) {
  std::vector<table_column> columns(rows.front().size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    table_column& column = columns[i];
    column.width = width_of(rows.front()[i]);
    for (const table_row& row : std::span(rows).subspan(1)) {
      column.width = std::max(column.width, width_of(row[i]));
      column.is_numbers = column.is_numbers && looks_like_a_number(row[i]);
    }
  }
  return columns;
}

/// Places columns side by side; one that does not fit starts a new, indented line.
void place(std::vector<table_column>& columns, std::size_t room) {
  constexpr std::size_t indent = 2, gap = 2;
  std::size_t at = indent;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].begins_a_line = i > 0 && at + columns[i].width > room;
    if (columns[i].begins_a_line) at = 2 * indent;
    columns[i].begins = at;
    at += columns[i].width + gap;
  }
}

/// Keeps a row on one line if wrapping the last column's text is enough, else spreads it over several.
void fit(std::vector<table_column>& columns, std::size_t room) {
  constexpr std::size_t enough_for_words = 16;
  place(columns, std::numeric_limits<std::size_t>::max());
  table_column& last = columns.back();
  if (last.begins + last.width <= room) return;
  if (last.is_numbers || last.begins + enough_for_words > room) place(columns, room);
  if (!last.is_numbers) last.width = std::min(last.width, room - std::min(room, last.begins));
}

/// Removes from the front of `text` the words that fit into `width`, at least one, and returns them.
std::string cut_off_words(std::string_view& text, std::size_t width) {
  std::size_t end = text.size();
  if (width_of(text) > width) {
    end = text.find(' ');
    for (std::size_t next = end; next != std::string_view::npos && width_of(text.substr(0, next)) <= width;) {
      end = next;
      next = text.find(' ', next + 1);
    }
    end = std::min(end, text.size());
  }
  std::string taken(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

void add_row(const table_row& row, const std::vector<table_column>& columns, std::vector<std::string>& lines) {
  std::string line;
  const auto end_line = [&] {
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::exchange(line, {}));
  };
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const table_column& column = columns[i];
    if (column.begins_a_line) end_line();
    std::string_view rest = row[i];
    while (true) {
      const std::string words = cut_off_words(rest, column.width);
      line += padding(line, column.begins);
      const std::string pad = padding(words, column.width);
      line += column.is_numbers ? pad + words : words + pad;
      if (rest.empty()) break;
      end_line();
    }
  }
  end_line();
}

/// What the library calls a member is an option here; members without one lose their class.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> option_names{
    {{"plan_options::cols", "--cols"},
     {"plan_options::expert.m_block", "--m-block"},
     {"plan_options::expert.kernel", "--kernel"},
     {"plan_options::batch", "--batch"},
     {"plan_options::transpose", "--transpose"},
     {"plan_options::b_layout", "--layout"},
     {"read_options::real_part", "--real-part"},
     {"read_options::member", "--member"},
     {"read_options::index_base", "--index-base"},
     {"read_options::format", "--from"},
     {"write_options::format", "--to"},
     {" from whose matrix transposed() multiplies", " for --no-copy"},
     {"correction: refine()", "--correction refine"},
     {"block ones take reliable()", "block ones take reliable"}}};

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

std::string in_options(std::string message) {
  for (const auto& [member, option] : option_names) {
    replace_all(message, member, option);
    replace_all(message, fmt::format("{0} ({0})", option), option);
  }
  for (const std::string_view type : {"plan_options::", "read_options::", "write_options::"}) {
    replace_all(message, type, "");
  }
  if (message.starts_with("tolerance = ")) message.insert(0, "--");  // the library refuses 1 and above
  return message;
}

/// The message, led by file and line if it does not name them itself.
std::string full_message(const std::exception& problem) {
  const std::string message =
      dynamic_cast<const std::bad_alloc*>(&problem) != nullptr
          ? fmt::format("out of host memory: {} are available", core::bytes_text(core::measure_memory().least()))
          : in_options(problem.what());
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

/// The first `width` columns of a text, the last one an ellipsis if more is left out.
std::string cut_to(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t columns = 0, at = 0;
  for (; at < text.size(); ++at) {
    const bool begins_character = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (begins_character && columns++ == width - 1) break;
  }
  return std::string(text.substr(0, at)) + "…";
}

/// Nothing if the stream is not a terminal.
std::optional<std::size_t> terminal_width(int stream) {
  winsize size{};
  if (::ioctl(stream, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

/// The width that progress has to fit.
std::size_t progress_width() {
  constexpr std::size_t usual = 80;
  return terminal_width(STDERR_FILENO).value_or(usual);
}

/// Whether a line on stderr can be drawn over.
bool is_overwritable() {
  if (isatty(STDERR_FILENO) != 1) return false;
  const char* const kind = std::getenv("TERM");
  return kind == nullptr || std::string_view(kind) != "dumb";
}

std::string as_time_left(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 100) return fmt::format("{} s left", whole);
  constexpr std::int64_t minute = 60, hour = 3600;
  if (whole < 2 * hour) return fmt::format("{} min left", (whole + minute - 1) / minute);
  return fmt::format("{} h left", (whole + hour - 1) / hour);
}

}  // namespace

void progress_bar::show(double done, std::string_view note) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && now - last_ < std::chrono::milliseconds(100)) return;
  const double share = std::isfinite(done) ? std::clamp(done, 0.0, 1.0) : 0.0;
  if (first_ == std::chrono::steady_clock::time_point{}) {
    first_ = now;
    first_done_ = share;
  }
  last_ = now;
  drawn_ = true;
  // An estimate from the first moments would only jump about.
  constexpr double settled_after = 1.0;
  const double elapsed = std::chrono::duration<double>(now - first_).count();
  const bool told = elapsed >= settled_after && share > first_done_;
  const double left = told ? elapsed * (1 - share) / (share - first_done_) : -1;
  tell("\r\x1b[K" + progress_line(label_, share, left, note, progress_width()));
}

std::string progress_line(std::string_view label, double done, double seconds_left, std::string_view note,
                          std::size_t width) {
  // A terminal that has its last column filled may go to the next line.
  const std::size_t room = width - std::min<std::size_t>(width, 1);
  std::string tail = fmt::format("{:3.0f}%", 100 * done);
  if (seconds_left >= 0) tail += ", " + as_time_left(seconds_left);
  constexpr std::size_t max_cells = 30, brackets = 4;
  const std::size_t least = width_of(label) + brackets + tail.size();
  // The bar gives way to the note, down to a third of it.
  const std::size_t wanted = least + max_cells + (note.empty() ? 0 : 1 + width_of(note));
  const std::size_t cells = least >= room
                                ? 0
                                : std::min({max_cells, room - least,
                                            max_cells - std::min(max_cells * 2 / 3, wanted - std::min(wanted, room))});
  std::string line(label);
  line += ' ';
  if (cells > 0) {
    const auto filled = static_cast<std::size_t>(std::lround(done * static_cast<double>(cells)));
    line += '[' + std::string(filled, '#') + std::string(cells - filled, '.') + "] ";
  }
  line += tail;
  if (!note.empty()) line.append(" ").append(note);
  return cut_to(line, room);
}

void progress_bar::clear() noexcept {
  if (!drawn_) return;
  tell("\r\x1b[K");
  drawn_ = false;
}

progress_callback progress_bar::callback() {
  return [this](std::int64_t done, std::int64_t total) {
    show(total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0.0);
    return interrupted() == 0;
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
    const std::string clock = fmt::format(" ... {} s", ++seconds);
    const std::size_t room = progress_width() - std::min(progress_width(), clock.size() + 1);
    tell("\r\x1b[K" + cut_to(label, room) + clock);
  }
  if (seconds > 0) tell("\r\x1b[K");
}

void checked_stdout::put(std::string_view text) noexcept {
  if (failure_ != 0) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) failure_ = errno != 0 ? errno : EIO;
}

void checked_stdout::require_taken() {
  errno = 0;
  if (failure_ == 0 && std::fflush(stdout) != 0) failure_ = errno != 0 ? errno : EIO;
  if (failure_ == 0) return;
  core::fail(errc::io_error, "standard output: cannot be written: {}", std::generic_category().message(failure_));
}

output::output(const output_options& options) : options_(options), json_(nlohmann::ordered_json::object()) {}

void output::text(std::string_view said) const {
  if (options_.json) return;
  if (stdout_is_a_file_) {
    tell(said);
  } else {
    stdout_.put(said);
  }
}

void output::wrap(std::string_view said, std::size_t indent) const {
  const std::size_t room = stdout_width().value_or(std::numeric_limits<std::size_t>::max());
  // The columns before the words stay, even though they are blank.
  const std::size_t begin = std::min(said.find_first_not_of(' '), said.size());
  std::string lead(said.substr(0, begin));
  for (std::string_view rest = said.substr(begin);; lead.assign(indent, ' ')) {
    line("{}{}", lead, cut_off_words(rest, room - std::min(room, lead.size())));
    if (rest.empty()) break;
  }
}

void output::leave_stdout_to_a_file() {
  if (options_.json) {
    core::fail(errc::invalid_argument, "--json: its object goes to standard output, and so does the file");
  }
  stdout_is_a_file_ = true;
}

void output::finish() const {
  if (options_.json) stdout_.put(dump(json_) + '\n');
  stdout_.require_taken();
}

void output::fail(const std::exception& problem) const {
  std::fflush(stdout);  // in a log of both streams the reason comes last
  tell(fmt::format("bcsc: error: {}\n", full_message(problem)));
  if (options_.json) stdout_.put(dump({{"error", describe(problem)}}) + '\n');
}

progress_bar output::progress(std::string label) const {
  return {options_.progress || is_overwritable(), std::move(label)};
}

busy_note output::busy(std::string label) const { return {options_.progress || is_overwritable(), std::move(label)}; }

std::optional<std::size_t> stdout_width() {
  const char* const told = std::getenv("COLUMNS");
  const std::string_view columns = told == nullptr ? "" : told;
  std::size_t width = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  return width > 0 ? std::optional(width) : terminal_width(STDOUT_FILENO);
}

std::vector<std::string> table::lines(std::size_t room) const {
  std::vector<table_column> columns = columns_of(rows_);
  fit(columns, room);
  std::vector<std::string> made;
  for (const auto& row : rows_) add_row(row, columns, made);
  return made;
}

void table::print(const output& out) const {
  for (const std::string& line : lines(stdout_width().value_or(std::numeric_limits<std::size_t>::max()))) {
    out.line("{}", line);
  }
}

std::string as_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

}  // namespace bcsc::cli
