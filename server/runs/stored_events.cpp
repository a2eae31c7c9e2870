// stored_events: documents of events, written and read.
#include "server/runs/stored_events.hpp"

#include <troupe/runtime.hpp>
#include <troupe/server/limits.hpp>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

namespace troupe::server {

namespace {

std::string event_document_id(const std::string& run_id, std::uint64_t seq) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%020llu", static_cast<unsigned long long>(seq));
  return run_id + '/' + digits;
}

std::uint64_t number_of_event(const document& one) {
  return static_cast<std::uint64_t>(one.body["seq"].as_int());
}

value form_of_part(const stream_part& part) {
  return value::map(
    {{"mode", to_string(part.mode)}, {"ns", value::of(part.ns)}, {"data", part.data}});
}

// Null for one that this version does not know.
std::shared_ptr<const stream_part> part_of(const value& form) {
  if (!form["mode"].is_string())
    return nullptr;
  auto mode = parse_stream_mode(form["mode"].as_string());
  if (!mode)
    return nullptr;
  stream_part out{.mode = *mode, .ns = {}, .data = form["data"]};
  for (const auto& one : form["ns"].items())
    out.ns.emplace_back(one.is_string() ? one.as_string() : std::string_view{});
  return std::make_shared<const stream_part>(std::move(out));
}

std::vector<run_event> events_of(const document_page& page, std::uint64_t after) {
  std::vector<run_event> out;
  for (const auto& one : page.documents)
    if (auto seq = number_of_event(one); seq > after)
      out.push_back({seq, std::string{one.body["event"].as_string()},
                     std::string{one.body["data"].as_string()}, part_of(one.body["part"])});
  return out;
}

} // namespace

document_change change_to_event(const std::string& run_id, const run_event& event) {
  auto body = value::map({{"seq", event.seq}, {"event", event.name}, {"data", event.data}});
  if (event.part)
    body = body.with("part", form_of_part(*event.part));
  return {document_kind::stream_event, event_document_id(run_id, event.seq), std::move(body)};
}

document_change removal_of_event(const std::string& run_id, std::uint64_t seq) {
  return {document_kind::stream_event, event_document_id(run_id, seq), std::nullopt};
}

std::vector<document_change> removal_of_events(document_store& documents,
                                               const std::string& run_id) {
  std::vector<document_change> out;
  for (const auto& one :
       documents.search({.kind = document_kind::stream_event, .id_prefix = run_id + '/'})
         .value()
         .documents)
    out.push_back({document_kind::stream_event, one.id, std::nullopt});
  return out;
}

std::uint64_t last_stored_event(document_store& documents, const std::string& run_id) {
  auto newest = documents
                  .search({.kind = document_kind::stream_event,
                           .id_prefix = run_id + '/',
                           .descending = true,
                           .limit = 1})
                  .value();
  return newest.documents.empty() ? 0 : number_of_event(newest.documents[0]);
}

std::vector<run_event> stored_events_after(document_store& documents, const std::string& run_id,
                                           std::uint64_t after) {
  auto last = last_stored_event(documents, run_id);
  if (last <= after)
    return {};
  document_query next{.kind = document_kind::stream_event};
  for (auto seq = after + 1; seq <= std::min(last, after + limits::server_events_read); ++seq)
    next.ids.push_back(event_document_id(run_id, seq));
  auto found = events_of(documents.search(next).value(), after);
  if (!found.empty())
    return found;
  return events_of(
    documents.search({.kind = document_kind::stream_event, .id_prefix = run_id + '/'}).value(),
    after);
}

} // namespace troupe::server
