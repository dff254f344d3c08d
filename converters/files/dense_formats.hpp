#pragma once

#include <filesystem>
#include <optional>

#include "bcsc/files.hpp"

namespace bcsc::files {

/// The formats of dense files: three that hold sparse matrices too, and NumPy's array by itself.
enum class dense_format : std::uint8_t { matrix_market, npy, npz, container };

/// The format in which to write a dense file, by its name.
std::optional<dense_format> dense_format_of_name(const std::filesystem::path& path);

}  // namespace bcsc::files
