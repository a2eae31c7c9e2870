// The part of the command line that needs troupe::agents.
#include "tools/troupe/agents/definitions.hpp"
#include "tools/troupe/parts.hpp"

#include <troupe/agents.hpp>

#include <cstdlib>

namespace troupe::cli {

namespace {

compiled_graph build_chat() {
  return chat_graph({});
}

constexpr agents_part part{.define_chat = define_chat,
                           .define_mcp = define_mcp,
                           .build_chat = build_chat,
                           .check_schema = check_schema};

} // namespace

compiled_graph chat_graph(const std::string& model, chat_model_options options) {
  const char* set = std::getenv("TROUPE_MODEL");
  auto name = !model.empty() ? model : set && *set ? std::string{set} : std::string{"echo"};
  return create_agent({.model = init_chat_model(name, std::move(options)), .name = "chat"});
}

extern "C" const agents_part* troupe_cli_part() {
  return &part;
}

} // namespace troupe::cli
