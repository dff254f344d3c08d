#include "bench/harness/read_results.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <map>
#include <memory>
#include <system_error>
#include <tuple>

#include "bench/harness/json.hpp"
#include "bench/harness/report.hpp"
#include "core/fail.hpp"

namespace bcsc::bench {

namespace {

constexpr std::size_t max_bytes = std::size_t{1} << 30;

/// Of an object: what an earlier version did not write has the value that stands for nothing.
template <class X>
X value_or(const json& object, const char* key, X otherwise) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? otherwise : found->get<X>();
}
std::string text_or_none(const json& object, const char* key) { return value_or<std::string>(object, key, ""); }

value_type type_of(const std::string& name) {
  for (const value_type type : all_value_types) {
    if (to_string(type) == name) return type;
  }
  core::fail(errc::parse_error, "type = \"{}\": no type of values has this name", name);
}

layout layout_of(const std::string& name) {
  for (const layout order : {layout::row_major, layout::col_major}) {
    if (to_string(order) == name) return order;
  }
  core::fail(errc::parse_error, "layout = \"{}\": must be row-major or col-major", name);
}

entry_status status_of(const std::string& name) {
  for (const entry_status status :
       {entry_status::ok, entry_status::inaccurate, entry_status::failed, entry_status::unavailable}) {
    if (to_string(status) == name) return status;
  }
  core::fail(errc::parse_error, "status = \"{}\": must be ok, inaccurate, failed or unavailable", name);
}

std::uint64_t checksum_of(const json& matrix) {
  const std::string digits = text_or_none(matrix, "checksum");
  std::uint64_t number = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (status != std::errc() || end != digits.data() + digits.size()) {
    core::fail(errc::parse_error, "checksum = \"{}\": must be 16 hexadecimal digits", digits);
  }
  return number;
}

machine_facts machine_of(const json& m) {
  machine_facts facts;
  facts.git_hash = text_or_none(m, "git_hash");
  facts.library_version = text_or_none(m, "library_version");
  facts.compiler = text_or_none(m, "compiler");
  facts.date = text_or_none(m, "date");
  facts.backend = text_or_none(m, "backend");
  facts.context = text_or_none(m, "context");
  facts.cpu_model = text_or_none(m, "cpu_model");
  facts.num_cpus = value_or(m, "num_cpus", 0);
  facts.threads = value_or(m, "threads", 0);
  facts.caches.l3 = value_or<std::int64_t>(m, "last_level_cache_bytes", 0);
  facts.gpu_name = text_or_none(m, "gpu_name");
  facts.compute_capability = value_or(m, "compute_capability", 0);
  facts.gpu_memory_bytes = value_or<std::int64_t>(m, "gpu_memory_bytes", 0);
  facts.gpu_l2_bytes = value_or<std::int64_t>(m, "gpu_l2_bytes", 0);
  facts.gpu_clocks = text_or_none(m, "gpu_clocks");
  facts.versions = value_or<std::map<std::string, std::string>>(m, "versions", {});
  facts.copy_bandwidth = value_or(m, "copy_bandwidth", 0.0);
  facts.cache_bandwidth = value_or(m, "cache_bandwidth", 0.0);
  facts.peak_fp32 = value_or(m, "peak_fp32", 0.0);
  facts.peak_fp64 = value_or(m, "peak_fp64", 0.0);
  return facts;
}

matrix_facts matrix_of(const json& m) {
  return {.name = m.at("name"),
          .source = text_or_none(m, "source"),
          .kind = text_or_none(m, "kind"),
          .pattern_class = text_or_none(m, "pattern_class"),
          .rows = m.at("rows"),
          .cols = m.at("cols"),
          .nnz = m.at("nnz"),
          .max_row = value_or<std::int64_t>(m, "max_row", 0),
          .checksum = checksum_of(m),
          .seeded_values = value_or(m, "seeded_values", false),
          .not_finite = value_or<std::int64_t>(m, "not_finite", 0),
          .load_seconds = value_or(m, "load_seconds", 0.0)};
}

/// Times are divided by, and their logarithms are taken.
double positive(const json& object, const char* key) {
  const double number = object.at(key);
  if (!(number > 0)) core::fail(errc::parse_error, "{} = {}: must be above 0", key, number);
  return number;
}

std::optional<time_statistics> times_of(const json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || found->is_null()) return std::nullopt;
  const json& t = *found;
  time_statistics times{.median = positive(t, "median"), .min = positive(t, "min"), .max = positive(t, "max")};
  times.p10 = value_or(t, "p10", times.min);
  times.p90 = value_or(t, "p90", times.max);
  times.num_samples = value_or<std::int64_t>(t, "samples", 1);
  times.launches_per_sample = value_or<std::int64_t>(t, "launches_per_sample", 1);
  times.recorded = value_or(t, "recorded", false);
  times.samples = value_or<std::vector<double>>(t, "seconds", {});
  for (const double sample : times.samples) {
    if (!(sample > 0)) core::fail(errc::parse_error, "seconds holds {}: must be above 0", sample);
  }
  return times;
}

