#pragma once

/// Everything: formats, converters, files, generators, plans, solvers.
#include "bcsc/analysis.hpp"
#include "bcsc/cg.hpp"
#include "bcsc/context.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/reference.hpp"
#include "bcsc/registry.hpp"
#include "bcsc/spmm.hpp"
#include "bcsc/tune.hpp"
#include "bcsc/types.hpp"
#include "bcsc/version.hpp"
