// Shared libraries: the calls of the dynamic loader.
#include "graph/shared_library.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace troupe {

result<void*> load_library(const std::filesystem::path& library) {
  if (auto* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL))
    return handle;
  const char* why = ::dlerror();
  return error{errc::unknown_graph, why ? why : library.string()};
}

void* find_symbol(void* library, const std::string& name) {
  return ::dlsym(library, name.c_str());
}

} // namespace troupe
