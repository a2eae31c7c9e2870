// The log; the only file that knows spdlog.
#include "actors/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace troupe {

namespace {

spdlog::logger& the_logger() {
  static auto logger = [] {
    auto made = spdlog::get("troupe"); // a program may bring its own logger under this name
    return made ? made : spdlog::stderr_logger_mt("troupe");
  }();
  return *logger;
}

} // namespace

void log_warning(const std::string& text) {
  the_logger().warn("{}", text);
}

void log_info(const std::string& text) {
  the_logger().info("{}", text);
}

} // namespace troupe
