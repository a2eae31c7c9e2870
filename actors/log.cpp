// The logger; the only file that knows spdlog.
#include "actors/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace troupe {

void log_warning(const std::string& text) {
  static auto logger = [] {
    auto made = spdlog::get("troupe"); // a program may bring its own under this name
    return made ? made : spdlog::stderr_logger_mt("troupe");
  }();
  logger->warn("{}", text);
}

} // namespace troupe
