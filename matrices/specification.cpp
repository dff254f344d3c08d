#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "bcsc/generate.hpp"
#include "core/fail.hpp"
#include "matrices/conditioned.hpp"
#include "matrices/elasticity.hpp"

namespace bcsc::generate {
namespace {

/// What a specification of a family may say: its positional parameters, then the named ones it takes.
struct signature {
  std::string_view name;
  std::vector<std::string_view> positional;
  std::vector<std::string_view> named;
};

const std::vector<signature>& signatures();

std::string form(const signature& f) {
  std::string text(f.name);
  char separator = ':';
  for (std::string_view parameter : f.positional) {
    text += separator;
    text += parameter;
    separator = ',';
  }
  for (std::string_view parameter : f.named) text.append("[,").append(parameter).append("=]");
  return text;
}

std::string all_families() {
  std::string text;
  for (const signature& f : signatures()) text.append(text.empty() ? "" : ", ").append(f.name);
  return text;
}

[[noreturn]] void refuse(std::string_view specification, const signature& f, std::string_view why) {
  core::fail(errc::invalid_argument, "specification = \"{}\": {}; its form is {}", specification, why, form(f));
}

/// The parameters of one specification, as text by name, read on demand as numbers.
class parameters {
 public:
  parameters(std::string_view specification, const signature& f, std::string_view text)
      : specification_(specification), family_(f) {
    std::size_t position = 0;
    for (bool more = !text.empty(); more;) {
      const auto comma = text.find(',');
      const std::string_view item = text.substr(0, comma);
      more = comma != std::string_view::npos;
      if (more) text.remove_prefix(comma + 1);
      const auto equals = item.find('=');
      if (equals == std::string_view::npos) {
        if (position == f.positional.size())
          refuse(specification_, family_, "\"" + std::string(item) + "\" is one too many");
        given_[f.positional[position++]] = item;
        continue;
      }
      const std::string_view name = item.substr(0, equals);
      if (std::find(f.named.begin(), f.named.end(), name) == f.named.end()) {
        refuse(specification_, family_, "there is no parameter \"" + std::string(name) + "\"");
      }
      if (!given_.emplace(name, item.substr(equals + 1)).second) {
        refuse(specification_, family_, std::string(name) + " is given twice");
      }
    }
    if (position < f.positional.size()) {
      refuse(specification_, family_, std::string(f.positional[position]) + " is missing");
    }
  }

  template <class Number>
  Number number(std::string_view name) const {
    const std::string_view text = given_.at(name);
    Number parsed{};
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (text.empty() || status != std::errc{} || end != text.data() + text.size()) {
      const char* kind = std::numeric_limits<Number>::is_integer ? "an integer that fits" : "a number that fits";
      refuse(specification_, family_, std::string(name) + " = \"" + std::string(text) + "\" is not " + kind);
    }
    return parsed;
  }
  template <class Number>
  Number number(std::string_view name, Number otherwise) const {
    return given_.contains(name) ? number<Number>(name) : otherwise;
  }
  double real(std::string_view name) const { return number<double>(name); }
  std::int64_t size(std::string_view name) const { return number<std::int64_t>(name); }
  std::uint64_t seed() const { return number<std::uint64_t>("seed", 1); }
  /// 0 (the default) or 1.
  bool flag(std::string_view name) const {
    const auto given = number<std::uint64_t>(name, 0);
    if (given > 1) refuse(specification_, family_, core::format("{} = {} is neither 0 nor 1", name, given));
    return given == 1;
  }

