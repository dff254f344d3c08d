#include "converters/files/rutherford_boeing_read.hpp"
#include "test/fuzz/fuzz.hpp"

BCSC_FUZZ_READER(rutherford_boeing)
