// The live actors of a run, for --actors.
#pragma once

#include "tools/troupe/json_lines.hpp"

#include <troupe/runtime.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

namespace troupe::cli {

inline std::string actor_table(const std::vector<actor_info>& actors) {
  std::size_t name_width = 4;
  for (const auto& a : actors)
    name_width = std::max(name_width, a.name.size());
  auto pad = [](std::string text, std::size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text + "  ";
  };
  std::string out = "  " + pad("actor", 7) + pad("name", name_width) + pad("state", 7)
                    + pad("mailbox", 7) + "host\n";
  for (const auto& a : actors)
    out += "  " + pad(a.kind, 7) + pad(a.name, name_width) + pad(a.state, 7)
           + pad(std::to_string(a.mailbox), 7) + a.host + "\n";
  return out;
}

/// Prints the actors of a run whenever one came, went, or changed its state.
class actor_watch {
public:
  explicit actor_watch(bool json) : json_{json} {}

  void look(const part_stream& run) {
    auto now = run.actors();
    if (std::ranges::equal(now, last_, same))
      return;
    if (json_)
      print_line(json_line("actors", {{"actors", to_json(to_value(now))}}));
    else
      std::cerr << actor_table(now) << std::flush;
    last_ = std::move(now);
  }

private:
  static bool same(const actor_info& a, const actor_info& b) {
    return a.kind == b.kind && a.name == b.name && a.state == b.state && a.host == b.host;
  }

  bool json_;
  std::vector<actor_info> last_;
};

} // namespace troupe::cli
