// server_config: the members of the file, one function for each object.
#include "server/rules/server_config.hpp"

#include "server/rules/config_map.hpp"
#include "server/rules/webhook_policy.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace troupe::server {

namespace {

namespace fs = std::filesystem;

const std::vector<std::string_view> whole_names{"graphs",   "env",   "http",        "auth",
                                                "webhooks", "store", "checkpointer"};

template <class T, class U> void take_given(T& into, std::optional<U> given) {
  if (given)
    into = std::move(*given);
}

template <class T> void take_given(std::optional<T>& into, std::optional<T> given) {
  if (given)
    into = std::move(given);
}

store_ttl milliseconds_of(double minutes) {
  return std::chrono::duration_cast<store_ttl>(
    std::chrono::duration<double, std::ratio<60>>{minutes});
}

// Minutes between two looks; at least a second.
std::optional<std::chrono::milliseconds> sweep_interval_of(const config_map& ttl) {
  constexpr std::chrono::duration<double, std::ratio<60>> longest{
    limits::server_sweep_interval_max};
  auto minutes = ttl.amount("sweep_interval_minutes", longest.count());
  if (!minutes)
    return std::nullopt;
  auto out = milliseconds_of(*minutes);
  if (out < limits::server_sweep_interval_min)
    throw ttl.wrong("sweep_interval_minutes", "is below a second");
  return out;
}

// ---- http

cors_rules cors_rules_of(const config_map& cors) {
  cors_rules out;
  take_given(out.origins, cors.texts("allow_origins"));
  take_given(out.methods, cors.texts("allow_methods"));
  take_given(out.exposed, cors.texts("expose_headers"));
  take_given(out.credentials, cors.flag("allow_credentials"));
  if (auto names = cors.texts("allow_headers");
      names && std::ranges::find(*names, "*") == names->end()) // "*": those that a page asks for
    out.headers = *names;
  if (auto seconds = cors.whole("max_age", 0, std::numeric_limits<std::int32_t>::max()))
    out.max_age = std::chrono::seconds{*seconds};
  if (out.credentials && std::ranges::find(out.origins, "*") != out.origins.end())
    throw cors.wrong("allow_credentials",
                     "needs allow_origins by name: with \"*\", any page could act as its user");
  return out;
}

void read_http(const config_map& whole, server_options& into) {
  auto http = whole.map("http", {"cors", "disable_assistants", "disable_threads", "disable_runs",
                                 "disable_store", "disable_mcp", "disable_a2a", "disable_meta",
                                 "disable_webhooks"});
  into.cors = cors_rules_of(http.map("cors", {"allow_origins", "allow_methods", "allow_headers",
                                              "allow_credentials", "expose_headers", "max_age"}));
  auto& off = into.disabled;
  take_given(off.assistants, http.flag("disable_assistants"));
  take_given(off.threads, http.flag("disable_threads"));
  take_given(off.runs, http.flag("disable_runs"));
  take_given(off.store, http.flag("disable_store"));
  take_given(off.mcp, http.flag("disable_mcp"));
  take_given(off.a2a, http.flag("disable_a2a"));
  take_given(off.meta, http.flag("disable_meta"));
  take_given(into.webhooks.is_off, http.flag("disable_webhooks"));
}

// ---- auth

token_rules token_rules_of(const config_map& jwt) {
  token_rules out;
  take_given(out.jwks, jwt.text("jwks"));
  take_given(out.allow_private_jwks, jwt.flag("allow_private_jwks"));
  take_given(out.secret_file, jwt.text("secret_file"));
  take_given(out.issuer, jwt.text("issuer"));
  take_given(out.identity, jwt.text("identity"));
  take_given(out.permissions, jwt.text("permissions"));
  if (jwt["audience"].is_string())
    out.audiences = {*jwt.text("audience")};
  else
    take_given(out.audiences, jwt.texts("audience"));
  if (out.jwks.empty() == out.secret_file.empty())
    throw jwt.wrong("jwks", out.jwks.empty() ? "is missing: it or secret_file is needed"
                                             : "excludes secret_file");
  return out;
}

void read_auth(const config_map& whole, server_options& into) {
  auto auth = whole.map("auth", {"api_keys", "jwt"});
  take_given(into.api_keys, auth.text("api_keys"));
  if (auth.has("jwt"))
    into.tokens =
      token_rules_of(auth.map("jwt", {"jwks", "allow_private_jwks", "secret_file", "issuer",
                                      "audience", "identity", "permissions"}));
}

// ---- webhooks

void read_webhooks(const config_map& whole, const variable_lookup& variable, webhook_rules& into) {
  whole.map("webhooks", {"url", "headers", "env_prefix"})
    .map("url", {"require_https", "disable_loopback", "disable_private", "allowed_domains",
                 "allowed_ports", "max_url_length"});
  auto policy = webhook_policy::from(whole["webhooks"], variable).value();
  into.require_https = policy.require_https;
  into.allow_loopback = !policy.disable_loopback;
  into.allow_private = !policy.disable_private;
  into.allowed_domains = policy.allowed_domains;
  into.allowed_ports = policy.allowed_ports;
  into.url_bytes_max = policy.max_url_length;
  into.headers = policy.headers;
}

// ---- store and threads

void read_store_index(const config_map& store, server_config& into) {
  if (!store.has("index"))
    return;
  auto index = store.map("index", {"dims", "embed", "fields"});
  auto dims = index.whole("dims", 1, std::numeric_limits<std::int32_t>::max());
  auto embed = index.text("embed");
  if (!dims || !embed)
    throw index.wrong(dims ? "embed" : "dims", "is missing");
  if (embed->find(':') == embed->npos)
    throw index.wrong("embed", "is not a model as openai:text-embedding-3-small");
  auto& out = into.options.store.index.emplace();
  out.dims = static_cast<std::size_t>(*dims);
  take_given(out.fields, index.texts("fields"));
  into.embed = *embed;
}

void read_store(const config_map& whole, server_config& into) {
  auto store = whole.map("store", {"index", "ttl"});
  read_store_index(store, into);
  auto ttl = store.map("ttl", {"refresh_on_read", "default_ttl", "sweep_interval_minutes"});
  auto& out = into.options.store.ttl;
  take_given(out.refresh_on_read, ttl.flag("refresh_on_read"));
  if (auto minutes = ttl.amount("default_ttl", limits::server_ttl_minutes_max))
    out.default_ttl = std::max(milliseconds_of(*minutes), store_ttl{1});
  take_given(out.sweep_interval, sweep_interval_of(ttl));
}

void read_checkpointer(const config_map& whole, thread_expiry& into) {
  auto ttl = whole.map("checkpointer", {"ttl"})
               .map("ttl", {"strategy", "default_ttl", "sweep_interval_minutes"});
  take_given(into.minutes, ttl.amount("default_ttl", limits::server_ttl_minutes_max));
  take_given(into.sweep_interval, sweep_interval_of(ttl));
  take_given(into.strategy, ttl.text("strategy"));
  if (into.strategy != "delete" && into.strategy != "keep_latest")
    throw ttl.wrong("strategy", "is not delete or keep_latest");
}

// ---- the whole

value json_of_config(std::string_view json) {
  auto read = from_json(json, json_form::plain);
  if (!read)
    throw error{errc::invalid_config, read.error().text()};
  return std::move(*read);
}

server_config config_of(std::string_view json, const variable_lookup& variable) {
  config_map whole{json_of_config(json), "", whole_names};
  server_config out;
  out.graphs = whole.pairs("graphs");
  for (const auto& [name, place] : out.graphs)
    if (name.empty() || place.empty())
      throw whole.wrong("graphs." + name, "is empty");
  if (whole["env"].is_string())
    out.env_file = *whole.text("env");
  else
    out.env = whole.pairs("env");
  read_http(whole, out.options);
  read_auth(whole, out.options);
  auto variable_of_both = [&](const std::string& name) {
    auto found = std::ranges::find(out.env, name, &std::pair<std::string, std::string>::first);
    auto outside = variable ? variable(name) : std::nullopt;
    return outside || found == out.env.end() ? outside : std::optional{found->second};
  };
  read_webhooks(whole, variable_of_both, out.options.webhooks);
  read_store(whole, out);
  read_checkpointer(whole, out.options.expiry);
  return out;
}

template <class F> auto as_result(F&& read) -> result<decltype(read())> {
  try {
    return read();
  } catch (const error& e) {
    return e;
  }
}

std::string_view trimmed_line(std::string_view text) {
  auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && blank(text.back()))
    text.remove_suffix(1);
  return text;
}

