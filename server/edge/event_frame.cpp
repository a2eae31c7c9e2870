// event_frame: frames of event streams, and where a reader of one continues. Pure.
#include "server/edge/event_frame.hpp"

namespace troupe::server {
namespace {

void add_field(std::string& out, std::string_view name, std::string_view text) {
  out.append(name).append(": ");
  for (auto c : text)
    if (c != '\n' && c != '\r' && c != '\0')
      out += c;
  out += '\n';
}

} // namespace

std::string event_frame(std::string_view name, std::string_view data, std::string_view id) {
  std::string out;
  out.reserve(name.size() + data.size() + id.size() + 24);
  add_field(out, "event", name);
  out.append("data: ").append(data).append("\n");
  if (!id.empty())
    add_field(out, "id", id);
  return out += '\n';
}

std::optional<std::uint64_t> position_after(std::string_view last_event_id) {
  constexpr std::size_t digits_max = 18;
  if (last_event_id == "-1" || last_event_id == "-")
    return 0;
  if (last_event_id.empty() || last_event_id.size() > digits_max
      || last_event_id.find_first_not_of("0123456789") != last_event_id.npos)
    return std::nullopt;
  return std::stoull(std::string{last_event_id});
}

} // namespace troupe::server
