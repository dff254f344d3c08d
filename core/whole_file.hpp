#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

/// Small files that are read as a whole, and replaced as a whole so that readers need no lock.
namespace bcsc::core {

/// An open file of the system's.
class open_file {
 public:
  open_file(const std::filesystem::path& path, int flags);
  ~open_file();
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;

  int number() const { return number_; }
  /// Reports the result of closing it: some file systems report a full disk only then.
  bool close();

 private:
  int number_;
};

/// Throws error{io_error}, "`what` `file`: `failed`: " and what the system's `number` says.
[[noreturn]] void fail_io(std::string_view what, const std::filesystem::path& file, const char* failed, int number);

/// Empty where there is no file. `what` it is, for messages. Throws error{io_error}; error{invalid_format} for what is
/// no regular file or larger than `max_bytes`.
std::string read_whole(std::string_view what, const std::filesystem::path& file, std::int64_t max_bytes);

/// Writes a file beside it, makes that the file, and makes its folder first. Throws error{io_error}, which leaves it as
/// it was.
void replace_whole(std::string_view what, const std::filesystem::path& file, std::string_view text);

/// Makes the folder that `file` is to lie in. Throws error{io_error}.
void make_folder_of(std::string_view what, const std::filesystem::path& file);

/// CRC-32 in eight hexadecimal digits.
std::string checksum_of(std::string_view text);

}  // namespace bcsc::core
