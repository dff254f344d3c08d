#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/files/coo_assembly.hpp"
#include "converters/files/line_blocks.hpp"
#include "converters/files/line_reader.hpp"
#include "converters/files/matrix_market_header.hpp"
#include "converters/files/matrix_market_lines.hpp"
#include "converters/files/matrix_market_read.hpp"
#include "converters/files/pattern_values.hpp"
#include "converters/files/scan.hpp"
#include "converters/files/scan_line.hpp"
#include "converters/formats/parallel.hpp"

/// The entries of a Matrix Market file. One thread at a time fetches (and inflates) a chunk of lines, then parses it
/// while others fetch theirs; one at a time takes over parsed chunks, in the file's order. A thread waits only if
/// another is far behind. A chunk is parsed without knowing what precedes it; if something is wrong with it, or it does
/// not fit the chunks before, it is read again line by line, which finds the right message and place.
namespace bcsc::files::matrix_market {

/// Memory for what a chunk holds, kept from chunk to chunk.
template <class Element>
class scratch {
 public:
  Element* reserve(std::size_t size) {
    if (size > capacity_) {
      memory_ = std::make_unique_for_overwrite<Element[]>(size);
      capacity_ = size;
    }
    return memory_.get();
  }
  const Element* data() const { return memory_.get(); }

 private:
  std::unique_ptr<Element[]> memory_;
  std::size_t capacity_ = 0;
};

/// Lines, and what was read from them.
template <value T, index I>
struct chunk {
  byte_block memory;
  line_block block;
  bool is_read = false;

