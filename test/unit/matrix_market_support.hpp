#pragma once

#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// Files for the tests of the Matrix Market reader and writer.
namespace bcsc::test {

/// A folder of this process alone, removed with all it holds.
class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "bcsc-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(std::string_view name, std::string_view bytes) const {
    const std::filesystem::path path = path_ / name;
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::ptrdiff_t num_files() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// One gzip member.
inline std::string gzipped(std::string_view content) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string bytes(deflateBound(&stream, static_cast<uLong>(content.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int status = deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("deflate failed");
  return bytes;
}

/// What a gzip member holds.
inline std::string gunzipped(std::string_view member) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(member.data()));
  stream.avail_in = static_cast<uInt>(member.size());
  std::string content;
  int status = Z_OK;
  while (status == Z_OK) {
    char piece[4096];
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    status = inflate(&stream, Z_NO_FLUSH);
    content.append(piece, sizeof piece - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("inflate failed");
  return content;
}

struct tar_file {
  std::string name, content = {};
  char type = '0';  ///< '0' a file, '1' a hard link, '2' a symbolic one, '5' a folder
  std::string link = {};
};

struct tar_form {
  bool mark = true;  ///< "ustar"; without it as before POSIX
  bool end = true;   ///< two blocks of zeros
};

/// One block's header, POSIX.1-1988 ("ustar"): fields at fixed places, numbers in octal.
inline std::string tar_header(const tar_file& file, std::size_t size, const tar_form& form) {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, std::string_view text) { header.replace(at, text.size(), text); };
  const auto octal = [](std::size_t number, int digits) {
    std::string text(static_cast<std::size_t>(digits), '0');
    for (auto digit = text.rbegin(); number > 0; number /= 8) *digit++ = static_cast<char>('0' + number % 8);
    return text;
  };
  put(0, std::string_view(file.name).substr(0, 100));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, octal(size, 11));
  put(136, octal(0, 11));
  put(148, std::string(8, ' '));
  put(156, std::string(1, file.type));
  put(157, file.link);
  if (form.mark) put(257, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + '\0');
  return header;
}

/// A tar archive; names beyond 100 bytes in extended headers of POSIX.1-2001 ("pax").
inline std::string tarred(const std::vector<tar_file>& files, const tar_form& form = {}) {
  std::string archive;
  const auto put = [&](const tar_file& file) {
    const bool has_content = file.type == '0' || file.type == 'x';
    archive += tar_header(file, has_content ? file.content.size() : 0, form);
    if (has_content) archive += file.content;
    archive.resize((archive.size() + 511) / 512 * 512, '\0');
  };
  for (const tar_file& file : files) {
    if (file.name.size() > 100) {
      const std::string record = " path=" + file.name + "\n";  // behind its length, which counts itself
      put({.name = "pax", .content = std::to_string(record.size() + 3) + record, .type = 'x'});
    }
    put(file);
  }
  if (form.end) archive.append(1024, '\0');
  return archive;
}

/// A file of GNU's sparse kind that is said to be `size` bytes long: `begin`, a hole, and one byte more.
inline std::string sparse_tar(const std::string& name, std::string begin, std::int64_t size) {
  std::string header = tar_header({.name = name, .type = 'S'}, begin.size() + 1, {.mark = false});
  const auto base256 = [](std::uint64_t number) {
    std::string field(12, '\0');
    for (int k = 11; number > 0; number >>= 8) field[static_cast<std::size_t>(k--)] = static_cast<char>(number);
    field[0] = '\x80';
    return field;
  };
  header.replace(257, 7, "ustar  ");
  header[264] = '\0';
  header.replace(386, 12, base256(0));
  header.replace(398, 12, base256(begin.size()));
  header.replace(410, 12, base256(static_cast<std::uint64_t>(size) - 1));
  header.replace(422, 12, base256(1));
  header.replace(483, 12, base256(static_cast<std::uint64_t>(size)));
  header.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  header.replace(148, 7, digits, 7);
  begin += "x";
  begin.resize((begin.size() + 511) / 512 * 512, '\0');
  return header + begin + std::string(1024, '\0');
}

}  // namespace bcsc::test
