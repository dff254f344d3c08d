#include "converters/files/container_read.hpp"
#include "test/fuzz/fuzz.hpp"

BCSC_FUZZ_READER(container)
