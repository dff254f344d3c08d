#pragma once

#include <iosfwd>
#include <limits>
#include <memory>
#include <string_view>

#include "bench/harness/results.hpp"
#include "bench/harness/text_columns.hpp"

namespace bcsc::bench {

/// Prints a line for each case as it comes, and what follows from all of them at the end; within `room` columns, where
/// a row may take several lines.
class table_printer {
 public:
  explicit table_printer(std::ostream& out, std::size_t room = std::numeric_limits<std::size_t>::max())
      : out_(out), room_(room) {}
  void print_case(const run_result& run, const case_result& c);
  void print_summary(const run_result& run);

 private:
  void print_header(const run_result& run);
  void say(std::string_view line);
  void say_ratios(const run_result& run);
  void say_what_went_wrong(const run_result& run);
  void say_rivals(const run_result& run, entry_status status);
  void say_starts(const run_result& run);
  void say_steadiness(const run_result& run);

  std::ostream& out_;
  std::size_t room_;
  std::unique_ptr<text_columns> columns_;  ///< once the header is printed
};

}  // namespace bcsc::bench
