// Subscriptions under a filter, to threads that are there, come later, or were removed.
#include "server/api/filtered_subscription.hpp"

#include "server/api/filtered_routes.hpp"
#include "tests/server/served_rooms.hpp"

#include <future>

namespace troupe::server::test {
namespace {

constexpr const char* awaited_id = "7b0d7c9c-31a1-4f5f-8a38-0d5a2a3f2b17";

/// Documents that cannot be read.
class lost_documents final : public document_store {
public:
  result<std::optional<document>> get(document_kind, const std::string&) override {
    return error{errc::storage_failed, "it is lost"};
  }
  result<document_page> search(const document_query&) override {
    return error{errc::storage_failed, "it is lost"};
  }
  void commit(std::vector<document_change>, std::function<void(result<void>)> then) override {
    then(error{errc::storage_failed, "it is lost"});
  }
  std::shared_ptr<void> watch(document_kind,
                              std::function<void(const std::vector<std::string>&)>) override {
    return nullptr;
  }
  bool is_shared() const noexcept override { return false; }
};

value owned_by(const char* owner) {
  return value::map({{"owner", owner}});
}

/// A thread with a hub, and a subscriber. A single thread does what is posted.
struct awaited_thread {
  awaited_thread() {
    with.log = [this](const std::string& line) { log += line + '\n'; };
  }
  void store(const char* owner, std::int64_t created_at = 1) const {
    thread_record made{
      .thread_id = awaited_id, .created_at = time_text(created_at), .metadata = owned_by(owner)};
    documents->commit_and_wait({{document_kind::thread, awaited_id, made.body()}}).value();
  }
  /// A run of a graph with this name, as the hub sees it.
  void run(const char* name, std::int64_t thread_created_at = 1) const {
    run_record one{.run_id = name,
                   .status = run_status::success,
                   .graph_id = name,
                   .thread_created_at = thread_created_at};
    observer.began(one);
    observer.ended({one});
  }
  void subscribe(value filter) {
    handle = subscribe_filtered(with, hub,
                                {.thread_id = awaited_id,
                                 .filter = std::move(filter),
                                 .what = {.channels = {"lifecycle"}},
                                 .take =
                                   [this](const numbered_event& e) {
                                     heard += e.event.data["event"].as<std::string>() + ':'
                                              + e.event.data["graph_name"].as<std::string>() + ' ';
                                   },
                                 .refused = [this] { ++refused; }},
                                [this] { heard += "begins "; });
  }
  /// Waits until all that was posted is done.
  void settle() {
    auto done = std::make_shared<std::promise<void>>();
    runs.later([done] { done->set_value(); });
    done->get_future().get();
  }