 private:
  std::string_view specification_;
  const signature& family_;
  std::map<std::string_view, std::string_view> given_;
};

template <value T>
struct family : signature {
  csr_matrix<T> (*make)(const parameters&);
};

/// All families; a new one is one row.
template <value T>
const std::vector<family<T>>& families() {
  using given = const parameters&;
  static const std::vector<family<T>> all{
      {{"elasticity", {"nx", "ny", "nz"}, {"dof"}},
       [](given p) { return elasticity<T>(p.size("nx"), p.size("ny"), p.size("nz"), p.number<int>("dof", 3)); }},
      {{"stencil5", {"nx", "ny"}, {}}, [](given p) { return stencil<T>(5, p.size("nx"), p.size("ny")); }},
      {{"stencil9", {"nx", "ny"}, {}}, [](given p) { return stencil<T>(9, p.size("nx"), p.size("ny")); }},
      {{"stencil7", {"nx", "ny", "nz"}, {}},
       [](given p) { return stencil<T>(7, p.size("nx"), p.size("ny"), p.size("nz")); }},
      {{"stencil27", {"nx", "ny", "nz"}, {}},
       [](given p) { return stencil<T>(27, p.size("nx"), p.size("ny"), p.size("nz")); }},
      {{"banded", {"rows", "half_width"}, {"seed"}},
       [](given p) { return banded<T>(p.size("rows"), p.size("half_width"), p.seed()); }},
      {{"uniform", {"rows", "cols", "sparsity"}, {"seed"}},
       [](given p) { return uniform<T>(p.size("rows"), p.size("cols"), p.real("sparsity"), p.seed()); }},
      {{"nm", {"rows", "cols", "n", "m"}, {"seed"}},
       [](given p) { return nm<T>(p.size("rows"), p.size("cols"), p.size("n"), p.size("m"), p.seed()); }},
      {{"rmat", {"scale", "degree"}, {"seed", "a", "b", "c"}},
       [](given p) {
         return rmat<T>(p.number<int>("scale"), p.number<int>("degree"), p.seed(), p.number("a", 0.57),
                        p.number("b", 0.19), p.number("c", 0.19));
       }},
      {{"hypersparse", {"rows", "cols", "nnz"}, {"seed"}},
       [](given p) { return hypersparse<T>(p.size("rows"), p.size("cols"), p.size("nnz"), p.seed()); }},
      {{"linking", {"rows", "cols", "degree", "linking_rows", "linking_degree"}, {"seed", "linking_cols"}},
       [](given p) {
         return linking<T>(p.size("rows"), p.size("cols"), p.size("degree"), p.size("linking_rows"),
                           p.size("linking_degree"), p.seed(), p.number<std::int64_t>("linking_cols", 0));
       }},
      {{"spd", {"rows", "condition"}, {"seed"}},
       [](given p) { return spd<T>(p.size("rows"), p.real("condition"), p.seed()); }},
      {{"diagonal", {"rows", "condition"}, {"seed", "whole"}},
       [](given p) { return diagonal<T>(p.size("rows"), p.real("condition"), p.seed(), p.flag("whole")); }},
      {{"householder", {"rows", "condition"}, {"seed"}},
       [](given p) { return householder<T>(p.size("rows"), p.real("condition"), p.seed()); }},
      {{"blocks", {"rows", "least", "most", "degree"}, {"seed"}},
       [](given p) { return blocks<T>(p.size("rows"), p.size("least"), p.size("most"), p.size("degree"), p.seed()); }}};
  return all;
}

const std::vector<signature>& signatures() {
  static const std::vector<signature> all(families<double>().begin(), families<double>().end());
  return all;
}

}  // namespace

const std::vector<catalogue_entry>& catalogue() {
  static const std::vector<catalogue_entry> all = [] {
    std::vector<catalogue_entry> entries{
        {"elasticity-30", "elasticity:30,30,30", "fem"},
        {"elasticity-45", "elasticity:45,45,45", "fem"},
        {"band-20000-20", "banded:20000,20,seed=1", "band"},
        {"band-200000-60", "banded:200000,60,seed=1", "band"},
        {"stencil5-1000", "stencil5:1000,1000", "stencil"},
        {"stencil9-400", "stencil9:400,400", "stencil"},
        {"stencil9-1000", "stencil9:1000,1000", "stencil"},
        {"stencil7-80", "stencil7:80,80,80", "stencil"},
        {"stencil27-64", "stencil27:64,64,64", "stencil"},
        {"rmat-17", "rmat:17,16,seed=1", "graph"},
        {"rmat-20", "rmat:20,16,seed=1", "graph"},
        {"elasticity-60-dof1", "elasticity:60,60,60,dof=1", "fem"},
        {"elasticity-24-dof6", "elasticity:24,24,24,dof=6", "fem"},
        {"hypersparse-4000000", "hypersparse:4000000,4000000,400000,seed=1", "hypersparse"},
        {"linking-300000", "linking:300000,90000,1,9,5000,seed=1,linking_cols=2", "programme"},
        {"spd-200000-1e6", "spd:200000,1e6,seed=1", "spectrum"},
        {"blocks-100000", "blocks:100000,2,24,4,seed=1", "blocks"},
        {"nm-4096-2-4", "nm:4096,4096,2,4,seed=1", "network"},
        {"nm-4096-1-4", "nm:4096,4096,1,4,seed=1", "network"}};
    for (const std::string size : {"2048", "4096"}) {
      for (const std::string sparsity : {"0.6", "0.7", "0.8", "0.9", "0.95"}) {
        entries.push_back({"uniform-" + size + "-" + sparsity,
                           "uniform:" + size + "," + size + "," + sparsity + ",seed=1", "network"});
      }
    }
    return entries;
  }();
  return all;
}

std::vector<std::string> forms() {
  std::vector<std::string> all;
  for (const signature& f : signatures()) all.push_back(form(f));
  return all;
}

template <value T>
csr_matrix<T> from_specification(std::string_view specification) {
  for (const catalogue_entry& entry : catalogue()) {
    if (entry.name == specification) return from_specification<T>(entry.specification);
  }
  const auto colon = specification.find(':');
  const std::string_view name = specification.substr(0, colon);
  for (const family<T>& f : families<T>()) {
    if (f.name != name) continue;
    const std::string_view text = colon == std::string_view::npos ? "" : specification.substr(colon + 1);
    return f.make(parameters(specification, f, text));
  }
  core::fail(errc::invalid_argument,
             "specification = \"{}\": \"{}\" is neither a family nor in the catalogue; the families are {}",
             specification, name, all_families());
}

dense_matrix<double> node_coordinates(std::string_view specification) {
  for (const catalogue_entry& entry : catalogue()) {
    if (entry.name == specification) return node_coordinates(entry.specification);
  }
  const signature& elastic = signatures().front();
  const auto colon = specification.find(':');
  if (colon == std::string_view::npos || specification.substr(0, colon) != elastic.name) return {0, 3};
  const parameters p(specification, elastic, specification.substr(colon + 1));
  return p.number<int>("dof", 3) == 3 ? elasticity_coordinates(p.size("nx"), p.size("ny"), p.size("nz"))
                                      : dense_matrix<double>(0, 3);
}

template csr_matrix<float> from_specification<float>(std::string_view);
template csr_matrix<double> from_specification<double>(std::string_view);

}  // namespace bcsc::generate
