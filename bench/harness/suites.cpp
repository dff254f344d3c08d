#include "bench/harness/suites.hpp"

#include <iterator>
#include <optional>
#include <string>

#include "bcsc/catalogue.hpp"
#include "bcsc/error.hpp"
#include "bcsc/fetch.hpp"
#include "core/fail.hpp"

namespace bcsc::bench {

namespace {

constexpr suite_matrix dnn_matrices[] = {
    {"", "256 x 256", "uniform:256,256,0.60,seed=1", true}, {"", "256 x 256", "uniform:256,256,0.65,seed=1"},
    {"", "256 x 256", "uniform:256,256,0.70,seed=1"},       {"", "256 x 256", "uniform:256,256,0.75,seed=1"},
    {"", "256 x 256", "uniform:256,256,0.80,seed=1"},       {"", "256 x 256", "uniform:256,256,0.85,seed=1"},
    {"", "256 x 256", "uniform:256,256,0.90,seed=1", true}, {"", "512 x 512", "uniform:512,512,0.60,seed=1"},
    {"", "512 x 512", "uniform:512,512,0.65,seed=1"},       {"", "512 x 512", "uniform:512,512,0.70,seed=1"},
    {"", "512 x 512", "uniform:512,512,0.75,seed=1", true}, {"", "512 x 512", "uniform:512,512,0.80,seed=1"},
    {"", "512 x 512", "uniform:512,512,0.85,seed=1"},       {"", "512 x 512", "uniform:512,512,0.90,seed=1"},
    {"", "1024 x 1024", "uniform:1024,1024,0.60,seed=1"},   {"", "1024 x 1024", "uniform:1024,1024,0.65,seed=1"},
    {"", "1024 x 1024", "uniform:1024,1024,0.70,seed=1"},   {"", "1024 x 1024", "uniform:1024,1024,0.75,seed=1"},
    {"", "1024 x 1024", "uniform:1024,1024,0.80,seed=1"},   {"", "1024 x 1024", "uniform:1024,1024,0.85,seed=1"},
    {"", "1024 x 1024", "uniform:1024,1024,0.90,seed=1"},   {"", "2048 x 2048", "uniform:2048,2048,0.60,seed=1"},
    {"", "2048 x 2048", "uniform:2048,2048,0.65,seed=1"},   {"", "2048 x 2048", "uniform:2048,2048,0.70,seed=1"},
    {"", "2048 x 2048", "uniform:2048,2048,0.75,seed=1"},   {"", "2048 x 2048", "uniform:2048,2048,0.80,seed=1"},
    {"", "2048 x 2048", "uniform:2048,2048,0.85,seed=1"},   {"", "2048 x 2048", "uniform:2048,2048,0.90,seed=1"},
};
constexpr std::int64_t dnn_cols[] = {32, 64, 128, 256, 512, 1024, 2048}, dnn_quick_cols[] = {32, 128};

/// The first four are those that the thesis names; it shows more without naming them, for which the others are here.
/// Rows and non-zeros per row are those of the matrix, as the collection publishes them, to a few per cent.
constexpr suite_matrix iterative_matrices[] = {
    {"offshore", "electromagnetics", "blocks:259789,1,1,8,seed=1"},
    {"SiO", "quantum chemistry", "blocks:33401,1,1,19,seed=1"},
    {"nemeth21", "quantum chemistry", "banded:9506,61,seed=1", true},
    {"TSC_OPF_1047", "power network", "blocks:8140,8,32,5,seed=1", true},
    {"G2_circuit", "circuit simulation", "stencil5:387,388"},
    {"crystm03", "materials", "stencil27:29,29,30"},
    {"bcsstk25", "structural", "blocks:15439,1,5,2,seed=1"},
    {"GT01R", "fluid dynamics", "blocks:7980,5,5,5,seed=1"},
};
constexpr std::int64_t iterative_cols[] = {8, 16, 32, 64, 128, 256, 512}, iterative_quick_cols[] = {8, 32};

constexpr suite all_suites[] = {{suite_names[0], dnn_matrices, dnn_cols, dnn_quick_cols},
                                {suite_names[1], iterative_matrices, iterative_cols, iterative_quick_cols}};
static_assert(std::size(all_suites) == std::size(suite_names));

/// Where the collection's matrix lies, if it does.
std::optional<std::filesystem::path> file_of(std::string_view name, const std::filesystem::path& folder) {
  const suitesparse::entry published = suitesparse::find(name);
  std::vector<std::filesystem::path> places;
  if (!folder.empty()) {
    for (const char* const ending : {".mtx", ".mtx.gz", ".tar.gz"})
      places.push_back(folder / (std::string(name) + ending));
  }
  try {
    places.push_back(suitesparse::cache_folder() / published.group / (std::string(name) + ".tar.gz"));
  } catch (const error&) {
    // No cache folder is known.
  }
  std::error_code ignored;
  for (const auto& place : places) {
    if (std::filesystem::is_regular_file(place, ignored)) return place;
  }
  return std::nullopt;
}

}  // namespace

const suite& find_suite(std::string_view name) {
  for (const suite& one : all_suites) {
    if (one.name == name) return one;
  }
  core::fail(errc::invalid_argument, "suite = \"{}\": must be one of {}", name, core::joined(suite_names, ", "));
}

std::vector<input> suite_inputs(const suite& which, bool quick, const std::filesystem::path& folder) {
  std::vector<input> inputs;
  for (const suite_matrix& m : which.matrices) {
    if (quick && !m.quick) continue;
    input from{
        .name = std::string(m.specification), .source = std::string(m.specification), .kind = std::string(m.kind)};
    if (!m.name.empty()) {
      from.name = "like " + std::string(m.name);
      if (const auto file = file_of(m.name, folder)) {
        from.name = m.name;
        from.source = file->string();
        from.is_file = true;
      }
    }
    inputs.push_back(std::move(from));
  }
  return inputs;
}

}  // namespace bcsc::bench