  std::string heard;
  std::string log;
  int refused = 0;
  std::shared_ptr<document_store> documents = memory_documents();
  runtime machine{{.saver = make_memory_saver()}};
  graph_set graphs{machine, {{"plain", counting_graph()}}};
  rooms with{graphs, documents, runs, nullptr, std::make_shared<thread_hubs>(runs)};
  run_service runs{graphs, documents, {.server_id = "one", .threads = 1}};
  std::shared_ptr<thread_hub> hub = with.hubs->at(awaited_id);
  const thread_observer observer = thread_hub::observer(hub);
  std::shared_ptr<void> handle;
};

/// Holds the single thread until it ends.
class held_thread {
public:
  explicit held_thread(awaited_thread& of) {
    of.runs.later([at = at_] { at->pass(); });
    at_->wait_for(1);
  }
  ~held_thread() { at_->open(); }

private:
  const std::shared_ptr<gate> at_ = std::make_shared<gate>();
};

/// Rooms whose callers, by the header x-user, see their own threads alone.
struct owned_rooms : served_rooms {
  owned_rooms() {
    auto options = logging();
    options.authenticate = [](const http_asked& head) -> result<caller> {
      return caller{.identity = std::string{head.header("x-user")}};
    };
    options.authorise = [](const access_question& asked) -> access_verdict {
      if (asked.what.resource != "threads")
        return {};
      return {.filter = owned_by(asked.who.identity.c_str())};
    };
    router routes;
    for (const auto& one : all_routes)
      routes.add(one);
    edge = std::make_unique<http_edge>(options, with_filters(routes, with));
    status.edge = edge.get();
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(server_filtered_subscription)

BOOST_FIXTURE_TEST_CASE(a_thread_that_comes_and_fits_shows_each_event_once_in_order,
                        awaited_thread) {
  subscribe(owned_by("ann"));
  store("ann");
  {
    held_thread held{*this};
    run("one");
    run("two");
    BOOST_TEST(heard == "begins "); // nobody looked at the thread yet
  }
  settle();
  run("three");
  BOOST_TEST(heard
             == "begins running:one completed:one running:two completed:two running:three "
                "completed:three ");
  BOOST_TEST(refused == 0);
}

BOOST_FIXTURE_TEST_CASE(a_thread_that_comes_and_does_not_fit_shows_nothing, awaited_thread) {
  subscribe(owned_by("ann"));
  store("bob");
  run("one");
  settle();
  BOOST_TEST(refused == 1);
  BOOST_TEST(!hub->has_subscribers());
  store("ann"); // it had its chance
  run("two");
  settle();
  BOOST_TEST(heard == "begins ");
  BOOST_TEST(refused == 1);
}

BOOST_FIXTURE_TEST_CASE(events_of_a_removed_thread_are_not_those_of_the_next_one, awaited_thread) {
  run("removed");
  subscribe(owned_by("ann"));
  {
    held_thread held{*this};
    run("removed soon");
  }
  settle();
  BOOST_TEST(heard == "begins ");
  store("ann");
  run("new");
  settle();
  BOOST_TEST(heard == "begins running:new completed:new ");
  BOOST_TEST(refused == 0);
}

BOOST_FIXTURE_TEST_CASE(a_thread_that_is_there_is_shown_or_refused_at_once, awaited_thread) {
  held_thread held{*this};
  store("ann");
  run("one");
  subscribe(owned_by("ann"));
  BOOST_TEST(heard == "begins running:one completed:one ");
  BOOST_TEST(refused == 0);
  heard.clear();
  subscribe(owned_by("bob"));
  BOOST_TEST(heard == "begins ");
  BOOST_TEST(refused == 1);
}

BOOST_FIXTURE_TEST_CASE(a_thread_that_takes_the_place_of_a_removed_one_is_looked_at,
                        awaited_thread) {
  store("ann", 1);
  subscribe(owned_by("ann"));
  run("one", 1);
  store("ann", 2);
  run("two", 2);
  settle();
  store("bob", 3);
  run("of bob", 3);
  settle();
  BOOST_TEST(heard == "begins running:one completed:one running:two completed:two ");
  BOOST_TEST(refused == 1);
}

BOOST_FIXTURE_TEST_CASE(without_a_filter_a_missing_thread_is_shown_from_its_first_event_on,
                        awaited_thread) {
  run("removed", 1);
  subscribe({});
  run("one", 2); // nobody looks at the thread again
  BOOST_TEST(heard == "begins running:one completed:one ");
}

BOOST_FIXTURE_TEST_CASE(without_a_filter_a_new_thread_shows_no_events_of_a_removed_one,
                        awaited_thread) {
  run("removed", 1);
  store("ann", 2);
  subscribe({});
  run("one", 2);
  run("two", 3); // of the next one
  BOOST_TEST(heard == "begins running:one completed:one running:two completed:two ");
}

BOOST_FIXTURE_TEST_CASE(a_thread_that_cannot_be_read_is_refused_and_logged, awaited_thread) {
  with.documents = std::make_shared<lost_documents>();
  run("one");
  for (const auto& filter : {owned_by("ann"), value{}})
    subscribe(filter);
  BOOST_TEST(heard == "begins begins ");
  BOOST_TEST(refused == 2);
  const auto line = std::string{"look at thread "} + awaited_id + ": it is lost\n";
  BOOST_TEST(log == line + line);
}

BOOST_FIXTURE_TEST_CASE(a_subscription_that_was_dropped_takes_nothing, awaited_thread) {
  subscribe(owned_by("ann"));
  store("ann");
  {
    held_thread held{*this};
    run("one");
    handle.reset();
  }
  settle();
  BOOST_TEST(heard == "begins ");
  BOOST_TEST(!hub->has_subscribers());
}

BOOST_FIXTURE_TEST_CASE(a_stream_that_awaits_a_thread_shows_it_to_its_owner_alone, owned_rooms) {
  const auto path = std::string{"/threads/"} + awaited_id;
  const std::string as_ann = "x-user: ann\r\n", as_bob = "x-user: bob\r\n";
  troupe::test::raw_client ann{edge->port()}, bob{edge->port()};
  for (auto [client, who] : {std::pair{&ann, as_ann}, {&bob, as_bob}}) {
    client->say(text_of("POST", path + "/stream/events", R"({"channels":["lifecycle"]})", who));
    BOOST_TEST(client->hear("\r\n\r\n").starts_with("HTTP/1.1 200"));
  }
  auto run = ask("POST", path + "/runs/wait",
                 R"({"assistant_id":"plain","input":{},"if_not_exists":"create"})", as_ann);
  BOOST_TEST(run.status == 200);
  BOOST_TEST(ann.hear("completed").find("running") != std::string::npos);
  int tries = 0;
  while (edge->load().streams > 1) { // bob's ends
    BOOST_REQUIRE(++tries < 20'000);
    ask("GET", "/ok");
  }
  BOOST_TEST(bob.hear_all().find("lifecycle") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_thread_shows_its_owner_nothing_of_a_removed_one, owned_rooms) {
  const auto path = std::string{"/threads/"} + awaited_id;
  const std::string as_ann = "x-user: ann\r\n", as_bob = "x-user: bob\r\n";
  auto run = [&](const std::string& who, const char* graph) {
    BOOST_TEST(
      ask("POST", path + "/runs/wait",
          R"({"input":{},"if_not_exists":"create","assistant_id":")" + std::string{graph} + "\"}",
          who)
        .status
      == 200);
  };
  auto follow = [&](troupe::test::raw_client& client, const std::string& who) {
    client.say(text_of("POST", path + "/stream/events", R"({"channels":["lifecycle"]})", who));
    client.hear("\r\n\r\n");
  };
  troupe::test::raw_client ann{edge->port()}, bob{edge->port()};
  follow(ann, as_ann);
  run(as_ann, "plain");
  ann.hear("completed");
  BOOST_TEST(ask("DELETE", path, "", as_ann).status == 204);
  BOOST_TEST(
    ask("POST", "/threads", R"({"thread_id":")" + std::string{awaited_id} + "\"}", as_bob).status
    == 200);
  follow(bob, as_bob);
  run(as_bob, "fail");
  BOOST_TEST(bob.hear("failed").find("plain") == std::string::npos);
  BOOST_TEST(ann.hear_all().find("fail") == std::string::npos); // her stream ends
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
