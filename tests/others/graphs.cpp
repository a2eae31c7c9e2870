// Graphs for `troupe chat` and `troupe mcp`, for tests with the tools of others.
#include <troupe/agents.hpp>
#include <troupe/graph_library.hpp>

#include <string>

// An agent of the model openai:m. Its tool, send_mail {to}, may be approved or rejected.
TROUPE_GRAPH(reviewed) {
  troupe::tool send{"send_mail", "Sends a mail",
                    [](troupe::arg<"to", std::string> to) { return "sent to " + *to; }};
  troupe::review how;
  how.decisions = {"approve", "reject"};
  return troupe::create_agent({.model = troupe::init_chat_model("openai:m"),
                               .tools = {send},
                               .middleware = {troupe::human_in_the_loop({{"send_mail", how}})},
                               .name = "reviewed"});
}
