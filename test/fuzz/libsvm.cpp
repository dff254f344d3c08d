#include "converters/files/libsvm_read.hpp"

#include <cstdlib>

#include "test/fuzz/fuzz.hpp"

/// The two highest of the first byte's bits ask for a number of columns, and for the labels.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace reader = bcsc::files::libsvm;
  const bool with_labels = size > 0 && (data[0] & 128) != 0;
  return bcsc::fuzz::read(
      data, size, 1 | 2, reader::read_info,
      [with_labels]<bcsc::value T, bcsc::index I>(bcsc::files::source& in) {
        if (!with_labels) return reader::read_matrix<T, I>(in);
        const bcsc::labelled_matrix<T, I> labelled = reader::read_labelled<T, I>(in);
        if (static_cast<std::int64_t>(labelled.labels.size()) != labelled.matrix.rows()) std::abort();
        return bcsc::to_coo(labelled.matrix);
      },
      [](bcsc::fuzz::input& given) {
        if ((given.flags & 64) != 0) given.options.cols = 5;
      });
}