  scratch<I> row, col;  ///< of an array: none
  scratch<T> values;
  std::int64_t num_entries = 0, num_lines = 0;
  std::uint8_t triangles = no_triangle;
  bool ordered = true;  ///< sorted by row, then column, no two at the same place
  bool faulty = false;  ///< a line is refused, whatever stands before the chunk
};

/// The bytes that the shortest line of an entry takes, its end included.
inline std::int64_t min_line(const file_info& info) {
  return info.array ? 2 : info.field == file_field::pattern ? 4 : 6;
}

/// The common form of a line, read without looking back; false for any other, which need not be wrong.
/// On success `at` is past the line's end, otherwise anywhere.
template <value T>
bool take_plain_line(const file_info& info, const char*& at, stored_entry<T>& entry, T& imaginary) {
  const auto skip_blanks = [&at] {
    const char* const from = at;
    while (*at == ' ' || *at == '\t') ++at;
    return at != from;
  };
  const char* const line = at;
  skip_blanks();
  if (!info.array) {
    if (!scan::take_natural(at, entry.row) || !skip_blanks() || !scan::take_natural(at, entry.col)) return false;
    // Taken as unsigned, one below the first index is beyond the last.
    const auto within = [](std::int64_t& i, std::int64_t n) {
      return static_cast<std::uint64_t>(--i) < static_cast<std::uint64_t>(n);
    };
    if (!within(entry.row, info.rows) || !within(entry.col, info.cols)) return false;
    if (info.field != file_field::pattern && !skip_blanks()) return false;
  }
  switch (info.field) {
    case file_field::real:
      if (!scan::take_real(at, entry.value)) return false;
      break;
    case file_field::integer: {
      std::int64_t integer = 0;
      if (!scan::take_integer(at, integer)) return false;
      entry.value = static_cast<T>(integer);
      break;
    }
    case file_field::complex:
      if (!scan::take_real(at, entry.value) || !skip_blanks() || !scan::take_real(at, imaginary)) return false;
      break;
    case file_field::pattern:
      break;
  }
  while (*at == ' ' || *at == '\t' || *at == '\r') ++at;
  return *at++ == '\n' && static_cast<std::size_t>(at - line) <= line_reader::max_line;
}

/// The same for the usual form: real coordinates, `row column value` and nothing else on the line.
template <value T>
[[gnu::always_inline]] inline bool take_usual_line(const file_info& info, const char*& line, stored_entry<T>& entry) {
#if BCSC_SCAN_LINES
  const char* at = line;  // in a register: `line` may be reached from elsewhere
  std::int64_t row = 0, col = 0;
  T value{};
  if (!scan::take_short_place(at, row, col)) return false;
  const bool inside = (static_cast<std::uint64_t>(row - 1) < static_cast<std::uint64_t>(info.rows)) &
                      (static_cast<std::uint64_t>(col - 1) < static_cast<std::uint64_t>(info.cols));
  if (!inside || !scan::take_short_real(at, value) || *at != '\n') return false;
  entry = {row - 1, col - 1, value};
  line = at + 1;
  return true;
#else
  (void)info, (void)line, (void)entry;
  return false;
#endif
}

/// Reads a chunk's text into its arrays.
template <value T, index I>
void read_chunk(const file_info& info, const std::string& path, chunk<T, I>& c) {
  const std::size_t most = c.block.text.size() / static_cast<std::size_t>(min_line(info)) + 1;
  T* const values = c.values.reserve(most);
  I* const rows = info.array ? nullptr : c.row.reserve(most);
  I* const cols = info.array ? nullptr : c.col.reserve(most);
  const bool structured = !info.array && info.symmetry != file_symmetry::general;
  const bool usual = !info.array && info.field == file_field::real;

  const char *at = c.block.text.data(), *const end = at + c.block.text.size();
  std::int64_t num_entries = 0, num_lines = 0;
  std::uint8_t triangles = no_triangle;
  bool ordered = true;
  c.faulty = false;
  stored_entry<T> entry{};
  std::int64_t last_row = -1, last_col = -1;
  while (at < end) {
    const char* const line = at;
    ++num_lines;
    T imaginary{0};
    bool plain = (usual && take_usual_line(info, at, entry)) || take_plain_line(info, at, entry, imaginary);
    // The rules of the diagonal are left to entry_lines.
    if (plain && structured) plain = entry.row != entry.col || info.symmetry == file_symmetry::symmetric;
    if (!plain) {
      const void* const newline = std::memchr(line, '\n', static_cast<std::size_t>(end - line));
      const char* const line_end = newline != nullptr ? static_cast<const char*>(newline) : end;
      at = newline != nullptr ? line_end + 1 : end;
      entry = {};
      try {
        entry_lines lines(info, path, 0, 0, no_triangle);
        const std::string_view text(line, static_cast<std::size_t>(line_end - line));
        if (!lines.take(text, c.block.unterminated && at == end, entry)) continue;
      } catch (const error&) {
        c.faulty = true;
        break;
      }
    }
    if (structured) triangles |= entry.row > entry.col ? lower : entry.row < entry.col ? upper : no_triangle;
    values[num_entries] = entry.value;
    if (!info.array) {
      rows[num_entries] = static_cast<I>(entry.row);
      cols[num_entries] = static_cast<I>(entry.col);
      // No branches: the ends of rows are unpredictable.
      ordered &= (entry.row > last_row) | ((entry.row == last_row) & (entry.col > last_col));
      last_row = entry.row;
      last_col = entry.col;
    }
    ++num_entries;
  }
  c.num_entries = num_entries;
  c.num_lines = num_lines;
  c.triangles = triangles;
  c.ordered = ordered;
}

/// Reads what follows the sizes, to the end of the file.
template <value T, index I>
class body_reader {
 public:
  body_reader(source& in, const line_reader& lines, const header& head, std::size_t chunk_bytes)
      : in_(in),
        info_(head.info),
        blocks_(in, lines.rest(), chunk_bytes),
        num_lines_(head.size_line),
        ring_(4 * num_threads(chunk_bytes)) {
    stored_.in = &in;
  }

  /// All of the file's entries, in its order; for an array only the values. Throws error with the line.
  stored_entries<T, I> read();

