#include "tests/crash/takeover.hpp"

#include <troupe/troupe.hpp>

#include <fstream>
#include <iostream>
#include <sstream>

namespace crash {

namespace {

constexpr const char* at_once[] = {"first", "second", "third"};

// Until somebody opened the FIFO for writing and closed it.
void pass(const std::string& gate) {
  std::ifstream from{gate};
  std::ostringstream{} << from.rdbuf();
}

class racer {
public:
  racer(const notes& to, std::string gates, std::string who)
    : to_{to},
      gates_{std::move(gates)},
      who_{std::move(who)} {}

  troupe::compiled_graph graph(int depth) const {
    troupe::state_graph<> g{troupe::schema{{"log", troupe::append}}};
    if (depth == 0) {
      add_tasks(g);
    } else {
      g.add_node("within", graph(depth - 1));
      g.add_edge(troupe::START, "within");
    }
    return g.compile();
  }

  void reported(const std::string& task_id) const {
    to_.add("T " + who_ + " " + task_id);
    std::cout << "T " << task_id << std::endl;
  }

private:
  void add_tasks(troupe::state_graph<>& g) const {
    for (const auto* name : at_once) {
      add(g, name);
      g.add_edge(troupe::START, name);
    }
    add(g, "join");
    g.add_edge({at_once[0], at_once[1], at_once[2]}, "join");
  }

  void add(troupe::state_graph<>& g, const std::string& name) const {
    g.add_node(name,
               [this, name](const troupe::state_view&, troupe::context& ctx) {
                 to_.add("S " + who_ + " " + name + " " + std::string{ctx.task_id()});
                 pass(gates_ + "/" + who_ + "." + name);
                 return troupe::state_update{{"log", troupe::value::list({name})}};
               },
               {.lane = troupe::lane::blocking});
  }

  const notes& to_;
  std::string gates_;
  std::string who_;
};

} // namespace

int take_over(const std::string& data, const notes& to, const std::string& gates,
              const std::string& who, int depth, bool alone) {
  racer self{to, gates, who};
  troupe::runtime rt{{.data_dir = data, .worker_threads = 1}};
  auto app = rt.load(self.graph(depth));
  troupe::run_config config{.thread_id = "t",
                            .durability = troupe::durability::sync,
                            .max_concurrency = alone ? 1u : 0u,
                            .subgraphs = true};
  troupe::run_input input{nullptr};
  if (app.get_state(config).config.checkpoint_id.empty())
    input = troupe::value::map({{"log", troupe::value::list({})}});
  auto parts = app.stream(input, config, {troupe::stream_mode::tasks});
  for (;;) {
    auto part = parts.try_next();
    if (!part && part.error().code() != troupe::errc::conflict)
      throw troupe::error{part.error()};
    if (!part || !*part) {
      std::cout << (part ? "ok" : "conflict") << std::endl;
      return 0;
    }
    const auto& shown = (*part)->data;
    if (shown.contains("result") && shown["error"].is_null())
      self.reported(shown["id"].as<std::string>());
  }
}

} // namespace crash
