#pragma once

#include <span>

#include "bcsc/catalogue.hpp"

namespace bcsc::suitesparse {

/// What embed_catalogue.py made of suitesparse.csv at build time, in the file's order.
std::span<const entry> embedded_table() noexcept;

}  // namespace bcsc::suitesparse
