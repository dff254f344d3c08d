#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Parts of a page that is HTML and well-formed XML at once.
namespace bcsc::bench {

/// Text between tags or in quoted attributes: markup is escaped; what is not UTF-8 or not allowed in XML becomes
/// U+FFFD.
std::string escaped(std::string_view text);

/// At most `width` characters, the last of them "…" where something is left out. Takes and gives text, not markup.
std::string shortened(std::string_view text, std::size_t width);

/// Three significant digits without an exponent up to a million: "0.0123", "1.64", "12300".
std::string in_three_digits(double number);

/// One cell: what is read, and for numbers the value that columns are sorted by. Of a value that does not exist: "–".
struct html_cell {
  std::string text;
  std::optional<double> value;
};
html_cell number_cell(std::optional<double> number);       ///< in three digits
html_cell fixed_cell(std::optional<double> number);        ///< with two decimals, as ratios are given
html_cell count_cell(std::optional<std::int64_t> number);  ///< whole
html_cell percent_cell(std::optional<double> share);       ///< of a share in [0, 1]
html_cell duration_cell(std::optional<double> seconds);    ///< with its unit

/// A table whose columns can be sorted. A value stands as data-v in its cell, with all its digits.
class html_table {
 public:
  html_table(std::string id, std::string caption, std::vector<std::string> header)
      : id_(std::move(id)), caption_(std::move(caption)), header_(std::move(header)) {}
  /// As many cells as the header has.
  void add(const std::vector<html_cell>& row);
  std::string html() const;

 private:
  std::string id_, caption_;
  std::vector<std::string> header_;
  std::string rows_;
  std::vector<bool> is_text_;  ///< of each column: words have been seen in it
};

}  // namespace bcsc::bench
