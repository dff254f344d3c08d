#include "converters/files/edge_list_read.hpp"

#include "test/fuzz/fuzz.hpp"

/// The two highest of the first byte's bits ask for a number of rows and of columns.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace reader = bcsc::files::edge_list;
  return bcsc::fuzz::read(
      data, size, 1, reader::read_info,
      []<bcsc::value T, bcsc::index I>(bcsc::files::source& in) { return reader::read_matrix<T, I>(in); },
      [](bcsc::fuzz::input& given) {
        if ((given.flags & 64) != 0) given.options.rows = 6;
        if ((given.flags & 128) != 0) given.options.cols = 5;
      });
}
