// The module libtroupe_log: lines of the log by spdlog. It is apart from the core, because programs
// that log nothing should not load spdlog.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <string_view>

extern "C" {

/// Logs one line. A program may bring its own logger under the name `troupe`.
/// Errors: none; spdlog reports its own on standard error.
void troupe_log_line(bool is_warning, const char* text, std::size_t bytes);
}

void troupe_log_line(bool is_warning, const char* text, std::size_t bytes) {
  static auto logger = [] {
    auto found = spdlog::get("troupe");
    return found ? found : spdlog::stderr_logger_mt("troupe");
  }();
  logger->log(is_warning ? spdlog::level::warn : spdlog::level::info, "{}",
              std::string_view{text, bytes});
}
