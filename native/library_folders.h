// Folders in which CUDA toolkits, distributions, conda and pip put the libraries that come with a toolkit.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace p2p {

// Best first: LD_LIBRARY_PATH, CUDA_HOME and CUDA_PATH, the toolkits under /usr/local (newest first), the
// distribution's folders, then conda and Python environments. `inToolkit` are folders of a toolkit's root,
// `inPackages` folders of a Python's site-packages.
std::vector<std::filesystem::path> libraryFolders(std::initializer_list<const char*> inToolkit,
                                                  std::initializer_list<const char*> inPackages);

// Roots of toolkits, best first; whether they exist is not looked at.
std::vector<std::filesystem::path> toolkitRoots();

// The files that exist of these names in these folders: by name first, then by folder.
std::vector<std::string> filesIn(const std::vector<std::filesystem::path>& folders,
                                 const std::vector<std::string>& names);

// Value of an environment variable; empty when it is not set.
std::string environment(const char* name);

}  // namespace p2p