 private:
  /// As many threads as there are chunks, if the file is small.
  std::size_t num_threads(std::size_t chunk_bytes) const;
  void reserve_credible();

  /// What a thread does until the end: settles what is read, or else fetches a chunk and reads it. One thread at a time
  /// settles, in the order of the file, and one fetches.
  void work();
  bool can_settle() const { return !settling_ && num_settled_ < num_fetched_ && in_ring(num_settled_).is_read; }
  bool can_fetch() const { return !fetching_ && !at_end_ && num_fetched_ - num_settled_ < ring_.size(); }
  /// Both let go of the lock while they work.
  void settle_next(std::unique_lock<std::mutex>& lock);
  void fetch_and_read_next(std::unique_lock<std::mutex>& lock);

  void settle(const chunk<T, I>& c);
  void append(const chunk<T, I>& c);
  [[noreturn]] void refuse(const chunk<T, I>& c) const;

  chunk<T, I>& in_ring(std::size_t number) { return ring_[number % ring_.size()]; }
  const chunk<T, I>& in_ring(std::size_t number) const { return ring_[number % ring_.size()]; }

  source& in_;
  const file_info& info_;

  line_blocks blocks_;  ///< used by the thread that fetches

  std::int64_t num_lines_, num_entries_ = 0;  ///< of the chunks settled; these four belong to the thread that settles
  std::uint8_t triangles_ = no_triangle;
  stored_entries<T, I> stored_;

