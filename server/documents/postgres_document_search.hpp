// postgres_document_search: queries of documents as SQL.
#pragma once

#include "persistence/postgres/postgres_values.hpp"
#include "server/documents/document_store.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace troupe::server {

/// JSON text that jsonb accepts: characters of number 0, which jsonb lacks, become U+FFFD.
std::string jsonb_text(const value& v);

/// Whether a query compares or sorts by members other than texts with an index.
bool needs_all_members(const document_query& query);

/// A part of a statement, and its parameters.
/// Owns:   the texts to which the parameters refer.
struct document_sql {
  std::string text;
  std::deque<std::string> texts;
  postgres_params params;
};

/// The conditions of a query, for a WHERE. With `only_indexed`, those by id and by texts with an
/// index; documents that fulfil these may not match.
document_sql conditions_of(const document_query& query, bool only_indexed);
/// Appends the order and the page of a query.
void append_page(const document_query& query, document_sql& to);

/// Statements by their text. They stay where they are.
/// Thread: any.
class document_statement_cache {
public:
  const postgres_statement& find_or_add(const std::string& text);

private:
  std::mutex mutex_;
  std::map<std::string, postgres_statement> statements_;
};

} // namespace troupe::server
