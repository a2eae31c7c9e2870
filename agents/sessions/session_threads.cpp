// session_threads: writing and reading the ids of sessions' threads.
#include "agents/sessions/session_threads.hpp"

namespace troupe {
namespace {

error no_session(const char* what, const std::string& why) {
  return {errc::invalid_config, "name a session: " + std::string{what} + ' ' + why};
}

// The texts of a list of three; nullopt for any other text.
std::optional<session_ref> read_thread(std::string_view app, std::string_view thread_id) {
  auto json = from_json(thread_id);
  if (!json || !json->is_list() || json->size() != 3)
    return std::nullopt;
  auto parts = json->items();
  for (const auto& part : parts)
    if (!part.is_string() || part.empty())
      return std::nullopt;
  if (parts[0].as_string() != app)
    return std::nullopt;
  return session_ref{.user = parts[1].as<std::string>(), .id = parts[2].as<std::string>()};
}

std::string written(std::string_view app, const session_ref& session) {
  return to_json(value::list({value(app), value(session.user), value(session.id)}));
}

} // namespace

result<std::string> thread_of(const std::string& app, const session_ref& session) {
  for (const auto& [what, text] :
       {std::pair{"the app", app}, {"the user", session.user}, {"the id", session.id}})
    if (text.empty())
      return no_session(what, "is empty");
  // Checked first: a text that is too long is not worth further work.
  auto bytes = app.size() + session.user.size() + session.id.size();
  auto out = bytes > limits::thread_id_bytes_max ? std::string{} : written(app, session);
  if (out.empty() || out.size() > limits::thread_id_bytes_max)
    return no_session("app, user and id", "are too long (thread_id_bytes_max, as JSON)");
  if (read_thread(app, out) != session) // JSON can't hold bytes that are not text
    return no_session("app, user or id", "is not UTF-8");
  return out;
}

std::optional<session_ref> session_of(std::string_view app, std::string_view thread_id) {
  auto out = read_thread(app, thread_id);
  if (out && written(app, *out) != thread_id)
    return std::nullopt;
  return out;
}

} // namespace troupe
