#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

/// The one way in which files that a user names are written.
namespace bcsc::core {

/// A file that comes into being whole or not at all: what is written goes to a temporary file in its folder, and
/// commit() gives that the name. Without commit() nothing is left behind. Where the file system has files without names
/// (O_TMPFILE), the temporary one has none, so that not even a killed process leaves it. A link stays a link, even one
/// to what is not there yet: what it points to is replaced.
///
/// Pipes, character devices and open descriptors (/dev/stdout, /dev/fd/3) are written directly, from the first byte to
/// the last.
///
/// Errors are error{io_error} with the path and the system's reason.
class new_file {
 public:
  /// Throws if the folder cannot be written, or if `path` exists and is none of these.
  explicit new_file(const std::filesystem::path& path);
  ~new_file();
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;

  void write(std::string_view bytes);
  /// Gives the file its name. With `durable`, a power failure afterwards leaves the old file or the new one, whole.
  void commit(bool durable = false);
  const std::string& path() const { return path_; }

 private:
  void open();
  /// Opens `path` for writing directly; false if it is a regular file, or is to become one.
  bool open_straight(const std::filesystem::file_status& status);
  bool open_unnamed();
  void open_named();
  /// Gives the unnamed file the target's name; false, and a name of its own, if there is a file of that name already.
  bool link_into_place();
  /// Tries create(name) with random names beside the target until none exists; false, and errno, if it fails otherwise.
  template <class Create>
  bool with_fresh_name(Create&& create);
  std::filesystem::path folder() const;
  /// Closes the descriptor; returns 0 or errno.
  int close() noexcept;
  [[noreturn]] void fail_io(const char* what, int number) const;

  std::string path_;
  std::filesystem::path target_;
  std::filesystem::path temporary_;  ///< the name of the temporary file; empty while it has none
  int file_ = -1;
  bool straight_ = false;  ///< what is written is the target itself
};

/// A whole new_file.
void write_new_file(const std::filesystem::path& path, std::string_view bytes);

/// Whether a new_file writes there directly: a pipe, a device or an open descriptor, which takes what it is given once.
bool is_written_directly(const std::filesystem::path& path);

/// The file that a name stands for: a link stays a link, even one to what is not there yet.
std::filesystem::path behind_links(std::filesystem::path file);

}  // namespace bcsc::core
