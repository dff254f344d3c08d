#pragma once

#include <string_view>

#include "converters/files/source.hpp"

/// Rutherford-Boeing and its elder, Harwell-Boeing: text in Fortran's columns. What is accepted and what is refused:
/// docs/text-formats.md.
namespace bcsc::files::rutherford_boeing {

/// Whether content begins with such a header: counts of lines, a type and sizes, formats. No other format looks like
/// this.
bool has_header(std::string_view head);

file_info read_info(source& in);
template <value T, index I>
coo_matrix<T, I> read_matrix(source& in);

}  // namespace bcsc::files::rutherford_boeing
