// mcp_oauth_rules: reading metadata and answers, making requests.
#include "agents/mcp/mcp_oauth_rules.hpp"

#include "agents/messages/json_text.hpp"

#include <troupe/limits.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

namespace troupe {
namespace {

std::string base64_text(const unsigned char* bytes, std::size_t size) {
  std::string out(4 * ((size + 2) / 3) + 1, '\0');
  auto written = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes,
                                   static_cast<int>(size));
  out.resize(static_cast<std::size_t>(written));
  return out;
}

bool is_loopback_origin(std::string_view origin) {
  auto host = origin.substr(std::string_view{"http://"}.size());
  for (std::string_view name : {"127.0.0.1", "localhost", "[::1]"})
    if (host == name || host.starts_with(std::string{name} + ':'))
      return true;
  return false;
}

bool fits_a_header(std::string_view text) {
  return !text.empty() && text.size() <= limits::oauth_text_bytes_max
         && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

// The text of a member that is within its bound; else empty.
std::string bounded(const value& v) {
  auto text = text_in(v);
  return text.size() <= limits::oauth_text_bytes_max ? text : std::string{};
}

std::string joined_words(const value& words) {
  std::string out;
  for (const auto& word : words.items())
    out += (out.empty() ? "" : " ") + bounded(word);
  return out.size() <= limits::oauth_text_bytes_max ? out : std::string{};
}

bool has_item(const value& list, std::string_view text) {
  return std::ranges::any_of(list.items(), [&](const value& v) { return v == value(text); });
}

// The value of a parameter of a challenge: a token, or a quoted text.
std::string parameter(std::string_view header, std::string_view name) {
  for (std::size_t at = 0; (at = header.find(name, at)) != header.npos; at += name.size()) {
    bool begins = at == 0 || header[at - 1] == ' ' || header[at - 1] == ',';
    auto rest = header.substr(at + name.size());
    if (!begins || !rest.starts_with('='))
      continue;
    rest.remove_prefix(1);
    if (!rest.starts_with('"'))
      return std::string{rest.substr(0, rest.find_first_of(", "))};
    rest.remove_prefix(1);
    std::string out;
    for (std::size_t i = 0; i < rest.size() && rest[i] != '"'; ++i)
      out += rest[i] == '\\' && i + 1 < rest.size() ? rest[++i] : rest[i];
    return out;
  }
  return {};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  auto low = static_cast<char>(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size() || hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0)
      return std::nullopt;
    out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
    i += 2;
  }
  return out;
}

// A URL without the slash at its end, which servers write or leave out.
std::string_view without_slash(std::string_view url) {
  return url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
}

} // namespace

error oauth_failure(std::string_view doing, const std::string& why) {
  return {errc::node_failed, "authorize for an MCP server: " + std::string{doing} + ": " + why,
          "AuthorizationError", why};
}