  std::mutex mutex_;  ///< guards what follows, except for the chunks that are being fetched, read or settled
  std::condition_variable changed_;
  std::vector<chunk<T, I>> ring_;
  std::size_t num_fetched_ = 0, num_settled_ = 0;
  bool fetching_ = false, settling_ = false, at_end_ = false;
  std::exception_ptr failure_;     ///< of what was settled: it comes first
  std::exception_ptr no_further_;  ///< why nothing more could be fetched
};

template <value T, index I>
std::size_t body_reader<T, I>::num_threads(std::size_t chunk_bytes) const {
  const auto most = static_cast<std::size_t>(converters::num_threads());
  if (in_.stored_bytes() == 0) return most;  // a pipe
  return std::min(most, static_cast<std::size_t>(in_.credible_bytes()) / std::max<std::size_t>(chunk_bytes, 1) + 1);
}

template <value T, index I>
void body_reader<T, I>::reserve_credible() {
  const std::int64_t bytes_each = info_.array ? sizeof(T) : stored_entries<T, I>::bytes_each;
  in_.require_memory(0, core::saturating_product(in_.holdable(info_.stored_entries, min_line(info_)), bytes_each),
                     core::format("the list of {} entries", info_.stored_entries),
                     {.path = in_.path(), .line = num_lines_});
  const std::int64_t entries = std::min(info_.stored_entries, in_.credible_bytes() / min_line(info_) + 1);
  make_room(stored_.values, static_cast<std::size_t>(entries));
  if (info_.array) return;
  make_room(stored_.row, static_cast<std::size_t>(entries));
  make_room(stored_.col, static_cast<std::size_t>(entries));
}

template <value T, index I>
stored_entries<T, I> body_reader<T, I>::read() {
  reserve_credible();
  const int threads = static_cast<int>(ring_.size() / 4);
#pragma omp parallel num_threads(threads) if (threads > 1)
  work();
  if (failure_) std::rethrow_exception(failure_);
  if (no_further_) std::rethrow_exception(no_further_);
  if (num_entries_ < info_.stored_entries) {
    fail_at({.path = in_.path(), .line = num_lines_ + 1}, errc::truncated, "the file ends after {} of {} entries",
            num_entries_, info_.stored_entries);
  }
  return std::move(stored_);
}

template <value T, index I>
void body_reader<T, I>::work() {
  std::unique_lock lock(mutex_);
  try {
    while (!failure_) {
      if (can_settle()) {
        settle_next(lock);
      } else if (can_fetch()) {
        fetch_and_read_next(lock);
      } else if (at_end_) {
        break;  // what is still being read is settled by the threads that read it
      } else {
        changed_.wait(lock);
        continue;
      }
      changed_.notify_all();
    }
  } catch (...) {
    // An exception must not leave a parallel region.
    if (!lock.owns_lock()) lock.lock();
    if (!failure_) failure_ = std::current_exception();
    changed_.notify_all();
  }
}

template <value T, index I>
void body_reader<T, I>::settle_next(std::unique_lock<std::mutex>& lock) {
  settling_ = true;
  lock.unlock();
  settle(in_ring(num_settled_));
  lock.lock();
  ++num_settled_;
  settling_ = false;
}

template <value T, index I>
void body_reader<T, I>::fetch_and_read_next(std::unique_lock<std::mutex>& lock) {
  chunk<T, I>& next = in_ring(num_fetched_);
  next.is_read = false;
  fetching_ = true;
  lock.unlock();
  bool fetched = false;
  std::exception_ptr failure;
  try {
    fetched = blocks_.next(next.memory, next.block);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  fetching_ = false;
  at_end_ = !fetched;
  no_further_ = failure;
  if (!fetched) return;
  ++num_fetched_;
  changed_.notify_all();
  lock.unlock();
  read_chunk(info_, in_.path(), next);
  lock.lock();
  next.is_read = true;
}

template <value T, index I>
void body_reader<T, I>::settle(const chunk<T, I>& c) {
  const bool too_many = c.num_entries > info_.stored_entries - num_entries_;
  const bool both_triangles = (triangles_ | c.triangles) == (lower | upper);
  if (c.faulty || too_many || both_triangles) refuse(c);
  append(c);
  num_lines_ += c.num_lines;
  num_entries_ += c.num_entries;
  triangles_ |= c.triangles;
}

template <value T, index I>
void body_reader<T, I>::append(const chunk<T, I>& c) {
  const std::size_t before = stored_.size(), count = static_cast<std::size_t>(c.num_entries);
  if (count == 0) return;
  if (const std::size_t room = stored_.values.capacity(); before + count > room) {
    stored_.require_memory(static_cast<std::int64_t>(before),
                           static_cast<std::int64_t>(std::max(before + count, 2 * room)));
  }
  const auto add = [&](auto& array, const auto* from) {
    make_room(array, before + count);
    array.insert(array.end(), from, from + count);
  };
  add(stored_.values, c.values.data());
  if (const auto& seed = in_.options().pattern_seed; seed && info_.field == file_field::pattern) {
    for (std::size_t k = before; k < stored_.size(); ++k) {
      stored_.values[k] = pattern_value<T>(*seed, static_cast<std::int64_t>(k));
    }
  }
  if (info_.array) return;
  const bool follows =
      before == 0 || std::pair(c.row.data()[0], c.col.data()[0]) > std::pair(stored_.row.back(), stored_.col.back());
  stored_.ordered = stored_.ordered && c.ordered && follows;
  add(stored_.row, c.row.data());
  add(stored_.col, c.col.data());
}

template <value T, index I>
void body_reader<T, I>::refuse(const chunk<T, I>& c) const {
  entry_lines lines(info_, in_.path(), num_lines_, num_entries_, triangles_);
  stored_entry<T> entry;
  for (std::string_view rest = c.block.text; !rest.empty();) {
    const std::size_t length = std::min(rest.find('\n'), rest.size());
    lines.take(rest.substr(0, length), c.block.unterminated && length == rest.size(), entry);
    rest.remove_prefix(std::min(length + 1, rest.size()));
  }
  fail_at({.path = in_.path()}, errc::internal, "a fault was found in parallel, and not found again");
}

}  // namespace bcsc::files::matrix_market
