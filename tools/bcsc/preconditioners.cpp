#include "tools/bcsc/preconditioners.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "bcsc/amg.hpp"
#include "bcsc/error.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/preconditioners.hpp"
#include "core/fail.hpp"
#include "tools/bcsc/dense_operand.hpp"

namespace bcsc::cli {
namespace {

/// What a preconditioner is made of, besides its parameters.
template <value T>
struct ingredients {
  const context& ctx;
  const csr_matrix<T>& a;
  std::int64_t cols;
  dense_matrix<double> coordinates;  ///< no rows: unknown
};

/// The parameters of one request, by name.
class given_parameters {
 public:
  explicit given_parameters(std::map<std::string_view, double> given) : given_(std::move(given)) {}
  double real(std::string_view name, double otherwise) const {
    const auto found = given_.find(name);
    return found != given_.end() ? found->second : otherwise;
  }
  std::int64_t count(std::string_view name, std::int64_t otherwise) const {
    const double value = real(name, static_cast<double>(otherwise));
    if (value != std::floor(value) || std::abs(value) > 1e9) {
      core::fail(errc::invalid_argument, "--precondition: {} = {}: must be an integer", name, value);
    }
    return static_cast<std::int64_t>(value);
  }

 private:
  std::map<std::string_view, double> given_;
};

/// What the library calls the parameters, where this is another name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> member_names{
    {{"smoother_degree", "degree"}, {"smoother_ratio", "ratio"}, {"max_coarse", "coarse"}, {"block", "size"}}};

/// A kind of preconditioner, and the parameters that it takes.
struct signature {
  std::string_view name;
  std::vector<std::string_view> parameters;  ///< the first may be given without its name
};

template <value T>
struct kind : signature {
  void (*make)(const given_parameters& given, const ingredients<T>& from, made_preconditioner<T>& made);
};

template <value T>
void make_amg(const given_parameters& given, const ingredients<T>& from, made_preconditioner<T>& made) {
  amg_options options{.block = given.count("block", 1),
                      .strength = given.real("strength", 0),
                      .smoother_degree = static_cast<int>(given.count("degree", amg_options{}.smoother_degree)),
                      .smoother_ratio = given.real("ratio", amg_options{}.smoother_ratio),
                      .max_coarse = given.count("coarse", amg_options{}.max_coarse),
                      .single_precision = given.count("fp32", 0) != 0,
                      .cols = from.cols};
  dense_matrix<double> modes;
  if (from.coordinates.rows() > 0) {
    modes = rigid_body_modes(from.coordinates.view());
    options.block = from.coordinates.cols();
    options.near_nullspace = modes.view();
  }
  const amg_preconditioner<T> amg(from.ctx, from.a, options);
  made.m = amg.as_operator();
  made.description = amg.explain();
  if (!made.description.empty()) made.description.pop_back();  // the last line's end
  auto levels = nlohmann::ordered_json::array();
  for (const amg_level& level : amg.facts().levels) levels.push_back({{"rows", level.rows}, {"nnz", level.nnz}});
  made.facts.update({{"levels", levels},
                     {"operator_complexity", amg.facts().operator_complexity},
                     {"near_nullspace", modes.cols() > 0 ? "rigid-body modes" : "constants"},
                     {"type", to_string(amg.facts().precision)}});
}

/// All kinds; a new one is one entry.
template <value T>
const std::vector<kind<T>>& kinds() {
  using given_t = const given_parameters&;
  using from_t = const ingredients<T>&;
  using made_t = made_preconditioner<T>&;
  static const std::vector<kind<T>> all{
      {{"none", {}}, [](given_t, from_t, made_t made) { made.description = "no preconditioner"; }},
      {{"jacobi", {}},
       [](given_t, from_t from, made_t made) {
         made.m = jacobi_preconditioner(from.ctx, from.a);
         made.of_cg = preconditioner::jacobi;
         made.description = "Jacobi";
       }},
      {{"block-jacobi", {"size"}},
       [](given_t given, from_t from, made_t made) {
         made.m = block_jacobi_preconditioner(from.ctx, from.a, {.block = given.count("size", 0), .cols = from.cols});
       }},
      {{"chebyshev", {"degree", "ratio"}},
       [](given_t given, from_t from, made_t made) {
         const chebyshev_options usual;
         made.m = chebyshev_preconditioner(from.ctx, from.a,
                                           {.degree = static_cast<int>(given.count("degree", usual.degree)),
                                            .ratio = given.real("ratio", usual.ratio),
                                            .cols = from.cols});
       }},
      {{"ic0", {"shift"}},
       [](given_t given, from_t from, made_t made) {
         made.m = ic0_preconditioner(from.ctx, from.a, {.shift = given.real("shift", 0)});
       }},
      {{"amg", {"degree", "ratio", "strength", "block", "coarse", "fp32"}}, &make_amg<T>}};
  return all;
}

/// The library's refusal of a parameter, "smoother_ratio = -1: ...", as one of what was typed; others as they are.
error of_option(const signature& k, const error& refused) {
  const std::string said = refused.what();
  const std::size_t equals = said.find(" = ");
  const std::string_view member = std::string_view(said).substr(0, equals);
  const auto takes = [&](std::string_view name) { return std::ranges::find(k.parameters, name) != k.parameters.end(); };
  std::string_view name = takes(member) ? member : std::string_view();
  for (const auto& [other, own] : member_names) {
    if (name.empty() && other == member && takes(own)) name = own;
  }
  if (name.empty() || equals == std::string::npos) return refused;
  return {refused.code(), fmt::format("--precondition {}: {}{}", k.name, name, said.substr(equals))};
}

std::string form(const signature& k) {
  std::string text(k.name);
  for (std::size_t i = 0; i < k.parameters.size(); ++i) {
    text += i == 0 ? "[:" : " [,";  // a help text may break there
    text.append(k.parameters[i]).append(i == 0 ? "]" : "=]");
  }
  return text;
}

std::string forms() {
  std::string text;
  for (const kind<double>& k : kinds<double>()) text += (text.empty() ? "" : ", ") + form(k);
  return text;
}

/// The kind that `text` names, and its parameters. Throws error{invalid_argument} that lists the forms.
template <value T>
std::pair<const kind<T>*, given_parameters> parse(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const kind<T>& k : kinds<T>()) {
    if (k.name != name) continue;
    std::map<std::string_view, double> given;
    std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
    for (bool is_first = true, more = colon != std::string_view::npos; more; is_first = false) {
      const auto comma = rest.find(',');
      const std::string_view item = rest.substr(0, comma);
      more = comma != std::string_view::npos;
      if (more) rest.remove_prefix(comma + 1);
      const auto equals = item.find('=');
      const bool has_name = equals != std::string_view::npos;
      const std::string_view number = has_name ? item.substr(equals + 1) : item;
      const auto found = std::find(k.parameters.begin(), k.parameters.end(), item.substr(0, has_name ? equals : 0));
      double parsed = 0;
      const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), parsed);
      const bool is_number = !number.empty() && status == std::errc{} && end == number.data() + number.size();
      const bool is_known = has_name ? found != k.parameters.end() : is_first && !k.parameters.empty();
      if (!is_number || !is_known || !given.emplace(has_name ? *found : k.parameters.front(), parsed).second) {
        core::fail(errc::invalid_argument, "\"{}\" of \"{}\" is not understood; its form is {}", item, text, form(k));
      }
    }
    return {&k, given_parameters(std::move(given))};
  }
  core::fail(errc::invalid_argument, "\"{}\" is none of {}", text, forms());
}

