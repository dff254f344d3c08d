#include "converters/files/edge_list_read.hpp"
#include "test/fuzz/fuzz.hpp"

BCSC_FUZZ_READER(edge_list)
