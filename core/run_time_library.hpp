#pragma once

#include <dlfcn.h>

#include <string>

namespace bcsc::core {

/// A shared library that is loaded when it is first needed, so that programs which never need it neither load it
/// (libcurl brings thirty others) nor require it to be installed. It stays loaded.
class run_time_library {
 public:
  explicit run_time_library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    const char* const said = dlerror();
    why_not_ = said != nullptr ? said : name;
  }

  /// Sets `function` to the library's `name`, or records that it is missing.
  template <class Function>
  void bind(Function*& function, const char* name) {
    function = handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name));
    if (function == nullptr && why_not_.empty()) why_not_ = std::string("it has no ") + name;
  }

  /// Empty if it is loaded and everything is bound.
  const std::string& why_not() const { return why_not_; }

 private:
  void* handle_;
  std::string why_not_;
};

}  // namespace bcsc::core
