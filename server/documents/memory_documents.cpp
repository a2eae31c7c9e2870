// memory_documents: documents in maps, under one mutex.
#include "server/documents/document_conflict.hpp"
#include "server/documents/document_index.hpp"
#include "server/documents/document_order.hpp"
#include "server/documents/document_watches.hpp"

#include <map>
#include <mutex>
#include <set>

namespace troupe::server {

namespace {

class memory_document_store final : public document_store {
public:
  result<std::optional<document>> get(document_kind kind, const std::string& id) override {
    std::scoped_lock lock{mutex_};
    auto& documents = documents_[kind];
    auto at = documents.find(id);
    return at == documents.end() ? std::optional<document>{} : at->second;
  }

  result<document_page> search(const document_query& query) override {
    std::scoped_lock lock{mutex_};
    auto& documents = documents_[query.kind];
    std::vector<document_place> places;
    auto consider = [&](const document& one) {
      if (matches(one, query))
        places.push_back(place_of(one.id, one.body, query));
    };
    if (query.ids.empty())
      for (auto at = documents.lower_bound(query.id_prefix);
           at != documents.end() && at->first.starts_with(query.id_prefix); ++at)
        consider(at->second);
    for (const auto& id : std::set<std::string>{query.ids.begin(), query.ids.end()})
      if (auto at = documents.find(id); at != documents.end())
        consider(at->second);
    document_page page{{}, places.size()};
    for (const auto& place : page_of(std::move(places), query))
      page.documents.push_back(documents.at(place.id));
    return page;
  }

  void commit(std::vector<document_change> changes,
              std::function<void(result<void>)> then) override {
    auto done = check_changes(changes);
    if (done)
      done = change(changes);
    if (done)
      watches_.tell(changes);
    then(std::move(done));
  }

  std::shared_ptr<void> watch(document_kind kind,
                              std::function<void(const std::vector<std::string>&)> told) override {
    return watches_.add(kind, std::move(told));
  }

  bool is_shared() const noexcept override { return false; }

private:
  result<void> change(const std::vector<document_change>& changes) {
    std::scoped_lock lock{mutex_};
    for (const auto& one : changes)
      if (auto ok = check_revision(one, revision_of(one)); !ok)
        return ok;
    for (const auto& one : changes) {
      if (one.is_condition)
        continue;
      if (one.body)
        documents_[one.kind][one.id] = {one.id, revision_of(one) + 1, *one.body};
      else
        documents_[one.kind].erase(one.id);
    }
    return {};
  }

  std::uint64_t revision_of(const document_change& change) {
    auto& documents = documents_[change.kind];
    auto at = documents.find(change.id);
    return at == documents.end() ? 0 : at->second.revision;
  }

  std::mutex mutex_;
  std::map<document_kind, std::map<std::string, document>> documents_;
  document_watches watches_;
};

} // namespace

std::shared_ptr<document_store> memory_documents() {
  return std::make_shared<memory_document_store>();
}

} // namespace troupe::server