std::string oauth_error_code(const std::string& given) {
  constexpr std::size_t bytes_max = 64;
  bool is_code = !given.empty() && given.size() <= bytes_max
                 && std::ranges::all_of(given,
                                        [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return is_code ? given : "an error without a known form";
}

result<oauth_url> read_oauth_url(const std::string& text, bool loopback_too) {
  auto refused = [](const std::string& why) { return oauth_failure("read a URL", why); };
  if (!fits_a_header(text))
    return refused("it is empty, too long, or has characters that must be escaped");
  auto begin = text.find("://");
  if (begin == text.npos)
    return refused("its scheme is missing");
  auto end = std::min(text.find_first_of("/?#", begin + 3), text.size());
  oauth_url out{.origin = text.substr(0, end),
                .path = text.substr(end,
                                    std::min(text.find_first_of("?#", end), text.size()) - end)};
  if (text.find('#') != text.npos || out.origin.find('@') != out.origin.npos || end == begin + 3)
    return refused("it has no host, or a fragment, name or password");
  bool is_safe = out.origin.starts_with("https://")
                 || (loopback_too && out.origin.starts_with("http://")
                     && is_loopback_origin(out.origin));
  if (!is_safe)
    return refused("it is not https: " + out.origin);
  return out;
}

oauth_challenge read_challenge(std::string_view header) {
  return {.resource_metadata = parameter(header, "resource_metadata"),
          .scope = parameter(header, "scope"),
          .error = parameter(header, "error")};
}

bool asks_for_token(int status, std::string_view challenge) {
  return status == 401
         || (status == 403 && read_challenge(challenge).error == "insufficient_scope");
}

result<std::vector<std::string>> resource_metadata_urls(const std::string& resource,
                                                        const oauth_challenge& challenge,
                                                        bool loopback_too) {
  auto server = read_oauth_url(resource, loopback_too);
  if (!server)
    return server.error();
  if (!challenge.resource_metadata.empty()) {
    auto named = read_oauth_url(challenge.resource_metadata, loopback_too);
    if (!named)
      return named.error();
    if (named->origin != server->origin)
      return oauth_failure("discover the server", "its metadata is at another origin");
    return std::vector{challenge.resource_metadata};
  }
  auto root = server->origin + "/.well-known/oauth-protected-resource";
  if (without_slash(server->path).empty())
    return std::vector{root};
  return std::vector{root + server->path, root};
}

std::vector<std::string> server_metadata_urls(const oauth_url& issuer) {
  auto path = std::string{without_slash(issuer.path)};
  auto known = issuer.origin + "/.well-known/";
  if (path.empty())
    return {known + "oauth-authorization-server", known + "openid-configuration"};
  return {known + "oauth-authorization-server" + path, known + "openid-configuration" + path,
          issuer.origin + path + "/.well-known/openid-configuration"};
}

result<oauth_resource> read_resource_metadata(const value& metadata, const std::string& resource) {
  constexpr const char* doing = "discover the server";
  // The metadata may be of the whole origin, but never of another one.
  auto named = bounded(metadata["resource"]);
  bool is_prefix = !named.empty() && resource.starts_with(without_slash(named));
  auto rest = is_prefix ? resource.substr(without_slash(named).size()) : std::string{};
  if (!is_prefix || (!rest.empty() && rest[0] != '/' && rest[0] != '?'))
    return oauth_failure(doing, "its metadata is of another resource");
  auto issuer = bounded(metadata["authorization_servers"][0]);
  if (issuer.empty())
    return oauth_failure(doing, "its metadata names no authorization server");
  return oauth_resource{.issuer = std::move(issuer),
                        .scope = joined_words(metadata["scopes_supported"])};
}

result<oauth_server> read_server_metadata(const value& metadata, const std::string& issuer,
                                          bool loopback_too) {
  constexpr const char* doing = "discover the authorization server";
  if (without_slash(bounded(metadata["issuer"])) != without_slash(issuer))
    return oauth_failure(doing, "its metadata is of another issuer");
  if (!has_item(metadata["code_challenge_methods_supported"], "S256"))
    return oauth_failure(doing, "it does not offer PKCE with S256");
  oauth_server out{.authorization_endpoint = bounded(metadata["authorization_endpoint"]),
                   .token_endpoint = bounded(metadata["token_endpoint"]),
                   .registration_endpoint = bounded(metadata["registration_endpoint"])};
  for (const auto* endpoint :
       {&out.authorization_endpoint, &out.token_endpoint, &out.registration_endpoint}) {
    bool may_miss = endpoint == &out.registration_endpoint;
    if (endpoint->empty() && may_miss)
      continue;
    if (auto read = read_oauth_url(*endpoint, loopback_too); !read)
      return oauth_failure(doing, "an endpoint is not valid: " + read.error().text());
  }
  const auto& methods = metadata["token_endpoint_auth_methods_supported"];
  out.takes_basic = !methods.is_list() || has_item(methods, "client_secret_basic");
  return out;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view plain = "-._~";
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
                    || plain.find(c) != plain.npos;
    if (is_plain)
      out += c;
    else
      out += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

std::string form_of(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string out;
  for (const auto& [name, text] : fields)
    if (!text.empty())
      out += (out.empty() ? "" : "&") + name + '=' + percent_encoded(text);
  return out;
}

std::optional<std::vector<std::pair<std::string, std::string>>> read_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!query.empty()) {
    auto field = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), field.size() + 1));
    auto at = std::min(field.find('='), field.size());
    auto name = percent_decoded(field.substr(0, at));
    auto text = percent_decoded(field.substr(std::min(at + 1, field.size())));
    if (!name || !text || std::ranges::any_of(out, [&](const auto& f) { return f.first == *name; }))
      return std::nullopt;
    out.emplace_back(std::move(*name), std::move(*text));
  }
  return out;
}

