// anthropic_betas: the beta headers that Anthropic's own tools require.
#include "agents/messages/json_text.hpp"
#include "agents/models/anthropic_wire.hpp"

#include <strings.h>

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {
namespace {

constexpr const char* beta_header = "anthropic-beta";

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> tool_betas{{
  {"code_execution_20250522", "code-execution-2025-05-22"},
  {"code_execution_20250825", "code-execution-2025-08-25"},
  {"computer_20250124", "computer-use-2025-01-24"},
  {"computer_20251124", "computer-use-2025-11-24"},
  {"mcp_toolset", "mcp-client-2025-11-20"},
  {"memory_20250818", "context-management-2025-06-27"},
  {"tool_search_tool_bm25_20251119", "advanced-tool-use-2025-11-20"},
  {"tool_search_tool_regex_20251119", "advanced-tool-use-2025-11-20"},
  {"web_fetch_20250910", "web-fetch-2025-09-10"},
}};

bool names_beta(std::string_view list, std::string_view beta) {
  while (!list.empty()) {
    auto end = std::min(list.find(','), list.size());
    auto name = list.substr(0, end);
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    if (name == beta)
      return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

void add_betas(std::string& to, std::string_view more) {
  if (!more.empty())
    (to += to.empty() ? "" : ",") += more;
}

} // namespace

http_headers with_betas(http_headers given, const value& tools) {
  std::string all;
  std::erase_if(given, [&all](const auto& header) {
    bool is_beta = ::strcasecmp(header.first.c_str(), beta_header) == 0;
    if (is_beta)
      add_betas(all, header.second);
    return is_beta;
  });
  for (const auto& tool : tools.items()) {
    auto type = text_in(tool["type"]);
    for (const auto& [of_type, beta] : tool_betas)
      if (type == of_type && !names_beta(all, beta))
        add_betas(all, beta);
  }
  if (!all.empty())
    given.emplace_back(beta_header, std::move(all));
  return given;
}

} // namespace troupe
