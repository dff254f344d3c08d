#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "bcsc/bcsc.hpp"
#include "bcsc/generate.hpp"

/// Times products of one matrix on a GPU on command: two builds of the library, each with this program, take turns
/// under bench/report/compare_builds.py. It uses only the public headers, so that older trees compile it, too.
///
///     timed_products MATRIX < COMMANDS
///
///     plan TYPE N LAYOUT COMPUTE   fp32|fp64|fp16|bf16, row|col (of B and C), full|tf32; answers "ready KERNEL HASH",
///                                  HASH being that of the bits of C's first 16 MiB
///     time                         one sample; answers with microseconds per product
namespace {

using namespace bcsc;

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "error: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

/// Device memory that is filled once: B with small numbers of either sign, C with NaN.
class device_array {
 public:
  explicit device_array(std::size_t bytes) { check(cudaMalloc(&data_, bytes)); }
  ~device_array() { (void)cudaFree(data_); }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

std::uint64_t hash_of(const std::vector<std::uint32_t>& words) {
  std::uint64_t hash = 14695981039346656037u;
  for (const std::uint32_t word : words) hash = (hash ^ word) * 1099511628211u;
  return hash;
}

class timed_plan {
 public:
  virtual ~timed_plan() = default;
  virtual std::string kernel() const = 0;
  virtual std::uint64_t hash() = 0;
  virtual void run() = 0;
};

template <number T>
class timed_plan_of : public timed_plan {
 public:
  timed_plan_of(const context& ctx, const csr_matrix<float>& a, std::int64_t n, layout order, compute_class compute)
      : plan_(ctx, cast<T, std::int32_t>(a),
              {.cols = n, .b_layout = order, .compute = compute, .check = trust::trusted}),
        b_bytes_(static_cast<std::size_t>(a.cols() * n) * sizeof(T)),
        c_bytes_(static_cast<std::size_t>(a.rows() * n) * sizeof(T)),
        b_(b_bytes_),
        c_(c_bytes_ + sizeof(std::uint32_t)),
        b_view_(static_cast<const T*>(b_.data()), a.cols(), n, order == layout::row_major ? n : a.cols(), order),
        c_view_(static_cast<T*>(c_.data()), a.rows(), n, order == layout::row_major ? n : a.rows(), order) {
    fill_b();
    check(cudaMemset(c_.data(), 0xff, c_bytes_));
  }
  std::string kernel() const override { return plan_.facts().kernel.name; }
  std::uint64_t hash() override {
    run();
    constexpr std::size_t max_bytes = std::size_t{16} << 20;
    std::vector<std::uint32_t> words(std::min(c_bytes_, max_bytes) / sizeof(std::uint32_t));
    check(cudaMemcpy(words.data(), c_.data(), words.size() * sizeof(words[0]), cudaMemcpyDeviceToHost));
    return hash_of(words);
  }
  void run() override { plan_.run(static_cast<scalar_of<T>>(1), b_view_, static_cast<scalar_of<T>>(0), c_view_); }

 private:
  /// The same numbers again and again: drawing them all would take longer than the products.
  void fill_b() {
    std::vector<T> values(std::min(b_bytes_ / sizeof(T), std::size_t{1} << 20));
    std::uint32_t state = 1;
    for (T& value : values) {
      state = state * 1664525u + 1013904223u;
      value = static_cast<T>(static_cast<float>(static_cast<std::int32_t>(state) >> 16) / 32768.0F);
    }
    auto* const to = static_cast<char*>(b_.data());
    std::size_t filled = values.size() * sizeof(T);
    check(cudaMemcpy(to, values.data(), filled, cudaMemcpyHostToDevice));
    for (; filled < b_bytes_; filled *= 2) {
      check(cudaMemcpy(to + filled, to, std::min(filled, b_bytes_ - filled), cudaMemcpyDeviceToDevice));
    }
  }

  spmm_plan<T> plan_;
  std::size_t b_bytes_, c_bytes_;
  device_array b_, c_;
  dense_view<const T> b_view_;
  dense_view<T> c_view_;
};

/// Microseconds per product, over as many as fill two milliseconds.
double sample(timed_plan& plan, cudaEvent_t begin, cudaEvent_t end) {
  const auto us_of = [&](int products) {
    check(cudaEventRecord(begin));
    for (int i = 0; i < products; ++i) plan.run();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end));
    return 1e3 * static_cast<double>(ms) / products;
  };
  const double about = us_of(3);
  return us_of(static_cast<int>(std::clamp(2000.0 / about, 5.0, 400.0)));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: timed_products MATRIX < COMMANDS\n");
    return 2;
  }
  const std::string name = argv[1];
  const csr_matrix<float> a = std::filesystem::exists(name) ? read_csr<float>(name, {.pattern_seed = 1})
                                                            : generate::from_specification<float>(name);
  const context ctx = context::cuda();
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::unique_ptr<timed_plan> plan;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, type, order, compute;
    std::int64_t n = 0;
    words >> command >> type >> n >> order >> compute;
    if (command == "time" && plan != nullptr) {
      std::printf("%.4f\n", sample(*plan, begin, end));
    } else if (command == "plan") {
      plan = nullptr;
      const auto make = [&]<class T>(T) {
        plan = std::make_unique<timed_plan_of<T>>(ctx, a, n, order == "col" ? layout::col_major : layout::row_major,
                                                  compute == "tf32" ? compute_class::tf32 : compute_class::full);
      };
      type == "fp64"   ? make(double{})
      : type == "fp16" ? make(half{})
      : type == "bf16" ? make(bfloat16{})
                       : make(float{});
      std::printf("ready %s %016llx\n", plan->kernel().c_str(), static_cast<unsigned long long>(plan->hash()));
    } else {
      std::fprintf(stderr, "error: not a command: %s\n", line.c_str());
      return 2;
    }
    std::fflush(stdout);
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "error: %s\n", problem.what());
  return 1;
}
