#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Text for a terminal that may be narrow, line by line.
namespace bcsc::bench {

/// A column of a table whose lines are printed before the next are known: as wide as it is told to be.
struct text_column {
  std::string title;
  std::size_t width = 0;
  bool to_the_right = true;   ///< numbers; words stand to the left
  bool begins_group = false;  ///< a bar stands before it
};

/// Rows of columns side by side. Where they are wider than `room`, a row takes several lines, all but the first
/// indented: groups stay together as far as they fit.
class text_columns {
 public:
  text_columns(std::vector<text_column> columns, std::size_t room);
  /// As many cells as columns; a cell that is wider than its column is shortened. Ends with a line feed.
  std::string row(const std::vector<std::string>& cells) const;
  std::string header() const;

 private:
  struct place {
    std::string before;  ///< bar, blank, or line feed and indent
    std::size_t width;
  };
  std::vector<text_column> columns_;
  std::vector<place> places_;
};

/// Breaks `line` between words, so that it takes at most `room` columns; what continues it is indented. Only a word
/// that is longer is broken itself.
std::string wrapped(std::string_view line, std::size_t room);

}  // namespace bcsc::bench
