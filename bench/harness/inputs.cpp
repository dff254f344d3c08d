#include "bench/harness/inputs.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bcsc/files.hpp"
#include "bcsc/generate.hpp"
#include "core/fail.hpp"

namespace bcsc::bench {

namespace {

namespace fs = std::filesystem;

bool is_matrix_market(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".mtx") || name.ends_with(".mtx.gz");
}

input from_file(const fs::path& path, bool from_folder) {
  std::string name = path.filename().string();
  for (const std::string_view suffix : {".gz", ".mtx"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return {.name = name, .source = path.string(), .is_file = true, .from_folder = from_folder};
}

void expand_manifest(const fs::path& path, std::vector<input>& inputs) {
  try {
    std::ifstream file(path);
    const nlohmann::json manifest = nlohmann::json::parse(file);
    for (const nlohmann::json& one : manifest.at("matrices")) {
      const std::string specification = one.at("specification");
      inputs.push_back({.name = specification,
                        .source = specification,
                        .checksum = std::stoull(one.at("checksum").get<std::string>(), nullptr, 16)});
    }
  } catch (const std::exception& e) {  // of the parser, or of stoull
    core::fail(errc::parse_error, "{}: not a manifest of matrices: {}", path.string(), e.what());
  }
}

void expand_folder(const fs::path& folder, std::vector<input>& inputs) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && is_matrix_market(entry.path())) files.push_back(entry.path());
  }
  if (files.empty()) core::fail(errc::io_error, "{}: no .mtx or .mtx.gz file in this folder", folder.string());
  std::ranges::sort(files);
  for (const fs::path& file : files) inputs.push_back(from_file(file, true));
}

struct fnv1a {
  std::uint64_t state = 0xcbf29ce484222325u;
  void add(std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) {
      state ^= (word >> (8 * byte)) & 0xff;
      state *= 0x100000001b3u;
    }
  }
};

}  // namespace

std::vector<input> expand_inputs(std::span<const std::string> names) {
  const auto& catalogue = generate::catalogue();
  const auto from_catalogue = [](const generate::catalogue_entry& entry) {
    return input{.name = entry.name, .source = entry.specification, .kind = entry.kind};
  };
  std::vector<input> inputs;
  for (const std::string& name : names) {
    if (fs::is_directory(name)) {
      expand_folder(name, inputs);
    } else if (name.ends_with(".json")) {
      expand_manifest(name, inputs);
    } else if (fs::exists(name)) {
      inputs.push_back(from_file(name, false));
    } else if (name == "catalogue") {
      std::ranges::transform(catalogue, std::back_inserter(inputs), from_catalogue);
    } else if (const auto found = std::ranges::find(catalogue, name, &generate::catalogue_entry::name);
               found != catalogue.end()) {
      inputs.push_back(from_catalogue(*found));
    } else if (is_matrix_market(name)) {
      inputs.push_back(from_file(name, false));  // load() says what is wrong with it
    } else {
      inputs.push_back({.name = name, .source = name});
    }
  }
  return inputs;
}

loaded_matrix load(const input& from, std::uint64_t seed, const read_options& reading) {
  const auto begin = std::chrono::steady_clock::now();
  loaded_matrix m;
  m.from = from;
  if (from.is_file) {
    read_options options = reading;
    options.pattern_seed = seed;
    m.seeded_values = read_file_info(from.source, options).field == file_field::pattern;
    m.a = read_csr<double>(from.source, options);
  } else {
    m.a = generate::from_specification<double>(from.source);
  }
  const auto view = m.a.view();
  m.checksum = checksum(view);
  if (from.checksum && *from.checksum != m.checksum) {
    core::fail(errc::invalid_format, "{}: checksum {:016x}, the manifest says {:016x}", from.name, m.checksum,
               *from.checksum);
  }
  for (std::size_t i = 0; i + 1 < view.row_ptr.size(); ++i) {
    m.max_row = std::max<std::int64_t>(m.max_row, view.row_ptr[i + 1] - view.row_ptr[i]);
  }
  m.pattern_class = classify_pattern(view.rows, view.cols, view.nnz(), m.max_row);
  m.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return m;
}

std::optional<loaded_matrix> load_or_pass_over(const input& from, std::uint64_t seed, std::string& why) {
  try {
    return load(from, seed);
  } catch (const error& e) {
    if (!from.from_folder || e.code() != errc::unsupported) throw;
    why = e.what();
    return std::nullopt;
  }
}

std::uint64_t checksum(const csr_view<double, std::int32_t>& a) {
  fnv1a hash;
  for (const std::int32_t p : a.row_ptr) hash.add(static_cast<std::uint64_t>(std::int64_t{p}));
  for (const std::int32_t j : a.col_ind) hash.add(static_cast<std::uint64_t>(std::int64_t{j}));
  for (const double v : a.values) hash.add(std::bit_cast<std::uint64_t>(v));
  return hash.state;
}

std::string_view classify_pattern(std::int64_t rows, std::int64_t cols, std::int64_t nnz, std::int64_t max_row) {
  if (rows == 0 || cols == 0) return "regular";
  const double mean = static_cast<double>(nnz) / static_cast<double>(rows);
  if (mean >= 0.01 * static_cast<double>(cols)) return "dense";
  if (static_cast<double>(max_row) >= 8 * mean && nnz > 0) return "skewed";
  return mean < 3 ? "hypersparse" : "regular";
}

}  // namespace bcsc::bench
