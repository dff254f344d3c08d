#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "converters/files/location.hpp"
#include "converters/files/mat_matrix.hpp"
#include "converters/files/source.hpp"

/// Which of a file's arrays is meant: the one that read_options::member names, or the only sparse matrix, or that of
/// the SuiteSparse collection.
namespace bcsc::files::mat {

/// Arrays, offered one after the other. `Array` has a path and a head.
template <class Array>
class candidates {
 public:
  /// `member` empty: every sparse matrix is a candidate; else the array of that path alone.
  explicit candidates(std::string_view member) : member_(member) {}

  /// Whether an array of this path, or something in it, may be wanted.
  bool may_hold_wanted(std::string_view path) const {
    if (member_.empty()) return true;
    if (!member_.starts_with(path)) return false;
    return member_.size() == path.size() ||
           std::string_view(".({").find(member_[path.size()]) != std::string_view::npos;
  }

  void offer(Array array) {
    const bool wanted = member_.empty() ? array.head.is_sparse() : array.path == member_;
    (wanted ? found_ : others_).add(array.path, array.head);
    if (!wanted) return;
    if (!array.path.starts_with("Problem.")) all_in_problem_ = false;
    if (array.path == "Problem.A") problem_a_ = array;
    if (!first_) first_ = std::move(array);
  }

  /// The one that is meant, if that is clear.
  std::optional<Array> chosen() {
    if (found_.count == 1) return std::move(first_);
    // Its files may hold further sparse matrices, Problem.Zeros above all.
    if (member_.empty() && all_in_problem_) return std::move(problem_a_);
    return std::nullopt;
  }
  std::size_t num_found() const { return found_.count; }
  /// "A (3x3 sparse), B (...)"
  std::string found() const { return found_.count > 0 ? found_.text : "none"; }
  std::string others() const { return others_.count > 0 ? others_.text : "none"; }

 private:
  struct name_list {
    std::string text;
    std::size_t count = 0;
    void add(const std::string& path, const array_head& head) {
      constexpr std::size_t max_named = 12;
      if (++count > max_named + 1) return;
      if (count > 1) text += ", ";
      if (count > max_named) {
        text += "...";
      } else {
        text.append(path).append(" (").append(head.describe()).append(")");
      }
    }
  };

  std::string_view member_;
  std::optional<Array> first_, problem_a_;
  bool all_in_problem_ = true;
  name_list found_, others_;
};

/// `look_through(candidates)` offers every array of the file that may_hold_wanted(). Throws error{unsupported} if there
/// is no sparse matrix, error{invalid_argument} if `member` names none or must name one.
template <class Array, class F>
Array choose_array(const source& in, F&& look_through) {
  const std::string& member = in.options().member;
  candidates<Array> offered(member);
  look_through(offered);
  if (auto chosen = offered.chosen()) return std::move(*chosen);

  const file_location where{.path = in.path()};
  if (member.empty() && offered.num_found() == 0) {
    fail_at(where, errc::unsupported, "holds no sparse matrix; it holds: {}", offered.others());
  }
  if (member.empty()) {
    fail_at(where, errc::invalid_argument, "holds {} sparse matrices, of which `member` must name one: {}",
            offered.num_found(), offered.found());
  }
  if (offered.num_found() > 1) {
    fail_at(where, errc::invalid_argument, "member {}: {} variables have this name", files::quoted(member),
            offered.num_found());
  }
  candidates<Array> all({});
  try {
    look_through(all);
  } catch (const error& caught) {
    // Other faults of the file do not matter here: the list just ends there.
    if (caught.code() == errc::cancelled) throw;
  }
  fail_at(where, errc::invalid_argument, "member {}: there is no such variable; sparse are: {}; others: {}",
          files::quoted(member), all.found(), all.others());
}

}  // namespace bcsc::files::mat
