#include "converters/files/matrix_market_read.hpp"
#include "test/fuzz/fuzz.hpp"

BCSC_FUZZ_READER(matrix_market)
