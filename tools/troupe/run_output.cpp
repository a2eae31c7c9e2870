#include "tools/troupe/run_output.hpp"

#include "tools/troupe/json_lines.hpp"

#include <iostream>

namespace troupe::cli {

void run_output::note(const std::string& text) const {
  if (!json_)
    std::cerr << text << "\n" << std::flush;
}

void run_output::part(const stream_part& part, const part_stream& run) {
  if (json_)
    print_line(json_line(part));
  else if (part.mode == stream_mode::updates)
    print_updates(part.data);
  else
    print_named(style::faint, to_string(part.mode), part.data);
  if (with_actors_)
    actors_.look(run);
}

// Questions are shown at the end; work that a resumed run had done before is only counted there.
void run_output::print_updates(const value& update) {
  for (const auto& entry : update.entries())
    if (entry.key() != "__interrupt__" && entry.key() != "__metadata__")
      print_named(style::bold, entry.key(), entry.val);
}

void run_output::print_named(style how, std::string_view name, const value& data) const {
  auto label = one_line(name);
  std::cout << out_.paint(how, label) << "  " << out_.fit(to_json(data), label.size() + 2) << "\n"
            << std::flush;
}

void run_output::result(const std::string& thread, const run_result& run) const {
  if (json_) {
    print_line(
      json_line("result", {{"status", run.paused() ? "\"paused\"" : "\"done\""},
                           {"thread", thread.empty() ? "null" : to_json(thread)},
                           {"output", to_json(run.value())},
                           {"interrupts", to_json(to_value(run.interrupts()))},
                           {"next", to_json(value::of(run.next()))},
                           {"drained", run.drained().empty() ? "null" : to_json(run.drained())}}));
    return;
  }
  for (const auto& q : run.interrupts())
    std::cout << out_.paint(style::yellow, "asks") << "  " << to_json(q.value) << "  "
              << out_.paint(style::faint, q.id) << "\n";
  if (!run.paused())
    std::cout << to_json(run.value(), 2) << "\n";
  std::cout << std::flush;
}

} // namespace troupe::cli
