// Texts that decide about an authorization at an MCP server, line by line: a challenge, a redirect,
// metadata, and the URI of a resource with its template.
#include "tests/fuzz_bytes/target.hpp"

#include "agents/mcp/mcp_oauth_rules.hpp"
#include "agents/mcp/mcp_uri_template.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace troupe::fuzz_bytes {

namespace {

constexpr const char* own = "https://mcp.example/mcp";

bool is_of(const std::string& url, std::string_view origin) {
  auto read = read_oauth_url(url, false);
  return read && read->origin == origin;
}

void try_challenge(std::string_view header) {
  auto challenge = read_challenge(header);
  require(challenge.scope.size() <= header.size(), "a challenge adds nothing");
  if (auto urls = resource_metadata_urls(own, challenge, false))
    for (const auto& url : *urls)
      require(is_of(url, "https://mcp.example"), "metadata is of the server's origin");
}

void try_redirect(std::string_view target) {
  const std::string state = "s0";
  auto redirect = read_redirect(target, state, own);
  if (!redirect.is_ours)
    return;
  require(target.find('?') != target.npos, "a redirect has its state");
  if (redirect.code)
    require(!redirect.code->empty() && redirect.code->size() <= target.size(), "a code was sent");
  else
    require(redirect.code.error().message().size() < 300, "a refusal has nothing of the redirect");
}

void try_metadata(std::string_view text) {
  auto metadata = from_json(text, json_form::plain);
  if (!metadata)
    return;
  if (auto resource = read_resource_metadata(*metadata, own))
    require(!resource->issuer.empty(), "metadata names a server");
  if (auto server = read_server_metadata(*metadata, "https://as.example", false))
    for (const auto* endpoint : {&server->authorization_endpoint, &server->token_endpoint})
      require(read_oauth_url(*endpoint, false).has_value(), "an endpoint is safe");
  mcp_credentials credentials;
  if (read_tokens(*metadata, credentials))
    require(credentials.access_token.find_first_of("\r\n ") == std::string::npos,
            "a token fits a header");
}

void try_query(std::string_view text) {
  auto fields = read_query(text);
  if (!fields)
    return;
  for (const auto& [name, given] : *fields) {
    auto again = read_query("x=" + percent_encoded(given));
    require(again && again->at(0).second == given, "what is encoded reads back");
  }
}

// The parts of a URI, put into the template, are the URI again.
void try_template(std::string_view text, std::string_view uri) {
  if (!check_uri_template(text))
    return;
  auto found = match_uri_template(text, uri);
  if (!found)
    return;
  std::string out;
  bool has_twice = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '{') {
      out += text[at++];
      continue;
    }
    auto end = text.find('}', at);
    auto name = text.substr(at + 1, end - at - 1);
    name.remove_prefix(name.starts_with('+') ? 1 : 0);
    has_twice = has_twice || text.find(name, end) != text.npos;
    require((*found)[name].is_string(), "each part has a text");
    out += (*found)[name].as_string();
    at = end + 1;
  }
  require(has_twice || out == uri, "the parts are those of the URI");
}

} // namespace

void try_bytes(std::string_view bytes) {
  std::array<std::string_view, 5> lines;
  for (auto& line : lines) {
    line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
  }
  try_challenge(lines[0]);
  try_redirect(lines[1]);
  try_query(lines[1]);
  try_metadata(lines[2]);
  try_template(lines[3], lines[4]);
}

std::vector<std::string> seeds() {
  return {
    "Bearer resource_metadata=\"https://mcp.example/m\", scope=\"a b\", error=insufficient_scope\n"
    "/callback?code=c%20d&state=s0&iss=https%3A%2F%2Fmcp.example%2Fmcp\n"
    R"({"resource":"https://mcp.example","authorization_servers":["https://as.example"]})"
    "\nlog://{day}/{+rest}.txt\nlog://monday/a/b.txt",
    "Bearer scope=x\n/callback?error=access_denied&state=s0\n"
    R"({"issuer":"https://as.example","authorization_endpoint":"https://as.example/a","token_endpoint":"https://as.example/t","code_challenge_methods_supported":["S256"]})"
    "\na{x}b{y}\naabb",
    "\n?state=s0&code=\n"
    R"({"access_token":"a","token_type":"Bearer","refresh_token":"r"})"
    "\n{x}\n"};
}

} // namespace troupe::fuzz_bytes
