#include "matrices/sha256.hpp"

namespace bcsc::suitesparse {

std::string why_no_sha256() { return "built without OpenSSL's libcrypto"; }

std::string sha256_of(const std::filesystem::path&) { return {}; }

}  // namespace bcsc::suitesparse
