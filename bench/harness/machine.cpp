#include "bench/harness/machine.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <thread>

#include "bcsc/version.hpp"

namespace bcsc::bench {

namespace {

std::string git_hash() {
  // A copied tree has no history of its own, so the environment may say what it is.
  if (const char* said = std::getenv("BCSC_GIT_HASH"); said != nullptr && *said != '\0') return said;
  return BCSC_BUILD_GIT_HASH;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(':');
    if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return {};
}

}  // namespace

std::string first_line_of(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command, "r"), pclose);
  std::array<char, 512> buffer{};
  if (!pipe || std::fgets(buffer.data(), buffer.size(), pipe.get()) == nullptr) return {};
  std::string line = buffer.data();
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return line;
}

machine_facts describe_machine(const context& ctx) {
  machine_facts facts;
  facts.git_hash = git_hash();
  facts.library_version = version;
#if defined(__VERSION__)
  facts.compiler = __VERSION__;
#endif
  facts.date = utc_now();
  facts.backend = to_string(ctx.kind());
  facts.context = ctx.describe();
  facts.cpu_model = cpu_model();
  facts.num_cpus = static_cast<int>(std::thread::hardware_concurrency());
  facts.threads = ctx.kind() == backend::cpu ? ctx.threads() : facts.num_cpus;
  facts.caches = core::find_cpu_caches();
  return facts;
}

}  // namespace bcsc::bench
