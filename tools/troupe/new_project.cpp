// new_project: the texts of the files, in which @NAME@ stands for the project.
#include "tools/troupe/new_project.hpp"

#include <algorithm>
#include <string_view>

namespace troupe::cli {

namespace {

struct project_text {
  const char* name;
  const char* text;
};

constexpr project_text texts[] = {
  {"CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.25)
project(@NAME@ LANGUAGES CXX)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
find_package(troupe REQUIRED COMPONENTS agents)

add_library(agent MODULE agent.cpp) # libagent.so, which troupe.json names
target_link_libraries(agent PRIVATE troupe::agents)

enable_testing()
add_executable(agent_test agent_test.cpp)
target_link_libraries(agent_test PRIVATE troupe::core)
target_compile_definitions(agent_test PRIVATE AGENT_LIBRARY="$<TARGET_FILE:agent>")
add_dependencies(agent_test agent)
add_test(NAME agent COMMAND agent_test)
)"},
  {"agent.cpp", R"(// The agent: a model with one tool.
#include <troupe/agents.hpp>
#include <troupe/graph_library.hpp>

#include <cstdlib>
#include <string>

namespace {

// The model that TROUPE_MODEL names, as "anthropic:NAME" or "openai:NAME". Without one, an echo,
// which needs no key.
troupe::chat_model_ptr chosen_model() {
  const char* name = std::getenv("TROUPE_MODEL");
  return troupe::init_chat_model(name && *name ? name : "echo");
}

} // namespace

TROUPE_GRAPH(agent) {
  auto add = troupe::tool("add", "The sum of two numbers",
                          [](troupe::arg<"a", double> a, troupe::arg<"b", double> b) {
                            return std::to_string(*a + *b);
                          });
  return troupe::create_agent({.model = chosen_model(),
                               .tools = {add},
                               .system_prompt = "You are brief.",
                               .name = "agent"});
}
)"},
  {"agent_test.cpp", R"(// The agent answers. With the echo model, the answer is the question.
#include <troupe/graph_library.hpp>
#include <troupe/troupe.hpp>

#include <cstdlib>
#include <iostream>

int main() {
  ::setenv("TROUPE_MODEL", "echo", 1); // no network, no key
  troupe::runtime rt{{}};
  auto app = rt.load(troupe::load_graph(AGENT_LIBRARY, "agent").value());
  auto out = app.invoke({{"messages", {{"user", "Hello"}}}});
  auto answers = out.value()["messages"].size();
  if (answers == 2) // the question, and an answer
    return 0;
  std::cerr << "messages after a question: " << answers << ", not 2\n";
  return 1;
}
)"},
  {"troupe.json", R"({
  "graphs": {
    "@NAME@": "build/libagent.so:agent"
  },
  "env": {
    "TROUPE_MODEL": "echo"
  }
}
)"},
  {"Dockerfile",
   R"(# The agent in an image, on top of an image `troupe` (the Dockerfile of troupe's sources makes it):
#   docker build -t @NAME@ .
#   troupe serve --new-api-key web >> keys
#   docker run --init -p 2024:2024 -v $PWD/keys:/keys:ro -v @NAME@-data:/data @NAME@

FROM troupe AS build
USER root
RUN apt-get update \
 && apt-get install -y --no-install-recommends cmake g++ libcaf-dev ninja-build
WORKDIR /app
COPY . .
RUN rm -rf build && cmake -G Ninja -B build && cmake --build build && ctest --test-dir build

FROM troupe
COPY --from=build /app/troupe.json /app/
COPY --from=build /app/build/libagent.so /app/build/
EXPOSE 2024
CMD ["serve", "--config", "/app/troupe.json", "--data", "/data", "--listen", "0.0.0.0:2024", \
     "--api-keys", "/keys"]
)"},
  {"README.md", R"(# @NAME@

An agent on troupe. Build it, test it, and serve it to clients of LangGraph's Agent Server:

    cmake -G Ninja -B build && cmake --build build && ctest --test-dir build
    troupe dev              # the graphs of troupe.json, at http://127.0.0.1:2024; build again, and new runs use it
    troupe serve            # the same for production, without watching the build

A real model: `TROUPE_MODEL=anthropic:MODEL ANTHROPIC_API_KEY=… troupe serve`. The agent is `agent.cpp`.
)"},
  {".gitignore", "/build/\n/.troupe/\n/keys\n"},
  {".dockerignore", "build\n.troupe\nkeys\n"},
};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string with_name(std::string_view text, const std::string& name) {
  constexpr std::string_view mark = "@NAME@";
  std::string out;
  for (std::size_t at = 0; (at = text.find(mark)) != text.npos;) {
    out.append(text.substr(0, at)).append(name);
    text.remove_prefix(at + mark.size());
  }
  return out.append(text);
}

} // namespace

std::string project_name_problem(const std::string& name) {
  auto fits = [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  if (name.empty() || !is_letter(name.front()) || !std::ranges::all_of(name, fits))
    return "a name has a letter, and then letters, digits, _ and -";
  return {};
}

std::vector<project_file> files_of_project(const std::string& name) {
  std::vector<project_file> out;
  for (const auto& one : texts)
    out.push_back({one.name, with_name(one.text, name)});
  return out;
}

} // namespace troupe::cli
