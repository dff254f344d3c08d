#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/tune/stopwatch.hpp"

namespace bcsc::test {

/// What products take, as the test says; runs none of them.
class scripted_clock {
 public:
  double usual = 1e-5;                     ///< seconds of one product
  std::map<std::string, double> others;    ///< of those that differ
  std::map<std::string, int> disturb;      ///< of whose samples every n-th takes ten times as long
  std::vector<std::string> asked;          ///< whose, in order
  std::map<std::string, double> products;  ///< run
  double total = 0;                        ///< seconds, of all stopwatches
  int num_made = 0;

  tuning::make_stopwatch_fn maker() {
    return [this](std::span<const tuning::contestant> all) {
      ++num_made;
      return std::make_unique<watch>(*this, all);
    };
  }

 private:
  class watch final : public tuning::stopwatch {
   public:
    watch(scripted_clock& script, std::span<const tuning::contestant> all) : script_(script) {
      for (const auto& one : all) names_.push_back(one.name);
    }
    double seconds(std::size_t which, std::int64_t count) override {
      const std::string& name = names_.at(which);
      script_.asked.push_back(name);
      double each = script_.others.contains(name) ? script_.others.at(name) : script_.usual;
      const int every = script_.disturb.contains(name) ? script_.disturb.at(name) : 0;
      if (every > 0 && ++num_samples_[name] % every == 0) each *= 10;
      script_.products[name] += static_cast<double>(count);
      elapsed_ += each * static_cast<double>(count);
      script_.total += each * static_cast<double>(count);
      return each;
    }
    double elapsed() const override { return elapsed_; }

   private:
    scripted_clock& script_;
    std::vector<std::string> names_;
    std::map<std::string, int> num_samples_;
    double elapsed_ = 0;
  };
};

}  // namespace bcsc::test
