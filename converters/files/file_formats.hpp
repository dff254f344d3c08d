#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "converters/files/source.hpp"

/// The table of file formats: their names, extensions and marks. A new format is one entry here, one reader in files of
/// its own, and one entry in readers.cpp's table of readers (in writers.cpp's, of its writer).
namespace bcsc::files {

struct format_row {
  file_format format;
  std::string_view name;
  std::array<std::string_view, 8> extensions;  ///< without ".gz"; the first is the usual one
  /// Whether content that begins so can be nothing else; null: it has no mark, only its name tells.
  bool (*has_mark)(std::string_view head);
};

extern const std::array<format_row, 8> format_rows;

/// What a file is: as options say, else by its mark, else by its extension (".gz" left out), else Matrix Market, whose
/// reader then says what is wrong with the banner.
file_format recognise(source& in);

/// The extension of a file's name, in lower case and without its dot; ".gz" is left out.
std::string extension_of(const std::filesystem::path& path);

/// Whether a writer is listed in writers.cpp.
bool can_write(file_format format);
/// Whether that writer stores one triangle of a symmetric matrix, where it is asked to.
bool has_triangles(file_format format);

}  // namespace bcsc::files
