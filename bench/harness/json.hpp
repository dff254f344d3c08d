#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "bench/harness/machine.hpp"
#include "bench/harness/results.hpp"

/// What the JSON of every benchmark program has in common (docs/benchmark.md lists the keys).
namespace bcsc::bench {

using json = nlohmann::ordered_json;

json to_json(const machine_facts& m);
json to_json(const matrix_facts& m);
json to_json(const std::optional<time_statistics>& t);

/// Of a clock, whose resolution is coarser; with all digits files are half as long again.
double in_five_digits(double x);

/// JSON has no infinity: null.
json finite_or_null(double x);

/// {"schema", "machine"}: how a program's results begin.
json begin_document(std::string_view schema, const machine_facts& machine);

/// As it is written: names come from file names, which need not be UTF-8.
std::string text_of(const json& document);

}  // namespace bcsc::bench
