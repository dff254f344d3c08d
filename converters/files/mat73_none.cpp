#include "converters/files/location.hpp"
#include "converters/files/mat73.hpp"

namespace bcsc::files {
namespace {

[[noreturn]] void fail_hdf5(const source& in) {
  fail_at({.path = in.path()}, errc::unsupported,
          "a MATLAB 7.3 file: this build has no HDF5 (option 'hdf5'); save it again in MATLAB with save(..., '-v7')");
}

}  // namespace

file_info mat73::read_info(source& in) { fail_hdf5(in); }
template <value T, index I>
coo_matrix<T, I> mat73::read_matrix(source& in) {
  fail_hdf5(in);
}

template coo_matrix<float, std::int32_t> mat73::read_matrix(source&);
template coo_matrix<float, std::int64_t> mat73::read_matrix(source&);
template coo_matrix<double, std::int32_t> mat73::read_matrix(source&);
template coo_matrix<double, std::int64_t> mat73::read_matrix(source&);

}  // namespace bcsc::files
