// document_store: which documents a query selects, and commits that wait.
#include "server/documents/document_store.hpp"

#include <algorithm>
#include <future>
#include <ranges>

namespace troupe::server {

namespace {

char lower_case(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool has_text(std::string_view whole, std::string_view part) {
  return !std::ranges::search(whole, part, {}, lower_case, lower_case).empty() || part.empty();
}

// A double that is the integer, exactly.
bool is_amount(double d, std::int64_t i) noexcept {
  constexpr double beyond = 9223372036854775808.0; // 2^63
  return d >= -beyond && d < beyond && static_cast<std::int64_t>(d) == i
         && static_cast<double>(static_cast<std::int64_t>(d)) == d;
}

bool same_number(const value& a, const value& b) {
  if (a.is_int() && b.is_int())
    return a.as_int() == b.as_int();
  if (a.is_double() && b.is_double())
    return a.as_double() == b.as_double() || a == b; // the NaN
  return a.is_int() ? is_amount(b.as_double(), a.as_int()) : is_amount(a.as_double(), b.as_int());
}

bool is_extension(const value& v) noexcept {
  return v.kind() > value_kind::map;
}

// Equality as of jsonb: numbers by their amount.
bool same(const value& a, const value& b) {
  if (a.is_number() && b.is_number())
    return same_number(a, b);
  if (a.kind() != b.kind())
    return false;
  if (is_extension(a))
    return same(a.payload(), b.payload());
  if (a.is_list())
    return std::ranges::equal(a.items(), b.items(), same);
  if (a.is_map())
    return std::ranges::equal(a.entries(), b.entries(), [](const auto& x, const auto& y) {
      return x.key() == y.key() && same(x.val, y.val);
    });
  return a == b;
}

} // namespace

std::string_view to_string(document_kind kind) noexcept {
  switch (kind) {
    case document_kind::assistant: return "assistant";
    case document_kind::assistant_version: return "assistant_version";
    case document_kind::thread: return "thread";
    case document_kind::run: return "run";
    case document_kind::run_place: return "run_place";
    case document_kind::stream_event: return "stream_event";
    case document_kind::cron: return "cron";
    case document_kind::server: return "server";
    case document_kind::follower: return "follower";
  }
  return "unknown";
}

bool contains(const value& whole, const value& part) {
  if (part.is_map())
    return whole.is_map() && std::ranges::all_of(part.entries(), [&whole](const auto& entry) {
             return whole.contains(entry.key()) && contains(whole[entry.key()], entry.val);
           });
  if (part.is_list())
    return whole.is_list() && std::ranges::all_of(part.items(), [&whole](const value& wanted) {
             return std::ranges::any_of(whole.items(), [&wanted](const value& one) {
               return contains(one, wanted);
             });
           });
  if (is_extension(part) && part.kind() == whole.kind())
    return contains(whole.payload(), part.payload());
  return same(whole, part);
}

bool matches(const document& one, const document_query& query) {
  if (!one.id.starts_with(query.id_prefix))
    return false;
  if (!query.ids.empty() && std::ranges::find(query.ids, one.id) == query.ids.end())
    return false;
  for (const auto& [member, to] : query.equal)
    if (!same(one.body[member], to))
      return false;
  if (!query.contains.is_null() && !contains(one.body, query.contains))
    return false;
  if (!query.like)
    return true;
  const auto& member = one.body[query.like->first];
  return member.is_string() && has_text(member.as_string(), query.like->second);
}

void document_store::commit_soon(std::vector<document_change> changes, commit_pace,
                                 std::function<void(result<void>)> accepted,
                                 std::function<void(result<void>)> durable) {
  commit(std::move(changes),
         [accepted = std::move(accepted), durable = std::move(durable)](const result<void>& made) {
           accepted(made);
           if (made)
             durable({});
         });
}

result<void> document_store::commit_and_wait(std::vector<document_change> changes) {
  // Shared, because this thread may be gone before set_value returns.
  auto answer = std::make_shared<std::promise<result<void>>>();
  auto answered = answer->get_future();
  commit(std::move(changes), [answer](result<void> r) { answer->set_value(std::move(r)); });
  return answered.get();
}

} // namespace troupe::server
