#include "bench/harness/report.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include "bench/harness/json.hpp"
#include "core/fail.hpp"
#include "core/new_file.hpp"

namespace bcsc::bench {

namespace {

// --- JSON -----------------------------------------------------------------------------------------------------------

template <class X>
json value_or_null(const std::optional<X>& x) {
  return x ? json(*x) : json(nullptr);
}

/// Keys for warm products have the plain name, others the setting as a prefix: "ratio", "cold_ratio".
std::string key(std::string_view what, setting in) {
  return in == setting::warm ? std::string(what) : fmt::format("{}_{}", to_string(in), what);
}

json to_json(const entry_result& e) {
  json j = {{"name", e.name},
            {"group", e.group},
            {"ours", e.ours},
            {"layout", to_string(e.order)},
            {"status", to_string(e.status)},
            {"message", e.message}};
  if (e.ours) {
    j["kernel"] = e.kernel;
    j["reason"] = e.reason;
    j["m_block"] = e.m_block;
  }
  j["convert_seconds"] = e.convert_seconds;
  j["bounded"] = e.bounded;
  j["max_error"] = finite_or_null(e.error.max_error);
  j["bound_share"] = finite_or_null(e.error.max_bound_share);
  j["violations"] = e.error.violations;
  j["by_class"] = e.error.by_class;
  j["unchecked"] = e.error.unchecked;
  j["gflops"] = e.gflops;
  for (const setting in : all_settings) {
    j[std::string(to_string(in))] = to_json(e.times[in]);
    j[key("roofline_share", in)] = e.roofline_shares[in];
  }
  if (e.start_seconds) j["start_seconds"] = *e.start_seconds;
  return j;
}

json name_or_null(const entry_result* e) { return e != nullptr ? json(e->name) : json(nullptr); }

json to_json(const run_result& run, const case_result& c) {
  const verdict v = judge(c, run.main_rival);
  json entries = json::array();
  for (const entry_result& e : c.entries) entries.push_back(to_json(e));
  json j = {{"matrix", run.matrices[c.matrix].name},
            {"cols", c.cols},
            {"type", to_string(c.type)},
            {"layout", to_string(c.order)},
            {"roofline_seconds", c.roofline_seconds},
            {"skipped", c.skipped},
            {"best_config", name_or_null(v.config)},
            {"best_rival", name_or_null(v.rival)},
            {"best_config_ratio", value_or_null(v.config_ratio)},
            {"payback_products", value_or_null(v.payback)}};
  for (const setting in : all_settings) {
    j[key("ratio", in)] = value_or_null(v.ratios[in]);
    j[key("ratio_any", in)] = value_or_null(v.any_ratios[in]);
  }
  j["entries"] = std::move(entries);
  if (c.sweep.empty()) return j;
  json& sweep = j["sweep"] = json::object();
  for (const swept_config& swept : c.sweep) sweep[swept.algorithm][swept.config] = in_five_digits(swept.seconds);
  return j;
}

// --- Summary
// -----------------------------------------------------------------------------------------------------------

json to_json(const ratio_summary& s) {
  return {{"cases", s.num_cases},
          {"geometric_mean", s.geometric_mean},
          {"worst", s.worst},
          {"worst_case", s.worst_case},
          {"share_of_losses", s.share_of_losses}};
}

// --- Files ----------------------------------------------------------------------------------------------------------

std::string gzip(std::string_view text) {
  z_stream stream{};
  constexpr int gzip_header = 16;
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + gzip_header, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    core::fail(errc::io_error, "zlib: deflateInit2 failed");
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) core::fail(errc::io_error, "zlib: deflate failed with {}", status);
  return packed;
}

}  // namespace

std::string to_json_text(const run_result& run) {
  json matrices = json::array(), cases = json::array(), problems = json::array();
  for (const matrix_facts& m : run.matrices) matrices.push_back(to_json(m));
  for (const case_result& c : run.cases) cases.push_back(to_json(run, c));
  for (const input_problem& p : run.problems) {
    problems.push_back({{"name", p.name}, {"message", p.message}, {"fatal", p.fatal}});
  }
  const run_ratios ratios = collect_ratios(run);
  json summary = {{"best_config_warm", to_json(summarise_ratios(ratios.config))}, {"failures", count_failures(run)}};
  for (const setting in : all_settings) {
    summary[fmt::format("plan_{}", to_string(in))] = to_json(summarise_ratios(ratios.plan[in]));
    summary[fmt::format("plan_{}_any", to_string(in))] = to_json(summarise_ratios(ratios.plan_any[in]));
  }
  const json all = {{"schema", json_schema},
                    {"machine", to_json(run.machine)},
                    {"main_rival", run.main_rival},
                    {"algorithms", run.algorithms},
                    {"seed", run.seed},
                    {"compute", to_string(run.compute)},
                    {"thorough", run.thorough},
                    {"seconds", run.seconds},
                    {"matrices", matrices},
                    {"cases", cases},
                    {"problems", problems},
                    {"summary", summary}};
  // Names come from file names, which need not be UTF-8.
  return all.dump(1, ' ', false, json::error_handler_t::replace);
}

std::filesystem::path write_text(std::string_view text, const std::filesystem::path& path) {
  const bool asks_for_gzip = path.extension() == ".gz";
  // What reads a pipe takes what comes as text, however long it is.
  const bool compress = asks_for_gzip || (text.size() > gzip_above_bytes && !core::is_written_directly(path));
  std::filesystem::path target = path;
  if (compress && !asks_for_gzip) target += ".gz";
  if (compress) {
    core::write_new_file(target, gzip(text));
    // What a running program wrote under the plain name, when it was shorter, is out of date.
    std::error_code ignored;
    if (target != path) std::filesystem::remove(path, ignored);
  } else {
    core::write_new_file(target, text);
  }
  return target;
}

std::filesystem::path write_json(const run_result& run, const std::filesystem::path& path) {
  return write_text(to_json_text(run) + '\n', path);
}

}  // namespace bcsc::bench
