#include "lib/choice/residual_code.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "lib/choice/neighbours.hpp"

namespace bcsc::choice {

namespace {

/// The probability that a bit is set, in 4096ths. It follows the bits that were seen, the latest ones most.
class bit_odds {
 public:
  std::uint32_t of_4096() const { return odds_; }
  void learn(bool bit) {
    constexpr int slowest = 4;
    constexpr std::uint16_t least = 31;  // a bit is never certain: what was thought impossible could not be coded
    shift_ = std::min(shift_ + 1, slowest);
    odds_ = static_cast<std::uint16_t>(bit ? odds_ + ((4096 - odds_) >> shift_) : odds_ - (odds_ >> shift_));
    odds_ = std::clamp<std::uint16_t>(odds_, least, 4096 - least);
  }

 private:
  std::uint16_t odds_ = 2048;
  std::int8_t shift_ = 0;  ///< the first bits move the odds by a half, a quarter, ...
};

/// The interval that an arithmetic code narrows bit by bit. Once both ends share their leading byte, that byte is
/// settled and shifted out.
class interval {
 public:
  std::uint32_t first() const { return first_; }
  /// The last number at which a bit of such odds is set.
  std::uint32_t split(std::uint32_t of_4096) const { return first_ + ((last_ - first_) >> 12) * of_4096; }
  void narrow(std::uint32_t at, bool bit) { (bit ? last_ : first_) = bit ? at : at + 1; }
  bool shares_a_byte() const { return (first_ ^ last_) >> 24 == 0; }
  void drop_byte() {
    first_ <<= 8;
    last_ = last_ << 8 | 0xff;
  }

 private:
  std::uint32_t first_ = 0, last_ = 0xffffffff;
};

class encoder {
 public:
  bool code(bit_odds& odds, bool bit) {
    interval_.narrow(interval_.split(odds.of_4096()), bit);
    for (; interval_.shares_a_byte(); interval_.drop_byte()) put(interval_.first() >> 24);
    odds.learn(bit);
    return bit;
  }
  std::string finish() && {
    for (int shift = 24; shift >= 0; shift -= 8) put(interval_.first() >> shift);
    return std::move(bytes_);
  }

 private:
  void put(std::uint32_t byte) { bytes_ += static_cast<char>(byte & 0xff); }

  interval interval_;
  std::string bytes_;
};

class decoder {
 public:
  explicit decoder(std::string_view bytes) : left_(bytes) {
    for (int i = 0; i < 4; ++i) at_ = at_ << 8 | next();
  }
  bool code(bit_odds& odds, bool /*not known yet*/) {
    const std::uint32_t split = interval_.split(odds.of_4096());
    const bool bit = at_ <= split;
    interval_.narrow(split, bit);
    for (; interval_.shares_a_byte(); interval_.drop_byte()) at_ = at_ << 8 | next();
    odds.learn(bit);
    return bit;
  }
  bool at_end() const { return left_.empty(); }

 private:
  std::uint32_t next() {
    if (left_.empty()) core::fail(errc::invalid_format, "the code of the residuals has no end");
    const auto byte = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    return byte;
  }

  interval interval_;
  std::string_view left_;
  std::uint32_t at_ = 0;
};

/// The odds of a residual's bits, learnt apart for each pair of magnitudes of two residuals that are known by then: the
/// same config's in the previous case, and the previous config's in the same case.
class residual_odds {
 public:
  explicit residual_odds(std::size_t width) : last_case_(std::max<std::size_t>(width, 1), no_residual) {}

  /// Codes `residual` with an encoder, reads the next one with a decoder; returns it. The odds of a bit depend on the
  /// higher ones.
  char code(auto& coder, char residual = no_residual) {
    auto& odds = odds_[magnitude_of(last_case_[config_])][magnitude_of(last_)];
    const int told = residual - no_residual + middle;
    std::size_t bits = 1;
    for (int place = num_bits - 1; place >= 0; --place) {
      bits = 2 * bits + (coder.code(odds[bits], (told >> place & 1) != 0) ? 1 : 0);
    }
    const auto coded = static_cast<char>(no_residual - middle + static_cast<int>(bits - odds.size()));
    last_case_[config_] = coded;
    config_ = (config_ + 1) % last_case_.size();
    last_ = config_ == 0 ? no_residual : coded;
    return coded;
  }

 private:
  static constexpr int num_bits = 7, middle = 1 << (num_bits - 1);
  static constexpr std::array<int, 5> limits{0, 3, 6, 12, 18};  ///< of the magnitudes but the largest
  static constexpr std::size_t num_magnitudes = 2 * limits.size() + 1;

  /// Negative residuals have their own.
  static std::size_t magnitude_of(char residual) {
    const int steps = residual - no_residual;
    const auto found = static_cast<std::size_t>(std::ranges::lower_bound(limits, std::abs(steps)) - limits.begin());
    return steps < 0 ? limits.size() + found : found;
  }

  std::vector<char> last_case_;
  char last_ = no_residual;
  std::size_t config_ = 0;
  std::array<std::array<std::array<bit_odds, 1 << num_bits>, num_magnitudes>, num_magnitudes> odds_;
};

}  // namespace

std::string encode_residuals(std::string_view residuals, std::size_t width) {
  residual_odds odds(width);
  encoder code;
  for (const char residual : residuals) odds.code(code, residual);
  return std::move(code).finish();
}

std::string decode_residuals(std::string_view code, std::size_t width, std::size_t count) {
  residual_odds odds(width);
  decoder bytes(code);
  std::string residuals;  // grows with what is read: a file may ask for any count
  while (residuals.size() < count) residuals += odds.code(bytes);
  if (!bytes.at_end()) core::fail(errc::invalid_format, "the code of {} residuals goes on behind them", count);
  return residuals;
}

}  // namespace bcsc::choice
