#include "library_folders.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace p2p {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> childrenOf(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<fs::path> toolkitRoots() {
  std::vector<fs::path> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string root = environment(name); !root.empty()) roots.emplace_back(root);
  }
  roots.emplace_back("/usr/local/cuda");
  for (const fs::path& root : childrenOf("/usr/local", "cuda-")) roots.push_back(root);
  roots.emplace_back("/opt/cuda");
  return roots;
}

std::vector<fs::path> libraryFolders(std::initializer_list<const char*> inToolkit,
                                     std::initializer_list<const char*> inPackages) {
  std::vector<fs::path> list;
  const auto addPython = [&](const fs::path& lib) {
    for (const fs::path& python : childrenOf(lib, "python3")) {
      for (const char* packages : {"site-packages", "dist-packages"}) {
        for (const char* folder : inPackages) list.push_back(python / packages / folder);
      }
    }
  };
  std::istringstream parts(environment("LD_LIBRARY_PATH"));
  for (std::string part; std::getline(parts, part, ':');) {
    if (!part.empty()) list.emplace_back(part);
  }
  for (const fs::path& root : toolkitRoots()) {
    for (const char* folder : inToolkit) list.push_back(root / folder);
  }
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"})
    list.emplace_back(folder);
  for (const char* name : {"CONDA_PREFIX", "VIRTUAL_ENV"}) {
    if (const std::string prefix = environment(name); !prefix.empty()) {
      list.push_back(fs::path(prefix) / "lib");
      addPython(fs::path(prefix) / "lib");
    }
  }
  addPython("/usr/local/lib");
  addPython("/usr/lib");
  return list;
}

std::vector<std::string> filesIn(const std::vector<fs::path>& folders,
                                 const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    for (const fs::path& folder : folders) {
      std::error_code error;
      const fs::path file = folder / name;
      if (fs::exists(file, error)) files.push_back(file.string());
    }
  }
  return files;
}

}  // namespace p2p
