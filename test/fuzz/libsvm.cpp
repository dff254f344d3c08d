#include "converters/files/libsvm_read.hpp"
#include "test/fuzz/fuzz.hpp"

BCSC_FUZZ_READER(libsvm)
