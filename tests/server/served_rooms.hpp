// served_rooms: the rooms of a server with small graphs in memory, asked over HTTP.
#pragma once

#include "server/api/openapi.hpp"
#include "server/api/rooms.hpp"
#include "server/api/system.hpp"
#include "server/edge/http_edge.hpp"
#include "server/rules/ids.hpp"
#include "tests/fixtures/raw_client.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/agents.hpp>
#include <troupe/server/limits.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::server::test {

/// An answer as a client has it. Shape: `body` without the framing of chunks.
struct heard_answer {
  int status = 0;
  std::string head;
  std::string body;

  value json() const {
    auto read = from_json(body, json_form::plain);
    BOOST_REQUIRE_MESSAGE(read.has_value(), body);
    return *read;
  }
  bool has_header(std::string_view line) const { return head.find(line) != head.npos; }
};

// n counts; `log` names the node.
inline compiled_graph counting_graph() {
  state_graph<> g{{{"count", sum}, {"log", append}}};
  g.add_node("a", [] { return state_update{{"count", 1}, {"log", value::list({"a"})}}; });
  g.add_edge(START, "a");
  g.add_edge("a", END);
  return g.compile({.name = "plain"});
}

inline compiled_graph failing_graph() {
  state_graph<> g{{{"n", sum}}};
  g.add_node("boom", []() -> state_update { throw node_error{"ValueError", "boom happened"}; });
  g.add_edge(START, "boom");
  g.add_edge("boom", END);
  return g.compile({.name = "fail"});
}

struct narrow_context {
  std::optional<std::string> user_id;
  TROUPE_STATE(narrow_context, user_id)
};

// Its output schema has `shown` alone; `hidden` is the user of its context.
inline compiled_graph narrow_graph() {
  state_graph<> g{{{"shown", sum}, {"hidden", last_value}}};
  g.output_schema({{"shown", sum}});
  g.context_schema<narrow_context>();
  g.add_node("a", [](const state_view&, context& ctx) {
    auto user = ctx.run_context_as<narrow_context>().user_id;
    return state_update{{"shown", 1}, {"hidden", user.value_or("secret")}};
  });
  g.add_edge(START, "a");
  g.add_edge("a", END);
  return g.compile({.name = "narrow"});
}

// Writes nothing.
inline compiled_graph silent_graph() {
  state_graph<> g{{{"items", append}}};
  g.add_node("a", [] { return state_update{}; });
  g.add_conditional_edges(START, [] { return END; });
  g.add_edge("a", END);
  return g.compile({.name = "silent"});
}

// A question, one more after the answer `maybe`, and a node beside it that writes. The output
// schema has `shown` alone.
inline compiled_graph asking_graph() {
  state_graph<> g{{{"shown", sum}, {"hidden", last_value}}};
  g.output_schema({{"shown", sum}});
  g.add_node("ask", [](const state_view&, context& ctx) {
    auto answer = ctx.interrupt("sure?");
    if (answer == value("maybe"))
      answer = ctx.interrupt("really?");
    return state_update{{"hidden", answer}};
  });
  g.add_node("write", [] { return state_update{{"shown", 1}}; });
  g.add_edge(START, "ask");
  g.add_edge(START, "write");
  g.add_edge("ask", END);
  g.add_edge("write", END);
  return g.compile({.name = "ask"});
}

// Answers in two pieces with the number of messages before; asks first when it hears `ask`, and
// waits for the gate when it hears `wait`.
inline compiled_graph talking_graph(const std::shared_ptr<gate>& at) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("listen",
             [at](const state_view& s, context& ctx) {
               auto heard = message_text(s["messages"][s["messages"].size() - 1]);
               if (heard == "wait")
                 at->pass();
               if (heard == "ask")
                 return state_update{
                   {"messages",
                    value::list({ai_message(ctx.interrupt("are you sure?"), {}, "ai-asked")})}};
               return state_update{};
             },
             {.lane = lane::blocking});
  g.add_node("answer", [](const state_view& s, context& ctx) {
    auto id = "ai-" + std::to_string(s["messages"].size());
    for (const char* piece : {"Hello ", "there"})
      ctx.stream_message(value::extension(
        value_kind::message,
        value::map({{"role", "assistant"}, {"content", piece}, {"id", id}, {"chunk", true}})));
    return state_update{{"messages", value::list({ai_message("Hello there", {}, id)})}};
  });
  g.add_edge(START, "listen");
  g.add_edge("listen", "answer");
  g.add_edge("answer", END);
  return g.compile({.name = "chat"});
}

