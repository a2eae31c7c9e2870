// The log: finds the module that writes its lines when there is a first line.
#include "actors/log.hpp"

#include "graph/shared_library.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <filesystem>

namespace troupe {

namespace {

using log_line = void (*)(bool is_warning, const char* text, std::size_t bytes);

void log_plainly(bool is_warning, const char* text, std::size_t bytes) {
  std::fprintf(stderr, "[troupe] [%s] %.*s\n", is_warning ? "warning" : "info",
               static_cast<int>(bytes), text);
}

// The module is in the folder of the library that this code is in.
log_line find_module() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&find_module), &here) == 0)
    return log_plainly;
  auto folder = std::filesystem::path{here.dli_fname}.parent_path();
  auto module = load_library(folder / TROUPE_LOG_MODULE);
  auto* function = module ? find_symbol(*module, "troupe_log_line") : nullptr;
  return function ? reinterpret_cast<log_line>(function) : log_plainly;
}

void log(bool is_warning, const std::string& text) {
  static const auto line = find_module();
  line(is_warning, text.data(), text.size());
}

} // namespace

void log_warning(const std::string& text) {
  log(true, text);
}

void log_info(const std::string& text) {
  log(false, text);
}

} // namespace troupe
