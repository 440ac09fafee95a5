#include "shared_library.h"

#include <dlfcn.h>

namespace p2p {

bool SharedLibrary::open(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) {
      path_ = name;
      return true;
    }
    const char* why = dlerror();
    if (!failures_.empty()) failures_ += "; ";
    failures_ += why ? why : name + ": not found";
  }
  return false;
}

void* SharedLibrary::symbol(const char* name) const {
  return handle_ ? dlsym(handle_, name) : nullptr;
}

}  // namespace p2p
