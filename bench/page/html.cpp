#include "bench/page/html.hpp"

#include <cmath>

#include "core/format.hpp"

namespace bcsc::bench {

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd", no_value = "–";

/// Bytes of the character that `text` begins with; 0 where it is no UTF-8 (RFC 3629).
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xed && byte(1) >= 0xa0;
  const bool beyond = lead == 0xf4 && byte(1) >= 0x90;
  const bool no_character = lead == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe;
  return overlong || surrogate || beyond || no_character ? 0 : bytes;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r'; }

}  // namespace

std::string escaped(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const char c = text.front();
    if (bytes == 0 || is_control(c)) {
      made += replacement;
    } else if (c == '&') {
      made += "&amp;";
    } else if (c == '<') {
      made += "&lt;";
    } else if (c == '>') {
      made += "&gt;";
    } else if (c == '"') {
      made += "&quot;";
    } else if (c == '\'') {
      made += "&#39;";
    } else {
      made += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return made;
}

std::string shortened(std::string_view text, std::size_t width) {
  std::size_t characters = 0, kept = 0;
  for (std::size_t at = 0; at < text.size(); ++characters) {
    if (characters + 1 == width) kept = at;
    const std::size_t bytes = character_bytes(text.substr(at));
    at += bytes == 0 ? 1 : bytes;
  }
  return characters <= width ? std::string(text) : std::string(text.substr(0, kept)) + "…";
}

std::string in_three_digits(double number) {
  if (!std::isfinite(number)) return std::isnan(number) ? std::string(no_value) : number > 0 ? "∞" : "-∞";
  if (number == 0) return "0";
  const double size = std::abs(number);
  if (size >= 1e6 || size < 1e-4) return core::format("{:.2e}", number);
  const int digits = static_cast<int>(std::floor(std::log10(size)));
  if (digits >= 2) return core::format("{:.0f}", number);
  return core::format("{:.{}f}", number, 2 - digits);
}

html_cell number_cell(std::optional<double> number) {
  if (!number) return {std::string(no_value), std::nullopt};
  return {in_three_digits(*number), *number};
}
html_cell fixed_cell(std::optional<double> number) {
  if (!number) return {std::string(no_value), std::nullopt};
  return {core::format("{:.2f}", *number), *number};
}
html_cell count_cell(std::optional<std::int64_t> number) {
  if (!number) return {std::string(no_value), std::nullopt};
  return {core::format("{}", *number), static_cast<double>(*number)};
}
html_cell percent_cell(std::optional<double> share) {
  if (!share) return {std::string(no_value), std::nullopt};
  return {core::format("{:.1f} %", 100 * *share), *share};
}
html_cell duration_cell(std::optional<double> seconds) {
  if (!seconds) return {std::string(no_value), std::nullopt};
  const double s = *seconds;
  const std::string text = s >= 1      ? in_three_digits(s) + " s"
                           : s >= 1e-3 ? in_three_digits(1e3 * s) + " ms"
                                       : in_three_digits(1e6 * s) + " µs";
  return {text, s};
}

void html_table::add(const std::vector<html_cell>& row) {
  is_text_.resize(header_.size(), false);
  rows_ += "<tr>";
  for (std::size_t i = 0; i < row.size(); ++i) {
    const html_cell& cell = row[i];
    const bool is_word = !cell.value && cell.text != no_value;
    is_text_[i] = is_text_[i] || is_word;
    if (cell.value && std::isfinite(*cell.value)) {
      rows_ += core::format("<td data-v=\"{}\">", *cell.value);
    } else {
      rows_ += is_word ? "<td class=\"w\">" : "<td>";
    }
    rows_ += escaped(cell.text) + "</td>";
  }
  rows_ += "</tr>\n";
}

std::string html_table::html() const {
  std::string head;
  for (std::size_t i = 0; i < header_.size(); ++i) {
    const bool text = i < is_text_.size() && is_text_[i];
    head += core::format("<th scope=\"col\"{}><button type=\"button\">{}</button></th>", text ? " class=\"w\"" : "",
                         escaped(header_[i]));
  }
  return core::format(
      "<div class=\"wide\"><table id=\"{}\"><caption>{}</caption><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table>"
      "</div>\n",
      id_, escaped(caption_), head, rows_);
}

}  // namespace bcsc::bench
