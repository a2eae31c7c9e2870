// postgres_document_search: building statements. Names of members with an index stand in a
// statement, so that Postgres finds the index. All other names are parameters, so the number of
// different statements is bounded.
#include "server/documents/postgres_document_search.hpp"

#include "server/documents/document_index.hpp"
#include "server/documents/postgres_document_statements.hpp"

#include <algorithm>

namespace troupe::server {

namespace {

bool has_index(const document_query& query, std::string_view member) {
  return std::ranges::any_of(document_indexes, [&](const document_index& index) {
    return index.kind == query.kind && (index.member == member || index.order == member);
  });
}

bool is_indexed_text(const document_query& query, const std::string& member, const value& to) {
  return has_index(query, member) && to.is_string() && is_term(to.as_string());
}

bool is_nonempty_map(const value& v) {
  return v.is_map() && !v.empty();
}

// The number of the parameter that was added last, as $N.
std::string place_in(const document_sql& to) {
  return "$" + std::to_string(to.params.count());
}

std::string bytes_param(document_sql& to, std::string text) {
  to.params.bytes(to.texts.emplace_back(std::move(text)));
  return place_in(to) + "::bytea";
}

std::string text_param(document_sql& to, std::string text) {
  to.params.bytes(to.texts.emplace_back(std::move(text)));
  return place_in(to) + "::text";
}

std::string json_param(document_sql& to, const value& v) {
  return text_param(to, jsonb_text(v)) + "::jsonb";
}

std::string number_param(document_sql& to, std::size_t n) {
  to.params.number(static_cast<std::int64_t>(std::min<std::uint64_t>(n, INT64_MAX)));
  return place_in(to) + "::int8";
}

// A text as it stands in jsonb: bytes that are not UTF-8, and characters of number 0, are U+FFFD.
std::string in_jsonb(std::string_view text) {
  auto read = from_json(jsonb_text(value(text)));
  return read ? read->as<std::string>() : std::string{};
}

std::string name_of(const document_query& query, const std::string& member, document_sql& to) {
  return has_index(query, member) ? "'" + member + "'" : text_param(to, in_jsonb(member));
}

// The smallest id after all that begin so; empty when there is no such id.
std::string after_prefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff')
    prefix.pop_back();
  if (!prefix.empty())
    prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

void append_ids(const document_query& query, document_sql& to) {
  if (!query.id_prefix.empty()) {
    to.text += " AND id >= " + bytes_param(to, query.id_prefix);
    if (auto end = after_prefix(query.id_prefix); !end.empty())
      to.text += " AND id < " + bytes_param(to, std::move(end));
  }
  if (query.ids.empty())
    return;
  to.params.bytes_array(query.ids);
  to.text += " AND id = ANY (" + place_in(to) + "::bytea[])";
}

void append_equal(const document_query& query, bool only_indexed, document_sql& to) {
  for (const auto& [member, wanted] : query.equal) {
    if (is_indexed_text(query, member, wanted))
      to.text += " AND " + text_member("'" + member + "'") + " = "
                 + text_param(to, in_jsonb(wanted.as_string()));
    else if (!only_indexed) {
      auto name = text_param(to, in_jsonb(member));
      to.text += " AND coalesce(members->" + name + ", 'null'::jsonb) = " + json_param(to, wanted);
    }
  }
}

void append_parts(const document_query& query, document_sql& to) {
  if (is_nonempty_map(query.contains)) {
    if (const auto& metadata = query.contains["metadata"]; is_nonempty_map(metadata))
      to.text += " AND members->'metadata' @> " + json_param(to, metadata);
    to.text += " AND members @> " + json_param(to, query.contains);
  }
  if (!query.like)
    return;
  auto name = text_param(to, in_jsonb(query.like->first));
  to.text += " AND strpos(lower(" + text_member(name) + "), lower("
             + text_param(to, in_jsonb(query.like->second)) + " COLLATE \"C\")) > 0";
}

} // namespace

std::string jsonb_text(const value& v) {
  constexpr std::string_view zero = "\\u0000", instead = "\\ufffd";
  auto text = to_json(v);
  for (std::size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at + 2))
    if (std::string_view{text}.substr(at, zero.size()) == zero)
      text.replace(at, zero.size(), instead);
  return text;
}

bool needs_all_members(const document_query& query) {
  return is_nonempty_map(query.contains) || query.like
         || (!query.order_by.empty() && !has_index(query, query.order_by))
         || std::ranges::any_of(query.equal, [&query](const auto& one) {
              return !is_indexed_text(query, one.first, one.second);
            });
}

document_sql conditions_of(const document_query& query, bool only_indexed) {
  document_sql made;
  made.text = "kind = " + std::to_string(static_cast<int>(query.kind));
  append_ids(query, made);
  append_equal(query, only_indexed, made);
  if (!only_indexed)
    append_parts(query, made);
  return made;
}

void append_page(const document_query& query, document_sql& to) {
  std::string_view direction = query.descending ? " DESC" : "";
  to.text += " ORDER BY ";
  if (query.order_by.empty())
    to.text.append("id").append(direction);
  else
    to.text.append(text_member(name_of(query, query.order_by, to)))
      .append(direction)
      .append(" NULLS LAST, id");
  to.text += " OFFSET " + number_param(to, query.offset);
  if (query.limit)
    to.text += " LIMIT " + number_param(to, *query.limit);
}

const postgres_statement& document_statement_cache::find_or_add(const std::string& text) {
  std::scoped_lock lock{mutex_};
  return statements_.try_emplace(text, postgres_statement{text}).first->second;
}

} // namespace troupe::server
