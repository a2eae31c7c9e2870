// progress: a line on the terminal with the number of files that were read.
#pragma once

#include "tools/troupe/terminal.hpp"

#include <troupe/runtime.hpp>

#include <chrono>
#include <cstddef>
#include <iostream>
#include <string>

namespace digest {

class progress {
public:
  progress(bool wanted, std::size_t total) : wanted_{wanted && err_.is_tty()}, total_{total} {}
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { clear(); }

  void part(const troupe::stream_part& part) {
    bool planned = part.data.contains("plan"), read = part.data.contains("read");
    if (!wanted_ || part.mode != troupe::stream_mode::updates || !(planned || read))
      return;
    if (planned)
      total_ = part.data["plan"]["files"].size();
    if (read)
      ++done_;
    if (auto now = clock::now(); done_ == total_ || now - drawn_ > std::chrono::milliseconds{50}) {
      drawn_ = now;
      draw();
    }
  }

  void clear() {
    if (wanted_)
      std::cerr << "\r\33[K" << std::flush;
  }

private:
  using clock = std::chrono::steady_clock;

  void draw() {
    auto count = std::to_string(done_) + " of " + std::to_string(total_);
    std::cerr << "\r\33[Kread " << err_.paint(troupe::cli::style::bold, count) << " files"
              << std::flush;
  }

  troupe::cli::terminal err_{STDERR_FILENO};
  bool wanted_;
  std::size_t total_;
  std::size_t done_ = 0;
  clock::time_point drawn_{};
};

} // namespace digest