class served_rooms {
public:
  explicit served_rooms(std::shared_ptr<saver> checkpoints = make_memory_saver())
    : machine{{.saver = std::move(checkpoints)}} {
    for (const auto& id : graphs.ids())
      add_assistant(default_assistant_id(id), id, id);
    router routes;
    add_system(routes, with, status);
    add_assistants(routes, with);
    add_threads(routes, with);
    add_thread_states(routes, with);
    add_runs(routes, with);
    add_store_items(routes, with);
    add_crons(routes, with);
    add_thread_protocol(routes, with);
    add_mcp(routes, with);
    add_a2a(routes, with);
    add_documentation(routes);
    all_routes = routes.routes();
    edge = std::make_unique<http_edge>(logging(), std::move(routes));
    status.edge = edge.get();
    status.phase = server_phase::serving;
  }
  ~served_rooms() { at->open(); }

  // Options of an edge whose log is kept.
  edge_options logging() {
    edge_options out;
    out.log = [this](const std::string& line) {
      std::scoped_lock lock{log_mutex_};
      log_ += line + '\n';
    };
    return out;
  }
  std::string log() const {
    std::scoped_lock lock{log_mutex_};
    return log_;
  }

  void add_assistant(const std::string& id, const std::string& graph, const std::string& name) {
    auto time = time_text(runs.now());
    assistant_record made{
      .assistant_id = id, .graph_id = graph, .name = name, .created_at = time, .updated_at = time};
    documents->commit_and_wait({{document_kind::assistant, id, made.body(), 0}}).value();
  }

  std::string text_of(const std::string& method, const std::string& target, const std::string& body,
                      const std::string& headers) const {
    return method + ' ' + target + " HTTP/1.1\r\nHost: here:80\r\nConnection: close\r\n" + headers
           + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  heard_answer ask(const std::string& method, const std::string& target,
                   const std::string& body = {}, const std::string& headers = {}) const {
    troupe::test::raw_client client{edge->port()};
    client.say(text_of(method, target, body, headers));
    return answer_in(client.hear_all());
  }
  heard_answer post(const std::string& target, const value& body,
                    const std::string& headers = {}) const {
    return ask("POST", target, to_json(body), headers);
  }

  std::shared_ptr<gate> at = std::make_shared<gate>();
  std::shared_ptr<document_store> documents = memory_documents();
  runtime machine;
  graph_set graphs{machine,
                   {{"plain", counting_graph()},
                    {"fail", failing_graph()},
                    {"narrow", narrow_graph()},
                    {"ask", asking_graph()},
                    {"silent", silent_graph()},
                    {"chat", talking_graph(at)}}};
  rooms with{graphs, documents, runs, make_memory_store(), std::make_shared<thread_hubs>(runs)};
  run_service runs{graphs, documents, {.server_id = "one"}};
  server_status status;
  std::vector<route> all_routes;
  std::unique_ptr<http_edge> edge;

private:
  mutable std::mutex log_mutex_;
  std::string log_;

  static heard_answer answer_in(const std::string& bytes) {
    auto end = bytes.find("\r\n\r\n");
    BOOST_REQUIRE_MESSAGE(end != bytes.npos, bytes);
    heard_answer out{.status = std::stoi(bytes.substr(9, 3)),
                     .head = bytes.substr(0, end + 2),
                     .body = bytes.substr(end + 4)};
    if (out.has_header("Transfer-Encoding: chunked"))
      out.body = without_chunks(out.body);
    return out;
  }
  static std::string without_chunks(std::string_view bytes) {
    std::string out;
    for (;;) {
      auto size = std::stoul(std::string{bytes.substr(0, bytes.find("\r\n"))}, nullptr, 16);
      bytes.remove_prefix(bytes.find("\r\n") + 2);
      if (size == 0)
        return out;
      out.append(bytes.substr(0, size));
      bytes.remove_prefix(size + 2);
    }
  }
};

/// Holds all threads of a server's runs, which also hear commands, until it ends.
class held_threads {
public:
  explicit held_threads(served_rooms& of) {
    constexpr auto threads = static_cast<int>(limits::server_run_threads);
    for (int i = 0; i < threads; ++i)
      of.runs.later([at = at_] { at->pass(); });
    at_->wait_for(threads);
  }
  ~held_threads() { at_->open(); }

private:
  const std::shared_ptr<gate> at_ = std::make_shared<gate>();
};

} // namespace troupe::server::test
