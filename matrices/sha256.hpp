#pragma once

#include <filesystem>
#include <string>

namespace bcsc::suitesparse {

/// Why there are no checksums: built without libcrypto, or there is none on this machine. Empty if there are.
std::string why_no_sha256();

/// The SHA-256 of a file, 64 hexadecimal digits in lower case; empty if why_no_sha256(). Throws error{io_error}.
std::string sha256_of(const std::filesystem::path& path);

}  // namespace bcsc::suitesparse