std::string pkce_challenge(const std::string& verifier) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  ::EVP_Digest(verifier.data(), verifier.size(), digest.data(), &size, ::EVP_sha256(), nullptr);
  auto out = base64_text(digest.data(), size);
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  out.erase(std::min(out.find('='), out.size()));
  return out;
}

std::string basic_authorization(const std::string& id, const std::string& secret) {
  auto text = percent_encoded(id) + ':' + percent_encoded(secret);
  return "Basic " + base64_text(reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

std::string registration_of(const mcp_oauth& settings, const std::string& redirect) {
  auto out =
    value::map({{"client_name", settings.client_name},
                {"redirect_uris", value::list({value(redirect)})},
                {"grant_types", value::list({value("authorization_code"), value("refresh_token")})},
                {"response_types", value::list({value("code")})},
                {"token_endpoint_auth_method", "none"}});
  return to_json(settings.scope.empty() ? out : out.with("scope", settings.scope));
}

result<void> read_registration(const value& answer, mcp_credentials& out) {
  out.client_id = bounded(answer["client_id"]);
  out.client_secret = bounded(answer["client_secret"]);
  if (out.client_id.empty())
    return oauth_failure("register the client", "the answer has no valid client_id");
  return {};
}

result<void> read_tokens(const value& answer, mcp_credentials& out) {
  auto token = bounded(answer["access_token"]);
  auto type = text_in(answer["token_type"]);
  std::ranges::transform(type, type.begin(), [](char c) { return static_cast<char>(c | 0x20); });
  if (!fits_a_header(token) || type != "bearer")
    return oauth_failure("get a token", "the answer has no valid bearer token");
  out.access_token = std::move(token);
  if (auto refresh = bounded(answer["refresh_token"]); !refresh.empty())
    out.refresh_token = std::move(refresh);
  if (auto scope = bounded(answer["scope"]); !scope.empty())
    out.scope = std::move(scope);
  return {};
}

oauth_redirect read_redirect(std::string_view target, const std::string& state,
                             const std::string& issuer) {
  auto at = std::min(target.find('?'), target.size());
  auto fields = read_query(target.substr(std::min(at + 1, target.size())));
  auto field = [&fields](std::string_view name) {
    for (const auto& [key, text] : *fields)
      if (key == name)
        return text;
    return std::string{};
  };
  auto given = fields ? field("state") : std::string{};
  if (given.size() != state.size()
      || ::CRYPTO_memcmp(given.data(), state.data(), state.size()) != 0)
    return {};
  constexpr const char* doing = "get the person's agreement";
  if (auto from = field("iss"); !from.empty() && without_slash(from) != without_slash(issuer))
    return {.is_ours = true, .code = oauth_failure(doing, "the redirect is of another issuer")};
  if (auto refused = field("error"); !refused.empty())
    return {.is_ours = true, .code = oauth_failure(doing, "refused: " + oauth_error_code(refused))};
  auto code = field("code");
  if (code.empty() || code.size() > limits::oauth_text_bytes_max)
    return {.is_ours = true, .code = oauth_failure(doing, "the redirect has no valid code")};
  return {.is_ours = true, .code = std::move(code)};
}

} // namespace troupe
