#include "converters/files/mat_read.hpp"

#include "test/fuzz/fuzz.hpp"

/// Three bits of the first byte choose which variable is read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace reader = bcsc::files::mat;
  return bcsc::fuzz::read(
      data, size, 2 | 8, reader::read_info,
      []<bcsc::value T, bcsc::index I>(bcsc::files::source& in) { return reader::read_matrix<T, I>(in); },
      [](bcsc::fuzz::input& given) {
        constexpr std::string_view members[] = {"", "A", "Problem.A", "C{2}", "", "B", "S(2).A", "S.C{1}"};
        given.options.member = members[given.flags >> 6 | (given.flags & 4)];
      });
}
