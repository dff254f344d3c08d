#include "tools/bcsc/spool.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/fail.hpp"
#include "core/memory.hpp"

namespace bcsc::cli {
namespace {

[[noreturn]] void fail_io(const std::string& name, const char* what) {
  core::fail(errc::io_error, "{}: {}: {}", name, what, std::generic_category().message(errno));
}

/// The open descriptor that the name stands for, as a shell's <(command) does.
std::optional<int> descriptor_of(std::string_view name) {
  if (name == "-" || name == "/dev/stdin") return STDIN_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(folder)) continue;
    int number = -1;
    const std::string_view digits = name.substr(folder.size());
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (status == std::errc() && end == digits.data() + digits.size()) return number;
  }
  return std::nullopt;
}

/// A regular file that has not been read from: it may be opened by its path.
bool begins_at_its_start(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && ::lseek(file, 0, SEEK_CUR) == 0;
}

void write_all(int to, const char* from, std::size_t size, const std::string& name) {
  while (size > 0) {
    const ssize_t written = ::write(to, from, size);
    if (written < 0) fail_io(name, "cannot be kept in memory");
    from += written;
    size -= static_cast<std::size_t>(written);
  }
}

/// A copy of what is still to be read from `file`.
int copy_in_memory(int file, const std::string& name) {
  constexpr std::int64_t look_every = std::int64_t{64} << 20;
  const int copy = ::memfd_create("bcsc input", MFD_CLOEXEC);
  if (copy < 0) fail_io(name, "cannot be kept in memory");
  std::vector<char> chunk(std::size_t{256} << 10);
  std::int64_t held = 0, next_look = look_every;
  for (;;) {
    const ssize_t size = ::read(file, chunk.data(), chunk.size());
    if (size == 0) return copy;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail_io(name, "cannot be read");
    write_all(copy, chunk.data(), static_cast<std::size_t>(size), name);
    held += size;
    if (held < next_look) continue;
    next_look = held + look_every;
    if (core::measure_memory().least() < look_every) {
      core::fail(errc::out_of_memory, "{}: {} are read, and no memory is left to keep more of a stream in", name,
                 core::bytes_text(held));
    }
  }
}

}  // namespace

bool is_standard_output(const std::string& name) {
  return name == "-" || name == "/dev/stdout" || descriptor_of(name) == STDOUT_FILENO;
}

std::string writable_path(const std::string& name) { return name == "-" ? "/dev/stdout" : name; }

bool is_readable(const std::string& name) { return name == "-" || std::filesystem::exists(name); }

std::string rereadable_path(const std::string& name) {
  const std::string path = name == "-" ? "/dev/stdin" : name;
  if (const std::optional<int> stream = descriptor_of(name)) {
    if (begins_at_its_start(*stream)) return path;
    // In the stream's place, so that messages call it what the user does.
    const int copy = copy_in_memory(*stream, path);
    if (::dup2(copy, *stream) < 0) fail_io(path, "cannot be kept in memory");
    ::close(copy);
    return path;
  }
  if (std::filesystem::is_regular_file(path) || std::filesystem::is_directory(path)) return path;
  const int stream = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (stream < 0) fail_io(path, "cannot be opened");
  const int copy = copy_in_memory(stream, path);
  ::close(stream);
  return fmt::format("/dev/fd/{}", copy);
}

void require_separate_streams(std::initializer_list<std::pair<std::string_view, std::string_view>> inputs) {
  for (auto second = inputs.begin(); second != inputs.end(); ++second) {
    const std::optional<int> stream = descriptor_of(second->second);
    if (!stream) continue;
    const auto first =
        std::find_if(inputs.begin(), second, [&](const auto& in) { return descriptor_of(in.second) == stream; });
    if (first == second) continue;
    core::fail(errc::invalid_argument, "{} {} and {} {}: are the same stream, which can be read only once",
               first->first, first->second, second->first, second->second);
  }
}

}  // namespace bcsc::cli
