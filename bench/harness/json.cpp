#include "bench/harness/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace bcsc::bench {

json to_json(const machine_facts& m) {
  return {{"git_hash", m.git_hash},
          {"library_version", m.library_version},
          {"compiler", m.compiler},
          {"date", m.date},
          {"backend", m.backend},
          {"context", m.context},
          {"cpu_model", m.cpu_model},
          {"num_cpus", m.num_cpus},
          {"threads", m.threads},
          {"last_level_cache_bytes", m.caches.l3},
          {"gpu_name", m.gpu_name},
          {"compute_capability", m.compute_capability},
          {"gpu_memory_bytes", m.gpu_memory_bytes},
          {"gpu_l2_bytes", m.gpu_l2_bytes},
          {"gpu_clocks", m.gpu_clocks},
          {"versions", m.versions},
          {"copy_bandwidth", m.copy_bandwidth},
          {"cache_bandwidth", m.cache_bandwidth},
          {"peak_fp32", m.peak_fp32},
          {"peak_fp64", m.peak_fp64}};
}

json to_json(const matrix_facts& m) {
  return {{"name", m.name},
          {"source", m.source},
          {"kind", m.kind},
          {"pattern_class", m.pattern_class},
          {"rows", m.rows},
          {"cols", m.cols},
          {"nnz", m.nnz},
          {"max_row", m.max_row},
          {"checksum", fmt::format("{:016x}", m.checksum)},
          {"seeded_values", m.seeded_values},
          {"not_finite", m.not_finite},
          {"load_seconds", m.load_seconds}};
}

double in_five_digits(double x) {
  if (!std::isfinite(x) || x == 0) return x;
  return std::strtod(fmt::format("{:.4e}", x).c_str(), nullptr);
}

json to_json(const std::optional<time_statistics>& t) {
  if (!t) return nullptr;
  json j = {{"median", t->median},
            {"min", t->min},
            {"max", t->max},
            {"p10", t->p10},
            {"p90", t->p90},
            {"samples", t->num_samples},
            {"launches_per_sample", t->launches_per_sample}};
  if (t->recorded) j["recorded"] = true;
  if (t->samples.empty()) return j;
  json& seconds = j["seconds"] = json::array();
  for (const double sample : t->samples) seconds.push_back(in_five_digits(sample));
  return j;
}

json finite_or_null(double x) { return std::isfinite(x) ? json(x) : json(nullptr); }

json begin_document(std::string_view schema, const machine_facts& machine) {
  return {{"schema", schema}, {"machine", to_json(machine)}};
}

std::string text_of(const json& document) {
  return document.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
}

}  // namespace bcsc::bench