bool is_variable_name(std::string_view name) {
  auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && std::ranges::all_of(name, fits) && (name[0] < '0' || name[0] > '9');
}

std::optional<std::pair<std::string, std::string>> variable_of(std::string_view line) {
  constexpr std::string_view word = "export ";
  if (line.starts_with(word))
    line = trimmed_line(line.substr(word.size()));
  auto equals = line.find('=');
  auto name = trimmed_line(line.substr(0, equals));
  if (equals == line.npos || !is_variable_name(name))
    return std::nullopt;
  auto text = trimmed_line(line.substr(equals + 1));
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'')
      && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return std::pair{std::string{name}, std::string{text}};
}

} // namespace

result<server_config> read_server_config(std::string_view json, const variable_lookup& variable) {
  return as_result([&] { return config_of(json, variable); });
}

result<std::string> env_file_of(std::string_view json) {
  return as_result([&] {
    config_map whole{json_of_config(json), "", whole_names};
    return whole["env"].is_map() ? std::string{} : whole.text("env").value_or("");
  });
}

result<std::vector<std::pair<std::string, std::string>>> read_env_lines(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line = trimmed_line(line);
    if (line.empty() || line.starts_with('#'))
      continue;
    auto read = variable_of(line);
    if (!read)
      return error{errc::invalid_config, "line " + std::to_string(number) + " is not NAME=VALUE"};
    out.push_back(std::move(*read));
  }
  return out;
}

server_config below_folder(server_config config, const fs::path& folder) {
  auto below = [&folder](const fs::path& path) {
    return path.empty() ? path : (folder / path).lexically_normal();
  };
  for (auto& [name, place] : config.graphs)
    if (auto colon = place.rfind(':'); colon != place.npos)
      place = below(place.substr(0, colon)).string() + place.substr(colon);
  config.env_file = below(config.env_file).string();
  config.options.api_keys = below(config.options.api_keys);
  if (auto& tokens = config.options.tokens) {
    tokens->secret_file = below(tokens->secret_file);
    if (tokens->jwks.find("://") == tokens->jwks.npos)
      tokens->jwks = below(tokens->jwks).string();
  }
  return config;
}

} // namespace troupe::server
