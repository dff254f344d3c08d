#include "bench/harness/text_columns.hpp"

#include <algorithm>
#include <utility>

namespace bcsc::bench {

namespace {

constexpr std::size_t indent = 4;
constexpr std::string_view bar = " | ", blank = " ";

/// In columns of a terminal: code points.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string fitted(const std::string& text, const text_column& column, std::size_t width) {
  const std::size_t length = width_of(text);
  if (length > width) {
    std::string cut = text;
    while (width_of(cut) + 1 > width) cut.pop_back();
    return cut + "~";
  }
  const std::string padding(width - length, ' ');
  return column.to_the_right ? padding + text : text + padding;
}

}  // namespace

text_columns::text_columns(std::vector<text_column> columns, std::size_t room) : columns_(std::move(columns)) {
  const auto group_width = [&](std::size_t first) {
    std::size_t width = columns_[first].width;
    for (std::size_t i = first + 1; i < columns_.size() && !columns_[i].begins_group; ++i) {
      width += blank.size() + columns_[i].width;
    }
    return width;
  };
  std::size_t at = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const text_column& column = columns_[i];
    const std::string_view between = i == 0 ? "" : column.begins_group ? bar : blank;
    const std::size_t together = column.begins_group ? group_width(i) : column.width;
    const bool breaks = i > 0 && at + between.size() + together > room && (at > indent || together > room);
    const std::size_t begins = breaks ? indent : at + between.size();
    const std::size_t width = std::min(column.width, std::max<std::size_t>(room - std::min(room, begins), 1));
    places_.push_back({breaks ? "\n" + std::string(indent, ' ') : std::string(between), width});
    at = begins + width;
  }
}

std::string text_columns::row(const std::vector<std::string>& cells) const {
  std::string lines;
  const auto end_line = [&] { lines.erase(lines.find_last_not_of(' ') + 1); };
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (places_[i].before.starts_with('\n')) end_line();
    lines += places_[i].before + fitted(cells[i], columns_[i], places_[i].width);
  }
  end_line();
  return lines + '\n';
}

std::string text_columns::header() const {
  std::vector<std::string> titles;
  for (const text_column& column : columns_) titles.push_back(column.title);
  return row(titles);
}

std::string wrapped(std::string_view line, std::size_t room) {
  const std::size_t begins = std::min(line.find_first_not_of(' '), line.size());
  std::string made(line.substr(0, begins));
  std::size_t at = begins;
  for (std::string_view rest = line.substr(begins); !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    const bool is_first = at == begins;
    if (!is_first && at + 1 + width_of(word) > room) {
      made += '\n' + std::string(begins + 2, ' ');
      at = begins + 2;
    } else if (!is_first) {
      made += ' ';
      ++at;
    }
    for (const char c : word) {
      const bool begins_character = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
      if (begins_character && at >= room && room > begins + 2) {
        made += '\n' + std::string(begins + 2, ' ');
        at = begins + 2;
      }
      made += c;
      at += begins_character ? 1 : 0;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return made;
}

}  // namespace bcsc::bench
