#include "converters/files/npz_read.hpp"
#include "test/fuzz/fuzz.hpp"

BCSC_FUZZ_READER(npz)
