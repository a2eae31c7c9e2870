// webhook_policy: reading the configuration, and checking URLs as libcurl reads them.
#include "server/rules/webhook_policy.hpp"

#include "server/rules/address_class.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>

namespace troupe::server {
namespace {

// ---- the configuration ------------------------------------------------------------------------

error wrong_webhook_member(std::string_view name, std::string_view why) {
  return {errc::invalid_config, "webhooks: `" + std::string{name} + "` " + std::string{why}};
}

std::string lower_host(std::string_view host) {
  std::string out{host};
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  });
  while (out.ends_with('.')) // a complete name is the same without its dot
    out.pop_back();
  return out;
}

void read_url_member(webhook_policy& out, std::string_view name, const value& given) {
  auto flag = [&] {
    return given.is_bool() ? given.as_bool() : throw wrong_webhook_member(name, "is not a boolean");
  };
  auto items = [&] {
    return given.is_list() ? given.items() : throw wrong_webhook_member(name, "is not a list");
  };
  if (name == "require_https") {
    out.require_https = flag();
  } else if (name == "disable_loopback") {
    out.disable_loopback = flag();
  } else if (name == "disable_private") {
    out.disable_private = flag();
  } else if (name == "allowed_domains") {
    for (const auto& item : items()) {
      if (!item.is_string() || lower_host(item.as_string()).empty())
        throw wrong_webhook_member(name, "is not a list of host names");
      out.allowed_domains.push_back(lower_host(item.as_string()));
    }
  } else if (name == "allowed_ports") {
    for (const auto& item : items()) {
      if (!item.is_int() || item.as_int() < 1 || item.as_int() > 65'535)
        throw wrong_webhook_member(name, "is not a list of ports");
      out.allowed_ports.push_back(static_cast<std::uint16_t>(item.as_int()));
    }
  } else if (name == "max_url_length") {
    if (!given.is_int() || given.as_int() < 1)
      throw wrong_webhook_member(name, "is not a number of bytes");
    out.max_url_length = static_cast<std::size_t>(given.as_int());
  } else {
    throw wrong_webhook_member(name, "is not a member of `url`");
  }
}

using variables = std::function<std::optional<std::string>(const std::string&)>;

// The text with its variables in place of `${{ env.NAME }}`.
std::string with_variables(std::string_view text, const std::string& prefix,
                           const variables& variable) {
  std::string out;
  for (std::size_t at = 0; (at = text.find("${{")) != text.npos;) {
    out += text.substr(0, at);
    auto end = text.find("}}", at);
    auto name = end == text.npos ? std::string_view{} : text.substr(at + 3, end - at - 3);
    while (name.starts_with(' '))
      name.remove_prefix(1);
    while (name.ends_with(' '))
      name.remove_suffix(1);
    if (!name.starts_with("env.") || !name.substr(4).starts_with(prefix))
      throw wrong_webhook_member("headers", "may name variables that begin with " + prefix
                                              + " alone, as ${{ env.NAME }}");
    auto found = variable(std::string{name.substr(4)});
    if (!found)
      throw wrong_webhook_member("headers", "names a variable that is not set: "
                                              + std::string{name.substr(4)});
    out += *found;
    text.remove_prefix(end + 2);
  }
  return out.append(text);
}

void read_webhook_headers(webhook_policy& out, const value& headers, const std::string& prefix,
                          const variables& variable) {
  if (!headers.is_null() && !headers.is_map())
    throw wrong_webhook_member("headers", "is not a map");
  for (const auto& entry : headers.entries()) {
    if (!entry.val.is_string())
      throw wrong_webhook_member("headers", "has a member that is not a text");
    out.headers.emplace_back(entry.key(), with_variables(entry.val.as_string(), prefix, variable));
  }
}

webhook_policy read_webhook_policy(const value& config, const variables& variable) {
  webhook_policy out;
  if (config.is_null())
    return out;
  if (!config.is_map())
    throw error{errc::invalid_config, "webhooks: not a map"};
  for (const auto& entry : config.entries())
    if (entry.key() != "url" && entry.key() != "headers" && entry.key() != "env_prefix")
      throw wrong_webhook_member(entry.key(), "is not a member of `webhooks`");
  const auto& url = config["url"];
  if (!url.is_null() && !url.is_map())
    throw wrong_webhook_member("url", "is not a map");
  for (const auto& entry : url.entries())
    read_url_member(out, entry.key(), entry.val);
  const auto& prefix = config["env_prefix"];
  if (!prefix.is_null() && (!prefix.is_string() || prefix.empty()))
    throw wrong_webhook_member("env_prefix", "is not a text");
  read_webhook_headers(out, config["headers"],
                       prefix.is_null() ? "LG_WEBHOOK_" : prefix.as<std::string>(), variable);
  return out;
}

// ---- a URL ------------------------------------------------------------------------------------

struct webhook_url {
  std::string scheme;
  std::string host; // in lower case, numbers in their usual form
  std::uint16_t port = 0;
  bool has_user = false;
};

// The parts of a URL as libcurl will read them, so that a check and a call agree.
std::optional<webhook_url> parts_of(const std::string& url) {
  std::unique_ptr<CURLU, void (*)(CURLU*)> read{curl_url(), curl_url_cleanup};
  auto part = [&read](CURLUPart which) {
    char* text = nullptr;
    curl_url_get(read.get(), which, &text, CURLU_DEFAULT_PORT);
    std::string out{text ? text : ""};
    curl_free(text);
    return out;
  };
  if (!read || curl_url_set(read.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME))
    return std::nullopt;
  webhook_url out{.scheme = part(CURLUPART_SCHEME), .host = lower_host(part(CURLUPART_HOST))};
  if (out.host.starts_with('[') && out.host.ends_with(']'))
    out.host = out.host.substr(1, out.host.size() - 2);
  auto port = part(CURLUPART_PORT);
  std::from_chars(port.data(), port.data() + port.size(), out.port);
  out.has_user = !part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty();
  return out;
}

bool fits_domain(std::string_view pattern, std::string_view host) {
  return pattern.starts_with("*.")
           ? host.ends_with(pattern.substr(1)) && host.size() >= pattern.size()
           : host == pattern;
}

bool is_blocked(const webhook_policy& policy, address_class is) {
  if (is == address_class::open)
    return false;
  return is == address_class::loopback ? policy.disable_loopback : policy.disable_private;
}

std::string host_problem(const webhook_policy& policy, const std::string& host) {
  const auto& domains = policy.allowed_domains;
  auto fits = [&host](const std::string& pattern) { return fits_domain(pattern, host); };
  if (!domains.empty() && std::ranges::none_of(domains, fits))
    return "Webhook host blocked: not one of the allowed domains";
  auto is = host == "localhost" || host.ends_with(".localhost")
              ? std::optional{address_class::loopback}
              : class_of_address(host);
  if (is && is_blocked(policy, *is))
    return "Webhook host blocked: " + std::string{to_string(*is)} + " IP range";
  return {};
}

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    auto code = static_cast<unsigned char>(c);
    return code <= 0x20 || code == 0x7f;
  });
}

} // namespace

