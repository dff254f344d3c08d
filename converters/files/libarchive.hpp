#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <string>

#include "core/run_time_library.hpp"

namespace bcsc::files {

/// libarchive, loaded with the first archive: its functions by name, without "archive_". They are null unless
/// why_no_archives() is empty.
class libarchive {
  template <class Function>
  Function* bound(const char* name) {
    Function* function = nullptr;
    library_.bind(function, name);
    return function;
  }
  core::run_time_library library_{"libarchive.so.13"};  // all versions since 3.0 of 2011

 public:
#define BCSC_FUNCTION(name) decltype(&archive_##name) name = bound<decltype(archive_##name)>("archive_" #name)
  BCSC_FUNCTION(entry_filetype);
  BCSC_FUNCTION(entry_free);
  BCSC_FUNCTION(entry_hardlink);
  BCSC_FUNCTION(entry_is_encrypted);
  BCSC_FUNCTION(entry_new);
  BCSC_FUNCTION(entry_pathname);
  BCSC_FUNCTION(entry_pathname_utf8);
  BCSC_FUNCTION(entry_set_filetype);
  BCSC_FUNCTION(entry_set_pathname);
  BCSC_FUNCTION(entry_set_perm);
  BCSC_FUNCTION(entry_set_size);
  BCSC_FUNCTION(entry_size);
  BCSC_FUNCTION(entry_size_is_set);
  BCSC_FUNCTION(error_string);
  BCSC_FUNCTION(filter_bytes);
  BCSC_FUNCTION(read_data);
  BCSC_FUNCTION(read_free);
  BCSC_FUNCTION(read_new);
  BCSC_FUNCTION(read_next_header);
  BCSC_FUNCTION(read_open);
  BCSC_FUNCTION(read_open_memory);
  BCSC_FUNCTION(read_support_format_tar);
  BCSC_FUNCTION(read_support_format_zip_seekable);
  BCSC_FUNCTION(set_error);
  BCSC_FUNCTION(write_close);
  BCSC_FUNCTION(write_data);
  BCSC_FUNCTION(write_fail);
  BCSC_FUNCTION(write_free);
  BCSC_FUNCTION(write_header);
  BCSC_FUNCTION(write_new);
  BCSC_FUNCTION(write_open);
  BCSC_FUNCTION(write_set_bytes_per_block);
  BCSC_FUNCTION(write_set_format_zip);
  BCSC_FUNCTION(write_zip_set_compression_deflate);
  BCSC_FUNCTION(write_zip_set_compression_store);
#undef BCSC_FUNCTION

  const std::string& why_not() const { return library_.why_not(); }
  static const libarchive& get();
};

}  // namespace bcsc::files
