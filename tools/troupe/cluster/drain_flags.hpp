// How long a worker that drains keeps what it has: a flag of the commands that drain one.
#pragma once

#include <troupe/limits.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace troupe::cli {

/// In seconds.
inline std::shared_ptr<double> add_drain_timeout(CLI::App& command, const std::string& name) {
  using seconds = std::chrono::duration<double>;
  auto out = std::make_shared<double>(seconds{limits::worker_drain_default}.count());
  command
    .add_option(name, *out,
                "How long a draining worker may keep its tasks; the rest then continues elsewhere; "
                "0: at once")
    ->type_name("SECONDS")
    ->check(CLI::Range(0.0, seconds{limits::worker_drain_max}.count()))
    ->capture_default_str();
  return out;
}

inline std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
    std::chrono::duration<double>{seconds});
}

} // namespace troupe::cli