/// Those of the nodes whose displacements are A's unknowns, as far as they are known.
dense_matrix<double> coordinates_of(const preconditioner_options& options, const std::optional<dense_operand>& file,
                                    const matrix_source& source, std::int64_t rows, const output& out) {
  if (file) {
    if (file->cols() < 2 || file->cols() > 3 || file->rows() * file->cols() != rows) {
      core::fail(errc::size_mismatch,
                 "--coordinates {} is {} x {}: A's {} rows ask for as many nodes x 2 or 3 coordinates",
                 options.coordinates, file->rows(), file->cols(), rows);
    }
    return file->read<double>(layout::row_major, out);
  }
  dense_matrix<double> generated = generate::node_coordinates(source.name);
  return generated.rows() * generated.cols() == rows ? std::move(generated) : dense_matrix<double>();
}

}  // namespace

void add_preconditioner(CLI::App& parser, preconditioner_options& options) {
  const auto is_understood = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(parse<double>(text));
      return {};
    } catch (const error& refused) {
      return refused.what();
    }
  };
  parser.add_option("--precondition", options.kind, "Preconditioner: " + forms())
      ->check(CLI::Validator(is_understood, "", ""))
      ->type_name("KIND")
      ->capture_default_str();
  parser
      .add_option("--coordinates", options.coordinates,
                  "For amg: where the nodes are whose displacements are the unknowns, a dense file of nodes x 2 or 3; "
                  "known of generated elasticity")
      ->type_name("FILE");
}

std::optional<dense_operand> open_coordinates(const preconditioner_options& options) {
  if (options.coordinates.empty()) return std::nullopt;
  const std::string name(parse<double>(options.kind).first->name);
  if (name != "amg") {
    core::fail(errc::invalid_argument, "--coordinates {}: only --precondition amg asks for them, not {}",
               options.coordinates, name);
  }
  return std::optional<dense_operand>(std::in_place, "--coordinates", options.coordinates);
}

template <value T>
made_preconditioner<T> make_preconditioner(const preconditioner_options& options,
                                           const std::optional<dense_operand>& coordinates, const matrix_source& source,
                                           const context& ctx, const csr_matrix<T>& a, std::int64_t cols,
                                           const output& out) {
  const auto [chosen, given] = parse<T>(options.kind);
  ingredients<T> from{ctx, a, cols, {}};
  if (chosen->name == "amg") from.coordinates = coordinates_of(options, coordinates, source, a.rows(), out);
  made_preconditioner<T> made;
  made.facts = {{"kind", chosen->name}};
  const auto begin = std::chrono::steady_clock::now();
  try {
    chosen->make(given, from, made);
  } catch (const error& refused) {
    throw of_option(*chosen, refused);
  }
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  made.facts["setup_seconds"] = made.seconds;
  if (made.description.empty()) made.description = made.m->describe();
  return made;
}

template made_preconditioner<float> make_preconditioner(const preconditioner_options&,
                                                        const std::optional<dense_operand>&, const matrix_source&,
                                                        const context&, const csr_matrix<float>&, std::int64_t,
                                                        const output&);
template made_preconditioner<double> make_preconditioner(const preconditioner_options&,
                                                         const std::optional<dense_operand>&, const matrix_source&,
                                                         const context&, const csr_matrix<double>&, std::int64_t,
                                                         const output&);

}  // namespace bcsc::cli
