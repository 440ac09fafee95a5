// A library opened at run time. It stays open until the process ends: its functions may be in use on any
// thread.
#pragma once

#include <string>
#include <vector>

namespace p2p {

class SharedLibrary {
 public:
  SharedLibrary() = default;
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  // Tries the names in order; on failure `failures()` holds one line a name.
  bool open(const std::vector<std::string>& names);
  // File that was opened, as the loader reports it; the name where it reports none.
  const std::string& path() const { return path_; }
  const std::string& failures() const { return failures_; }
  // nullptr when the library has no such symbol.
  void* symbol(const char* name) const;

  template <typename F>
  bool resolve(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(symbol(name));
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
  std::string path_;
  std::string failures_;
};

}  // namespace p2p