entry_result entry_of(const json& e) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  entry_result entry{.name = e.at("name"), .group = e.at("group"), .ours = e.at("ours")};
  entry.order = layout_of(e.at("layout"));
  entry.status = status_of(e.at("status"));
  entry.message = text_or_none(e, "message");
  entry.kernel = text_or_none(e, "kernel");
  entry.reason = text_or_none(e, "reason");
  entry.m_block = value_or<std::int64_t>(e, "m_block", 0);
  entry.convert_seconds = value_or(e, "convert_seconds", 0.0);
  entry.bounded = value_or(e, "bounded", true);
  entry.error.max_error = value_or(e, "max_error", infinite);
  entry.error.max_bound_share = value_or(e, "bound_share", infinite);
  entry.error.violations = value_or<std::int64_t>(e, "violations", 0);
  entry.error.by_class = value_or<std::int64_t>(e, "by_class", 0);
  entry.error.unchecked = value_or<std::int64_t>(e, "unchecked", 0);
  entry.gflops = value_or(e, "gflops", 0.0);
  for (const setting in : all_settings) {
    const std::string key(to_string(in));
    entry.times[in] = times_of(e, key.c_str());
    const std::string share = in == setting::warm ? "roofline_share" : key + "_roofline_share";
    entry.roofline_shares[in] = value_or(e, share.c_str(), 0.0);
  }
  if (e.contains("start_seconds")) entry.start_seconds = positive(e, "start_seconds");
  return entry;
}

case_result case_of(const json& c, const std::map<std::string, std::size_t>& places) {
  const std::string name = c.at("matrix");
  const auto place = places.find(name);
  if (place == places.end()) core::fail(errc::parse_error, "cases: matrix = \"{}\": not among the matrices", name);
  case_result made{.matrix = place->second, .cols = c.at("cols")};
  made.type = type_of(c.at("type"));
  made.order = layout_of(c.at("layout"));
  made.roofline_seconds = value_or(c, "roofline_seconds", 0.0);
  made.skipped = text_or_none(c, "skipped");
  for (const json& e : c.at("entries")) made.entries.push_back(entry_of(e));
  const json sweep = value_or(c, "sweep", json::object());
  for (const auto& [algorithm, configs] : sweep.items()) {
    for (const auto& config : configs.items()) {
      made.sweep.push_back({algorithm, config.key(), positive(configs, config.key().c_str())});
    }
  }
  return made;
}

run_result run_of(const json& document) {
  run_result run{.machine = machine_of(document.at("machine")),
                 .main_rival = text_or_none(document, "main_rival"),
                 .algorithms = value_or<std::vector<std::string>>(document, "algorithms", {}),
                 .seed = value_or<std::uint64_t>(document, "seed", 0),
                 .thorough = value_or(document, "thorough", false),
                 .seconds = value_or(document, "seconds", 0.0)};
  if (text_or_none(document, "compute") == to_string(compute_class::tf32)) run.compute = compute_class::tf32;
  std::map<std::string, std::size_t> places;
  for (const json& m : document.at("matrices")) {
    places[m.at("name")] = run.matrices.size();
    run.matrices.push_back(matrix_of(m));
  }
  for (const json& c : document.at("cases")) run.cases.push_back(case_of(c, places));
  for (const json& p : value_or(document, "problems", json::array())) {
    run.problems.push_back({p.at("name"), p.at("message"), value_or(p, "fatal", true)});
  }
  return run;
}

/// What has to be the same for ratios to mean the same.
std::string where(const machine_facts& m) {
  return m.gpu_name.empty() ? core::format("{}, {} threads", m.cpu_model, m.threads) : m.gpu_name;
}

using case_key = std::tuple<std::string, value_type, layout, std::int64_t>;

