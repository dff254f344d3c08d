#include "converters/files/npz_read.hpp"

#include <zlib.h>

#include <string>

#include "test/fuzz/fuzz.hpp"

/// A zip whose checksums are right and whose sizes fit, made of the arrays that the input lists one after the other:
/// almost no change to a zip's own bytes gets past its directory. If the highest of the first byte's bits is set, the
/// input is a zip itself.
namespace bcsc::fuzz {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::string_view members[] = {"format", "shape", "data",   "indices", "indptr",
                                        "row",    "col",   "coords", "offsets", "other"};

template <class... Numbers>
void append(std::string& to, Numbers... numbers) {
  (to.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
}

class zip_maker {
 public:
  void add(std::string_view name, std::string_view bytes) {
    const auto offset = static_cast<std::uint32_t>(file_.size());
    file_ += "PK\x03\x04";
    append_common(file_, name, bytes);
    file_.append(name).append(bytes);
    directory_ += "PK\x01\x02";
    append(directory_, std::uint16_t{20});
    append_common(directory_, name, bytes);
    append(directory_, std::uint16_t{0}, std::uint16_t{0}, std::uint16_t{0}, std::uint32_t{0}, offset);
    directory_ += name;
    ++count_;
  }
  std::string file() const {
    std::string all = file_ + directory_ + "PK\x05\x06";
    append(all, std::uint16_t{0}, std::uint16_t{0}, count_, count_, static_cast<std::uint32_t>(directory_.size()),
           static_cast<std::uint32_t>(file_.size()), std::uint16_t{0});
    return all;
  }

 private:
  /// What the member's header and its entry in the directory share: stored, without flags or time.
  static void append_common(std::string& to, std::string_view name, std::string_view bytes) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), size);
    append(to, std::uint16_t{20}, std::uint16_t{0}, std::uint16_t{0}, std::uint16_t{0}, std::uint16_t{33},
           static_cast<std::uint32_t>(sum), size, size, static_cast<std::uint16_t>(name.size()), std::uint16_t{0});
  }

  std::string file_, directory_;
  std::uint16_t count_ = 0;
};

/// Each array begins with its magic bytes; the byte before them says which of the members it is.
std::string zip_of(std::string_view arrays) {
  zip_maker zip;
  for (std::size_t at = arrays.find(magic, 1); at != std::string_view::npos;) {
    const std::size_t next = arrays.find(magic, at + magic.size() + 1);
    const auto which = static_cast<unsigned char>(arrays[at - 1]) % std::size(members);
    const std::size_t end = next == std::string_view::npos ? arrays.size() : next - 1;
    zip.add(std::string(members[which]) + ".npy", arrays.substr(at, end - at));
    at = next;
  }
  return zip.file();
}

}  // namespace
}  // namespace bcsc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace reader = bcsc::files::npz;
  std::string zip;
  return bcsc::fuzz::read(
      data, size, 4 | 8, reader::read_info,
      []<bcsc::value T, bcsc::index I>(bcsc::files::source& in) { return reader::read_matrix<T, I>(in); },
      [&zip](bcsc::fuzz::input& given) {
        if ((given.flags & 128) != 0) return;
        zip = bcsc::fuzz::zip_of(given.content);
        given.content = zip;
      });
}
