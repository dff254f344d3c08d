#pragma once

/// All of libbcsc_matrices: generated matrices, and those of the SuiteSparse collection.
#include "bcsc/catalogue.hpp"
#include "bcsc/fetch.hpp"
#include "bcsc/generate.hpp"
