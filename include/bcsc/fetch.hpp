#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "bcsc/catalogue.hpp"
#include "bcsc/files.hpp"

#pragma GCC visibility push(default)
/// Downloads from the SuiteSparse collection into a cache: CACHE/GROUP/NAME.tar.gz, the Matrix Market form.
/// libcurl and OpenSSL's libcrypto are looked for when they are first needed; a program that never fetches does not
/// load them.
namespace bcsc::suitesparse {

inline constexpr std::string_view default_url = "https://suitesparse-collection-website.herokuapp.com";

struct fetch_options {
  /// Where the collection is: URL/MM/GROUP/NAME.tar.gz is loaded, by http or https. Empty: $BCSC_COLLECTION_URL, else
  /// default_url.
  std::string url = {};
  std::filesystem::path cache = {};  ///< empty: cache_folder()
  /// What the archive's SHA-256 must be, 64 hexadecimal digits; empty: what it was at the first fetch.
  std::string sha256 = {};
  /// Certificate authorities to trust (PEM), for a private mirror; empty: the system's.
  std::string ca_file = {};
  bool again = false;  ///< download it even if it is in the cache
  /// At most this many bytes are taken from a server. 0: what the matrix can reasonably need, 64 MiB and 128 bytes for
  /// each entry, row and column.
  std::int64_t max_bytes = 0;
  /// An attempt is given up when connecting takes longer, or the rate stays below 1 KiB/s for this long.
  double timeout_seconds = 60;
  /// How often a failed attempt is repeated; the count restarts after one that got 1 MiB further than all before it.
  int retries = 4;
  double retry_delay_seconds = 1;                  ///< before the first retry; doubled for each, up to 30 s
  progress_callback progress = {};                 ///< bytes of the archive; total is 0 while unknown
  std::function<void(std::string_view)> log = {};  ///< receives why an attempt failed, and what it waits for
};

struct fetched {
  std::filesystem::path path;
  std::int64_t bytes = 0;
  std::string sha256;  ///< empty where there is no libcrypto
  bool from_cache = false;
  std::int64_t resumed_at = 0;  ///< bytes that an earlier attempt had left
  int attempts = 0;
};

/// BCSC_CACHE, else XDG_CACHE_HOME/bcsc, else HOME/.cache/bcsc. Throws error{invalid_argument} if none of them is set.
std::filesystem::path cache_folder();

/// Where a matrix is, or would be, in the cache.
std::filesystem::path cached_path(const entry& matrix, const std::filesystem::path& cache);

/// Why this program cannot download: built without libcurl or libarchive, or there is no libcurl on this machine. Empty
/// if it can.
std::string why_not_fetch();

/// Makes sure that the matrix is in the cache, and whole: a cached file is compared with its recorded SHA-256. One that
/// is downloaded, or has no record, is decompressed once (gzip's checksums), must hold NAME/NAME.mtx of the catalogue's
/// sizes (unless `sha256` vouches for it), and must have the recorded SHA-256 if there is a record. Partial downloads
/// are kept and resumed, if the server's file is still the same. Any number of processes may fetch the same matrix: one
/// downloads, the others wait for it. The cached file appears whole or not at all.
/// Throws error{invalid_argument} for an option, {unsupported} if why_not_fetch() (or, for `sha256`, without
/// libcrypto), {network_error}, {io_error} for the cache, {checksum_mismatch}, {size_mismatch} for another matrix,
/// {cancelled}, and, for anything else that was sent, what a reader throws: {corrupt_compression | truncated |
/// decompression_limit | parse_error | ...}.
fetched fetch(const entry& matrix, const fetch_options& options = {});
/// The same for a name as find() takes it.
fetched fetch(std::string_view name, const fetch_options& options = {});

}  // namespace bcsc::suitesparse
#pragma GCC visibility pop
