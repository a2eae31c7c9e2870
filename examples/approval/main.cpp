// Human approval: a payment waits for a person, on disk and not in a process.
//
//   approval                      prepares the payment, prints the question and ends
//   approval --answer yes         in another process: answers, and the run resumes where it paused
//   approval --data DIR …         keeps the thread in DIR instead of the temporary folder
//
// Any other answer is refused, and the question keeps waiting.
#include <troupe/troupe.hpp>
#include <troupe/value_enum.hpp>

#include <filesystem>
#include <iostream>
#include <map>
#include <string>

namespace {

enum class decision { yes, no };
TROUPE_ENUM(decision, yes, no)

struct payment {
  std::string payee;
  std::int64_t euros = 0;
  std::string status;
  TROUPE_STATE(payment, payee, euros, status)
};

troupe::typed_graph<payment> payments() {
  troupe::state_graph<payment> g;
  g.add_node("prepare", [](const payment& p) {
    std::cout << "preparing the payment to " << p.payee << "\n"; // before the pause: runs once
    return troupe::set(&payment::status, "prepared");
  });
  g.add_node("approve",
             [](const payment& p, troupe::context& ctx) {
               auto question = "Pay " + std::to_string(p.euros) + " EUR to " + p.payee + "?";
               // Without an answer this leaves the body. With one, the body runs again from its
               // first line.
               auto answer = ctx.interrupt_as<decision>({{"question", question}});
               return troupe::command{.goto_ = answer == decision::yes ? "pay" : "decline"};
             },
             {.destinations = {"pay", "decline"}});
  g.add_node("pay", [] { return troupe::set(&payment::status, "paid"); });
  g.add_node("decline", [] { return troupe::set(&payment::status, "declined"); });
  g.add_edge(troupe::START, "prepare");
  g.add_edge("prepare", "approve");
  return g.compile({.name = "payments"});
}

using flag_map = std::map<std::string, std::string>;

flag_map read_flags(int argc, char** argv) {
  flag_map out{{"--data", std::filesystem::temp_directory_path() / "troupe-approval"}};
  for (int i = 1; i + 1 < argc; i += 2)
    out[argv[i]] = argv[i + 1];
  return out;
}

// The next input follows from the disk: the thread waits for an answer, or it does not.
troupe::run_input next_input(const troupe::state_snapshot& now, const flag_map& flags) {
  bool waits = !now.interrupts.empty();
  if (auto answer = flags.find("--answer"); answer != flags.end()) {
    if (!waits)
      throw troupe::error{troupe::errc::unknown_interrupt, "nobody asked anything"};
    return troupe::command{.resume = answer->second};
  }
  if (waits)
    return nullptr; // resumes where the run was, and so asks again
  return {{"payee", "Ada"}, {"euros", 120}};
}

void work(const flag_map& flags) {
  troupe::runtime rt{{.data_dir = flags.at("--data")}};
  auto app = rt.load(payments());
  troupe::run_config config{.thread_id = "invoice-17"};
  auto run = app.invoke(next_input(app.get_state(config), flags), config);

  for (auto& i : run.interrupts())
    std::cout << i.value["question"].as_string() << " Answer with --answer yes or no.\n";
  if (!run.paused())
    std::cout << run.state().status << "\n";
}

} // namespace

int main(int argc, char** argv) {
  try {
    work(read_flags(argc, argv));
  } catch (const troupe::error& why) {
    std::cerr << "approval: " << why.message() << "\n";
    return 1;
  }
}
