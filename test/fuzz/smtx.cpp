#include "converters/files/smtx_read.hpp"
#include "test/fuzz/fuzz.hpp"

BCSC_FUZZ_READER(smtx)
