#pragma once

// The shared library is compiled with hidden symbols. Public headers declare between `#pragma GCC visibility` push and
// pop, which reaches all but the instances of function templates: their declarations carry this.
#define BCSC_EXPORT __attribute__((visibility("default")))
