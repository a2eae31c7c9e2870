// bodies: requests as JSON of the API. Empty members are left out. Pure.
#pragma once

#include <troupe/client/requests.hpp>

namespace troupe {

/// A map that takes only members that say something.
class json_body {
public:
  json_body& add(const char* name, const std::string& text);
  json_body& add(const char* name, const value& given);
  json_body& add(const char* name, const std::vector<std::string>& texts);
  json_body& add(const char* name, std::size_t number);
  json_body& add_flag(const char* name, bool flag);
  json_body& add_number(const char* name, const std::optional<double>& number);
  json_body& add_page(const remote_page& page);
  value take() { return value::map(std::move(members_)); }

private:
  std::vector<value::map_init> members_;
};

/// A list of texts.
value texts_value(const std::vector<std::string>& texts);

/// Shape:  {update, resume, goto}; `update` is a list of pairs, so that a channel can be written
///         twice.
/// Source: langgraph_sdk/schema.py, Command.
value command_body(const command& given);
/// The command of an event for a graph further out. Shape: as command_body, or the update a map.
/// Source: langgraph/pregel/remote.py, ParentCommand(Command(**chunk.data)).
command command_of_event(const value& given);

value assistant_body(const remote_assistant_fields& fields);
value assistant_search_body(const remote_assistant_search& which, bool with_page);
value thread_body(const remote_thread_fields& fields);
value thread_search_body(const remote_thread_search& which, bool with_page);
value run_body_of(const remote_run_request& request);
value cron_body(const remote_cron_fields& fields);
value cron_search_body(const remote_cron_search& which, bool with_page);

} // namespace troupe
