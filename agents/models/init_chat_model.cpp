// init_chat_model: chat models by name.
#include "agents/models/hosted_model.hpp"

#include <algorithm>
#include <cstdlib>

namespace troupe {
namespace {

using std::chrono::milliseconds;

struct provider {
  std::string_view name;
  const char* address;
  const char* address_variable;
  const char* key_variable;
};
constexpr provider hosts[] = {
  {"anthropic", "https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"},
  {"openai", "https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"},
};

error bad_model(std::string_view name, std::string_view what) {
  return {errc::invalid_config,
          "find a chat model `" + std::string{name} + "`: " + std::string{what}};
}

std::string in_environment(const char* variable) {
  const auto* text = std::getenv(variable);
  return text ? text : "";
}

bool is_key(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

void check_options(std::string_view name, const chat_model_options& options) {
  for (auto bound : {options.connect_timeout, options.first_token_timeout, options.idle_timeout,
                     options.timeout})
    if (bound <= milliseconds{0})
      throw bad_model(name, "a time-out must be above 0");
  if (options.attempts_max == 0 || options.attempts_max > limits::model_attempts_max)
    throw bad_model(name,
                    "attempts_max must be from 1 to " + std::to_string(limits::model_attempts_max));
  if (options.retry_first < milliseconds{0} || options.retry_max < milliseconds{0})
    throw bad_model(name, "a wait must not be negative");
  if (options.max_tokens && *options.max_tokens < 1)
    throw bad_model(name, "max_tokens must be at least 1");
  if ((options.use_responses_api && !name.starts_with("openai:"))
      || (options.use_previous_response_id && !options.use_responses_api))
    throw bad_model(name, "use_responses_api is for openai alone, and use_previous_response_id for "
                          "the Responses API");
  if (!options.settings.is_map() || !options.profile.is_map())
    throw bad_model(name, "settings and profile must be maps");
  http_request probe;
  probe.url = options.base_url;
  probe.proxy = options.proxy;
  probe.headers = options.headers;
  try {
    check_request(probe);
  } catch (const http_error& why) {
    throw bad_model(name, why.message());
  }
}

std::string find_key(std::string_view name, const std::string& variable, bool own_address) {
  auto key = in_environment(variable.c_str());
  if (key.empty() && own_address)
    throw bad_model(name, "the environment has no key in " + variable);
  if (!is_key(key))
    throw bad_model(name, variable
                            + " does not hold a valid key: it has spaces, line breaks or "
                              "other characters than printable ASCII");
  return key;
}

std::string address_of(const provider& host, const std::string& given) {
  auto out = !given.empty() ? given : in_environment(host.address_variable);
  if (out.empty())
    out = host.address;
  while (out.ends_with('/'))
    out.pop_back();
  return out;
}

std::unique_ptr<model_wire> wire_of(const provider& host, std::string model,
                                    const chat_model_options& options, bool own_address) {
  if (host.name == "anthropic")
    return anthropic_wire(std::move(model), options);
  if (options.use_responses_api)
    return responses_wire(std::move(model), options);
  return openai_wire(std::move(model), options, own_address);
}

chat_model_ptr make_hosted(const provider& host, std::string_view name, std::string_view model,
                           chat_model_options options) {
  if (model.empty())
    throw bad_model(name, "the name of the model is missing: write `" + std::string{host.name}
                            + ":MODEL`");
  options.base_url = address_of(host, options.base_url);
  bool own_address = options.base_url == host.address;
  check_options(name, options);
  auto variable = options.api_key_variable.empty() ? std::string{host.key_variable}
                                                   : options.api_key_variable;
  auto key = find_key(name, variable, own_address);
  return hosted_model(std::string{name}, wire_of(host, std::string{model}, options, own_address),
                      options, std::move(key));
}

} // namespace

chat_model_ptr init_chat_model(std::string_view name, chat_model_options options) {
  auto colon = name.find(':');
  auto provider = name.substr(0, colon);
  auto model = colon == name.npos ? std::string_view{} : name.substr(colon + 1);
  if (provider == "echo")
    return std::make_shared<echo_model>();
  for (const auto& host : hosts)
    if (provider == host.name)
      return make_hosted(host, name, model, std::move(options));
  throw error{errc::invalid_config, "find a chat model: unknown provider `" + std::string{provider}
                                      + "`; known: anthropic, echo, openai"};
}

chat_model_ptr init_chat_model(std::string_view name) {
  return init_chat_model(name, chat_model_options{});
}

} // namespace troupe
