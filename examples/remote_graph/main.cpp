// A graph on a server as a node of a graph here: an editor asks a writer, which runs elsewhere and
// asks a person. The server is in this process; with an argument, it is the one at that address.
//
//     remote_graph [http://127.0.0.1:2024]      that server needs a graph named `writer`
#include <troupe/client.hpp>
#include <troupe/server.hpp>

#include <iostream>
#include <memory>

namespace {

struct article {
  std::string topic, title, text;
  TROUPE_STATE(article, topic, title, text)
};

// The graph of the server: it proposes a title, and a person chooses.
troupe::compiled_graph writer() {
  troupe::state_graph<article> g;
  g.add_node("propose", [](const article& a, troupe::context& ctx) {
    auto title = ctx.interrupt_as<std::string>("A title for an article about " + a.topic + "?");
    return troupe::set(&article::title, title);
  });
  g.add_node("write", [](const article& a) {
    return troupe::set(&article::text, a.title + ": it falls, mostly in April.");
  });
  g.add_edge(troupe::START, "propose");
  g.add_edge("propose", "write");
  return g.compile({.name = "writer"});
}

// The graph here: one of its nodes is the writer.
troupe::compiled_graph editor(const troupe::remote_graph& far) {
  troupe::state_graph<article> g;
  g.add_node("write", far);
  g.add_node("print", [](const article& a) {
    std::cout << a.text << "\n";
    return troupe::update<article>{};
  });
  g.add_edge(troupe::START, "write");
  g.add_edge("write", "print");
  return g.compile({.name = "editor"});
}

} // namespace

int main(int argc, char** argv) {
  std::unique_ptr<troupe::agent_server> serving;
  std::string url = argc > 1 ? argv[1] : "";
  if (url.empty()) {
    serving = std::make_unique<troupe::agent_server>(
      troupe::server_options{.graphs = {{"writer", writer()}}, .port = 0});
    url = "http://127.0.0.1:" + std::to_string(serving->port());
  }
  troupe::remote_graph far{troupe::agent_client{{.url = url}}, "writer"};
  std::cout << far.get_graph().get().draw_ascii();

  troupe::runtime rt{{.saver = troupe::make_memory_saver()}};
  auto app = rt.load(editor(far));
  auto asked = app.invoke({{"topic", "rain"}}, {.thread_id = "t1"});
  std::cout << asked.interrupts().at(0).value << "\n";
  app.invoke(troupe::command{.resume = "Drops"}, {.thread_id = "t1"});
}
