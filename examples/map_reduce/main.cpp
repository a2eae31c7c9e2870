// Map and reduce: one task for each chapter, all side by side. Their results come together in the
// order of the chapters, whichever was done first.
//
//   map_reduce
#include <troupe/troupe.hpp>

#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

// The state of the graph. Each task writes to the two members that have a reducer.
struct book {
  std::vector<std::string> chapters;
  std::vector<std::string> summaries;
  std::int64_t words = 0;
  std::string blurb;
  TROUPE_STATE(book, chapters, (summaries, troupe::append), (words, troupe::sum), blurb)
};

// The argument of one task, which is sent to it in place of the state.
struct chapter {
  std::int64_t number = 0;
  std::string text;
  TROUPE_STATE(chapter, number, text)
};

std::int64_t count_words(const std::string& text) {
  std::istringstream in{text};
  return std::distance(std::istream_iterator<std::string>{in}, {});
}

std::vector<troupe::send> a_task_for_each_chapter(const book& b) {
  std::vector<troupe::send> out;
  for (const auto& text : b.chapters)
    out.push_back({"summarize", troupe::value::of(chapter{std::ssize(out) + 1, text})});
  return out;
}

// Takes longer for a long chapter, and holds no thread while it waits.
troupe::coro<troupe::update<book>> summarize(const chapter& c, troupe::context& ctx) {
  auto words = count_words(c.text);
  co_await ctx.sleep_for(words * 20ms);
  auto first = c.text.substr(0, c.text.find(' '));
  auto line = std::to_string(c.number) + ". " + first + "… (" + std::to_string(words) + " words)";
  co_return troupe::set(&book::summaries, std::vector{line}).set(&book::words, words);
}

troupe::update<book> collect(const book& b) {
  std::string blurb;
  for (const auto& line : b.summaries)
    blurb += line + "\n";
  return troupe::set(&book::blurb, blurb + std::to_string(b.words) + " words in all");
}

} // namespace

int main() {
  troupe::state_graph<book> g;
  g.add_node("summarize", summarize);
  g.add_node("collect", collect);
  g.add_conditional_edges(troupe::START, a_task_for_each_chapter, {"summarize"});
  g.add_edge("summarize", "collect"); // once, when all summaries are there
  g.add_edge("collect", troupe::END);

  troupe::runtime rt;
  auto app = rt.load(g.compile());
  auto chapters = troupe::value::of(std::vector<std::string>{
    "Actors own what they change, and answer nobody but their mailbox",
    "Barriers part the steps",
    "Checkpoints outlive the process that wrote them",
  });
  for (auto& part : app.stream({{"chapters", chapters}})) {
    for (const auto& line : part.data["summarize"]["summaries"].items())
      std::cout << "done: " << line << "\n"; // as they finish: the shortest first
    if (part.data.contains("collect"))
      std::cout << part.data["collect"]["blurb"].as_string() << "\n"; // in the chapters' order
  }
}