void add_run(run_result& all, const run_result& more, std::map<std::string, std::size_t>& matrices,
             std::map<case_key, std::size_t>& cases) {
  for (const matrix_facts& m : more.matrices) {
    const auto [place, is_new] = matrices.try_emplace(m.name, all.matrices.size());
    if (is_new) {
      all.matrices.push_back(m);
    } else {
      all.matrices[place->second] = m;
    }
  }
  for (case_result c : more.cases) {
    const std::string& name = more.matrices[c.matrix].name;
    c.matrix = matrices.at(name);
    const auto [place, is_new] = cases.try_emplace({name, c.type, c.order, c.cols}, all.cases.size());
    if (is_new) {
      all.cases.push_back(std::move(c));
    } else {
      all.cases[place->second] = std::move(c);
    }
  }
  for (const std::string& algorithm : more.algorithms) {
    if (!std::ranges::count(all.algorithms, algorithm)) all.algorithms.push_back(algorithm);
  }
  all.problems.insert(all.problems.end(), more.problems.begin(), more.problems.end());
  all.machine = more.machine;
  all.thorough = all.thorough && more.thorough;
  all.seconds += more.seconds;
}

}  // namespace

std::string read_text(const std::filesystem::path& path) {
  errno = 0;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);  // reads plain text too
  if (!file) {
    core::fail(errc::io_error, "{}: cannot be read: {}", path.string(), std::generic_category().message(errno));
  }
  std::string text;
  std::array<char, 1 << 16> piece{};
  while (true) {
    const int got = gzread(file.get(), piece.data(), piece.size());
    int status = Z_OK;
    const char* const why = gzerror(file.get(), &status);
    if (status == Z_ERRNO) {
      core::fail(errc::io_error, "{}: cannot be read: {}", path.string(), std::generic_category().message(errno));
    }
    // At the end of a stream that is cut off zlib has bytes to give and says so only here.
    if (got < 0 || status != Z_OK) core::fail(errc::corrupt_compression, "{}: {}", path.string(), why);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > max_bytes) {
      core::fail(errc::decompression_limit, "{}: more than {} bytes: no results file is so long", path.string(),
                 max_bytes);
    }
  }
}

run_result read_results(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  try {
    const json document = json::parse(text);
    const std::string schema = document.is_object() ? value_or<std::string>(document, "schema", "") : "";
    if (schema != json_schema) {
      core::fail(errc::invalid_format, "{}: schema = \"{}\": must be {}: a file of `bcsc bench --out`", path.string(),
                 schema, json_schema);
    }
    return run_of(document);
  } catch (const json::exception& e) {
    core::fail(errc::parse_error, "{}: {}", path.string(), e.what());
  } catch (const error& e) {
    if (e.code() != errc::parse_error) throw;
    core::fail(errc::parse_error, "{}: {}", path.string(), e.what());
  }
}

merged_results merge_results(std::span<const std::filesystem::path> paths) {
  if (paths.empty()) core::fail(errc::invalid_argument, "merge_results: paths is empty: at least one file is needed");
  merged_results merged;
  std::map<std::string, std::size_t> matrices;
  std::map<case_key, std::size_t> cases;
  for (const std::filesystem::path& path : paths) {
    const run_result run = read_results(path);
    merged.sources.push_back({path.filename().string(), run.machine, run.seconds});
    if (merged.sources.size() == 1) {
      merged.run.main_rival = run.main_rival;
      merged.run.compute = run.compute;
      merged.run.seed = run.seed;
      merged.run.thorough = true;
    }
    const results_source& first = merged.sources.front();
    if (where(run.machine) != where(first.machine)) {
      core::fail(errc::invalid_argument, "{}: machine = \"{}\": {} has \"{}\": one report is of one machine",
                 path.string(), where(run.machine), first.name, where(first.machine));
    }
    if (run.main_rival != merged.run.main_rival) {
      core::fail(errc::invalid_argument, "{}: main_rival = \"{}\": {} has \"{}\": one report is against one rival",
                 path.string(), run.main_rival, first.name, merged.run.main_rival);
    }
    if (run.compute != merged.run.compute) {
      core::fail(errc::invalid_argument, "{}: compute = \"{}\": {} has \"{}\": one report is of one precision",
                 path.string(), to_string(run.compute), first.name, to_string(merged.run.compute));
    }
    add_run(merged.run, run, matrices, cases);
  }
  return merged;
}

}  // namespace bcsc::bench
