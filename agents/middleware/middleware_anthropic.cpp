// Middleware for Anthropic's models: caching of prompts.
#include <troupe/agents/anthropic.hpp>

#include "agents/agent_model.hpp"
#include "agents/messages/failure.hpp"

namespace troupe {
namespace {

constexpr const char* cache_mark = "cache_control";

error bad_cache(const char* what, const std::string& given, const char* known) {
  return {errc::invalid_config,
          std::string{"cache prompts: unknown "} + what + " `" + given + "`; known: " + known};
}

value with_mark(const value& block, const value& mark) {
  return block.contains(cache_mark) ? block : block.with(cache_mark, mark);
}

// The list with the mark on its last element.
value with_last_marked(const value& list, const value& mark) {
  std::vector<value> out(list.items().begin(), list.items().end());
  if (!out.empty() && out.back().is_map())
    out.back() = with_mark(out.back(), mark);
  return value::list(std::move(out));
}

value marked_system(const value& message, const value& mark) {
  if (message.is_null())
    return message;
  auto content = message_member(message, "content");
  if (content.is_string())
    content = content.empty() ? value::list() : value::list({text_block(content.as_string())});
  if (content.empty())
    return message;
  return value::extension(value_kind::message,
                          message.payload().with("content", with_last_marked(content, mark)));
}

// Whether the request is to be cached.
bool is_cached(const prompt_caching_options& options, const model_call& call) {
  if (provider_of(*call.model) != "anthropic") {
    auto text = "Prompt caching supports only Anthropic's models, not `" + call.model->name() + '`';
    if (options.unsupported_model_behavior == unsupported_model::raise)
      throw value_error(text);
    if (options.unsupported_model_behavior == unsupported_model::warn)
      call.ctx().write(value::map({{"warning", text}}));
    return false;
  }
  auto count = call.request.messages.size() + (call.system_message.is_null() ? 0 : 1);
  return count >= options.min_messages_to_cache;
}

} // namespace

middleware anthropic_prompt_caching(prompt_caching_options options) {
  if (options.type != "ephemeral")
    throw bad_cache("type", options.type, "ephemeral");
  if (options.ttl != "5m" && options.ttl != "1h")
    throw bad_cache("ttl", options.ttl, "5m, 1h");
  middleware out;
  out.name = "anthropic_prompt_caching";
  out.wrap_model_call = [options = std::move(options)](model_call call, model_executor run) {
    if (is_cached(options, call)) {
      auto mark = value::map({{"type", options.type}, {"ttl", options.ttl}});
      call.request.settings = call.request.settings.with(cache_mark, mark);
      call.request.tools = with_last_marked(call.request.tools, mark);
      call.system_message = marked_system(call.system_message, mark);
    }
    return run(std::move(call));
  };
  return out;
}

} // namespace troupe
