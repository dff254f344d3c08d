#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <memory>
#include <vector>

#include "core/fail.hpp"
#include "core/format.hpp"
#include "core/run_time_library.hpp"
#include "matrices/sha256.hpp"

namespace bcsc::suitesparse {
namespace {

struct libcrypto {
  decltype(&EVP_MD_CTX_new) md_ctx_new = nullptr;
  decltype(&EVP_MD_CTX_free) md_ctx_free = nullptr;
  decltype(&EVP_sha256) sha256 = nullptr;
  decltype(&EVP_DigestInit_ex) digest_init = nullptr;
  decltype(&EVP_DigestUpdate) digest_update = nullptr;
  decltype(&EVP_DigestFinal_ex) digest_final = nullptr;
  std::string why_not;

  libcrypto() {
    core::run_time_library library(BCSC_LIBCRYPTO);
    library.bind(md_ctx_new, "EVP_MD_CTX_new");
    library.bind(md_ctx_free, "EVP_MD_CTX_free");
    library.bind(sha256, "EVP_sha256");
    library.bind(digest_init, "EVP_DigestInit_ex");
    library.bind(digest_update, "EVP_DigestUpdate");
    library.bind(digest_final, "EVP_DigestFinal_ex");
    why_not = library.why_not();
  }
};

const libcrypto& crypto() {
  static const libcrypto loaded;
  return loaded;
}

void require(int good) {
  if (good != 1) core::fail(errc::internal, "libcrypto cannot compute a SHA-256");
}

}  // namespace

std::string why_no_sha256() { return crypto().why_not; }

std::string sha256_of(const std::filesystem::path& path) {
  if (!crypto().why_not.empty()) return {};
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(crypto().md_ctx_new(), crypto().md_ctx_free);
  if (digest == nullptr) core::fail(errc::out_of_memory, "no memory for a SHA-256");
  require(crypto().digest_init(digest.get(), crypto().sha256(), nullptr));

  std::ifstream file(path, std::ios::binary);
  std::vector<char> chunk(std::size_t{256} << 10);
  while (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || file.gcount() > 0) {
    require(crypto().digest_update(digest.get(), chunk.data(), static_cast<std::size_t>(file.gcount())));
  }
  if (!file.eof()) core::fail(errc::io_error, "{}: cannot be read", path.string());

  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned int size = 0;
  require(crypto().digest_final(digest.get(), sum.data(), &size));
  std::string text;
  for (unsigned int k = 0; k < size; ++k) text += core::format("{:02x}", sum[k]);
  return text;
}

}  // namespace bcsc::suitesparse
