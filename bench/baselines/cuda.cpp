#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/baselines/cuda_libraries.hpp"

/// NVIDIA's libraries as rivals.
namespace bcsc::bench {

namespace {

class cuda_rivals final : public rivals {
 public:
  explicit cuda_rivals(stage& where) : where_(where), library_(std::make_shared<nvidia::handles>(where.stream())) {}

  std::string main_group() const override { return "cusparse"; }

  void describe(machine_facts& facts) const override {
    int major = 0, minor = 0, patch = 0;
    const auto sparse = [](libraryPropertyType which, int* value) { cusparseGetProperty(which, value); };
    const auto dense = [](libraryPropertyType which, int* value) { cublasGetProperty(which, value); };
    const auto version = [&](auto get) {
      get(MAJOR_VERSION, &major);
      get(MINOR_VERSION, &minor);
      get(PATCH_LEVEL, &patch);
      return fmt::format("{}.{}.{}", major, minor, patch);
    };
    facts.versions["cusparse"] = version(sparse);
    facts.versions["cublas"] = version(dense);
  }

  std::vector<rival<float>> on(const problem<float>& p) override { return all(p); }
  std::vector<rival<double>> on(const problem<double>& p) override { return all(p); }
  std::vector<rival<half>> on(const problem<half>& p) override { return all(p); }
  std::vector<rival<bfloat16>> on(const problem<bfloat16>& p) override { return all(p); }

 private:
  template <number T>
  std::vector<rival<T>> all(const problem<T>& p) const {
    std::vector<rival<T>> them;
    nvidia::add_cusparse(library_, where_, p, them);
    nvidia::add_cublas(library_, where_, p, them);
    return them;
  }

  stage& where_;
  std::shared_ptr<nvidia::handles> library_;
};

}  // namespace

std::unique_ptr<rivals> open_cuda_rivals(stage& where) { return std::make_unique<cuda_rivals>(where); }

}  // namespace bcsc::bench
