#pragma once

/// Everything of libbcsc_matrices: matrices that are generated, and those of the SuiteSparse collection.
#include "bcsc/catalogue.hpp"
#include "bcsc/fetch.hpp"
#include "bcsc/generate.hpp"
