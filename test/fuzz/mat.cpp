#include "converters/files/mat_read.hpp"
#include "test/fuzz/fuzz.hpp"

BCSC_FUZZ_READER(mat)
