// A loop: an editor sends a headline back to the writer until it fits. A second run shows the limit
// of an endless loop.
//
//   loop
#include <troupe/troupe.hpp>

#include <iostream>
#include <string>

namespace {

struct headline {
  std::string text;
  std::int64_t room = 0; // columns
  std::int64_t drafts = 0;
  TROUPE_STATE(headline, text, room, (drafts, troupe::sum))
};

// Drops the first filler word, if one is left.
std::string shorten(std::string text) {
  for (std::string filler : {"really ", "very ", "quite "})
    if (auto at = text.find(filler); at != std::string::npos)
      return text.erase(at, filler.size());
  return text;
}

troupe::typed_graph<headline> newsroom() {
  troupe::state_graph<headline> g;
  g.add_node("write", [](const headline& h) {
    return troupe::set(&headline::text, shorten(h.text)).set(&headline::drafts, 1);
  });
  // The editor: chooses the next node, at first and after each draft.
  auto edit = [](const headline& h) { return std::ssize(h.text) > h.room ? "write" : troupe::END; };
  g.add_conditional_edges(troupe::START, edit, {"write", troupe::END});
  g.add_conditional_edges("write", edit, {"write", troupe::END});
  return g.compile({.name = "newsroom"});
}

} // namespace

int main() {
  troupe::runtime rt; // no data directory: nothing is stored
  auto app = rt.load(newsroom());
  std::string text = "A really quite gentle and very short tour of agent graphs";

  auto drafts = app.stream({{"text", text}, {"room", 45}}, {}, {troupe::stream_mode::values});
  for (auto& part : drafts)
    std::cout << "draft " << part.data["drafts"] << ": " << part.data["text"] << "\n";

  // No text fits into ten columns, so this run ends at its limit.
  auto run = app.try_invoke({{"text", text}, {"room", 10}}, {.recursion_limit = 8});
  std::cout << "in ten columns: " << to_string(run.error().code()) << "\n";
}
