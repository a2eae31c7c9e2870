// postgres_document_statements: the texts. A released migration is never edited.
#include "server/documents/postgres_document_statements.hpp"

#include "graph/task_id.hpp"

#include "server/documents/document_index.hpp"

#include <troupe/limits.hpp>

namespace troupe::server {

namespace {

constexpr std::string_view changes_read = "1000"; // in one answer

std::string sql_text(std::string_view name) {
  return "'" + std::string{name} + "'"; // the names of indexes have no quotes
}

// Named by their columns, so that an index that is added to the table needs a migration with these
// statements again, and nothing else.
std::string create_index(const document_index& index) {
  const auto kind = std::to_string(static_cast<int>(index.kind));
  std::string name = "documents_" + kind;
  std::string columns;
  if (!index.member.empty()) {
    name.append("_").append(index.member);
    columns += "(" + text_member(sql_text(index.member)) + "), ";
  }
  name.append("_").append(index.order);
  columns += "(" + text_member(sql_text(index.order)) + ")";
  columns += index.newest_first ? " DESC NULLS LAST, id" : ", id";
  return "CREATE INDEX IF NOT EXISTS " + name + " ON @.documents (" + columns
         + ") WHERE kind = " + kind;
}

std::vector<postgres_migration> make_documents_migrations() {
  postgres_migration first{
    R"(CREATE TABLE @.documents_state (last int8 NOT NULL, key_id bytea, data_key bytea))",
    "INSERT INTO @.documents_state VALUES (0)",
    R"(CREATE TABLE @.documents (kind int8, id bytea, revision int8 NOT NULL, body bytea NOT NULL,
      members jsonb NOT NULL, PRIMARY KEY (kind, id)))",
    R"(CREATE TABLE @.document_changes (number int8 PRIMARY KEY, origin int8 NOT NULL,
      kind int8 NOT NULL, id bytea NOT NULL))",
    R"(CREATE INDEX documents_metadata ON @.documents
      USING gin ((members->'metadata') jsonb_path_ops))",
  };
  for (const auto& index : document_indexes)
    first.push_back(create_index(index));
  return {first};
}

} // namespace

std::span<const postgres_migration> documents_migrations() {
  static const auto migrations = make_documents_migrations();
  return migrations;
}

std::string text_member(std::string_view name) {
  const std::string n{name};
  return "(CASE WHEN jsonb_typeof(members->" + n + ") = 'string' THEN members->>" + n
         + " END) COLLATE \"C\"";
}

std::string document_channel(std::string_view schema) {
  return "troupe documents " + xxh3_128_hex(schema);
}

postgres_document_statements::postgres_document_statements(std::string_view schema) {
  auto sql = [schema](std::string_view text) {
    return postgres_statement{in_schema(text, schema)};
  };
  get = sql("SELECT revision, body FROM @.documents WHERE kind = $1::int8 AND id = $2::bytea");
  data_key = sql("SELECT key_id, data_key FROM @.documents_state");
  last = sql("SELECT last FROM @.documents_state");
  lock = sql("SELECT last, key_id, data_key FROM @.documents_state FOR UPDATE");
  set_data_key = sql("UPDATE @.documents_state SET key_id = $1::bytea, data_key = $2::bytea");
  swap_data_key = sql("UPDATE @.documents_state SET key_id = $2::bytea, data_key = $3::bytea "
                      "WHERE data_key = $1::bytea RETURNING 1::int8");
  revisions = sql("SELECT d.kind, d.id, d.revision FROM unnest($1::int8[], $2::bytea[]) "
                  "AS u(kind, id) JOIN @.documents d ON d.kind = u.kind AND d.id = u.id");
  put = sql("INSERT INTO @.documents (kind, id, revision, body, members) "
            "SELECT u.kind, u.id, u.revision, u.body, convert_from(u.members, 'UTF8')::jsonb "
            "FROM unnest($1::int8[], $2::bytea[], $3::int8[], $4::bytea[], $5::bytea[]) "
            "AS u(kind, id, revision, body, members) ON CONFLICT (kind, id) DO UPDATE SET "
            "revision = excluded.revision, body = excluded.body, members = excluded.members");
  remove = sql("DELETE FROM @.documents d USING unnest($1::int8[], $2::bytea[]) AS u(kind, id) "
               "WHERE d.kind = u.kind AND d.id = u.id");
  log = sql("INSERT INTO @.document_changes (number, origin, kind, id) "
            "SELECT $1::int8 + u.n, $2::int8, u.kind, u.id "
            "FROM unnest($3::int8[], $4::bytea[]) WITH ORDINALITY AS u(kind, id, n)");
  was_logged = sql("SELECT 1::int8 FROM @.document_changes WHERE number = $1::int8 "
                   "AND origin = $2::int8 AND id = $3::bytea");
  set_last = sql("UPDATE @.documents_state SET last = $1::int8");
  trim_log = sql("DELETE FROM @.document_changes WHERE number <= $1::int8");
  notify = sql("SELECT 1::int8 FROM pg_notify($1::text, '')");
  changes = sql("SELECT number, origin, kind, id FROM @.document_changes WHERE number > $1::int8 "
                "ORDER BY number LIMIT "
                + std::string{changes_read});
  ids_of_kind = sql("SELECT id FROM @.documents WHERE kind = $1::int8 ORDER BY id");
}

} // namespace troupe::server