result<webhook_policy> webhook_policy::from(const value& config, const variables& variable) {
  try {
    return read_webhook_policy(config, variable);
  } catch (const error& e) {
    return e;
  }
}

std::string webhook_problem(const webhook_policy& policy, const std::string& url) {
  if (url.size() > policy.max_url_length)
    return "Webhook URL is longer than " + std::to_string(policy.max_url_length) + " bytes";
  if (url.starts_with('/') && !url.starts_with("//"))
    return policy.disable_loopback
             ? "Loopback webhooks (relative URLs and localhost) are disabled: set "
               "webhooks.url.disable_loopback to false to allow them"
             : std::string{};
  bool is_malformed = has_control_character(url) || url.find(":///") != url.npos; // no host
  auto parts = is_malformed ? std::nullopt : parts_of(url);
  if (!parts || parts->host.empty())
    return "Invalid webhook hostname ''";
  if (parts->has_user)
    return "Webhook URL must not have a user name or password";
  if (auto problem = host_problem(policy, parts->host); !problem.empty())
    return problem;
  if (parts->scheme != "https" && (policy.require_https || parts->scheme != "http"))
    return policy.require_https ? "Webhook URL must use https"
                                : "Webhook URL must use http or https";
  const auto& ports = policy.allowed_ports;
  if (!ports.empty() && std::ranges::find(ports, parts->port) == ports.end())
    return "Webhook port " + std::to_string(parts->port) + " is not allowed";
  return {};
}

bool may_call_address(const webhook_policy& policy, const std::string& address) {
  auto is = class_of_address(address);
  return is && !is_blocked(policy, *is);
}

} // namespace troupe::server
