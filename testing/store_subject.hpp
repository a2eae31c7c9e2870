// store_subject: the store under check, with a clock that moves only when the check moves it.
#pragma once

#include "testing/expect.hpp"

#include <troupe/testing/store_conformance.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace troupe::testing {

using namespaces = std::vector<store_namespace>;

class store_subject {
public:
  using time_point = std::chrono::system_clock::time_point;

  explicit store_subject(store_factory open) : open_{std::move(open)} {}

  /// Opens a fresh store. The check ends as not supported when the factory has none for the index
  /// or time to live of the options.
  void use(store_options options = {});
  store* operator->() const noexcept { return store_.get(); }
  std::shared_ptr<store> shared() const { return store_; }

  time_point now() const { return time_point{time_point::duration{now_->load()}}; }
  void set_time(time_point to) { *now_ = to.time_since_epoch().count(); }
  /// Moves the clock forwards or back.
  void move_time(time_point::duration by) { *now_ += by.count(); }

  // Each fails the check when the call fails.
  void put(const store_namespace& space, const std::string& key, const value& v) {
    store_->put(space, key, v).value();
  }
  void put(store_put what) { store_->put(std::move(what)).value(); }
  std::optional<store_item> get(const store_namespace& space, const std::string& key,
                                std::optional<bool> refresh = std::nullopt) {
    return store_->get(space, key, refresh).value();
  }
  /// The value of an item, which must be there.
  value stored(const store_namespace& space, const std::string& key);
  bool has(const std::string& key, std::optional<bool> refresh = false) {
    return get({"a"}, key, refresh).has_value();
  }
  std::vector<store_item> search(const store_query& query) { return store_->search(query).value(); }
  texts keys(const store_query& query);
  std::vector<std::optional<double>> scores(const store_query& query);
  namespaces listed(const namespace_query& query = {}) {
    return store_->list_namespaces(query).value();
  }

private:
  store_factory open_;
  std::shared_ptr<std::atomic<time_point::rep>> now_ =
    std::make_shared<std::atomic<time_point::rep>>(0);
  std::shared_ptr<store> store_;
};

/// A put in namespace ("a") with a time to live.
store_put put_for(const std::string& key, store_ttl ttl, value v = value::map());

/// A number within so many lists.
value nested_lists(std::size_t levels);

/// The call failed with invalid_value, as this class of the reference.
template <class T>
void expect_class(std::string_view what, const result<T>& r, const std::string& type) {
  expect_error(what, r, errc::invalid_value);
  expect_equal(std::string{what} + ": the class", reference_name(r.error()), type);
}

/// The checks of each file.
std::vector<store_check> item_checks();
std::vector<store_check> search_checks();
std::vector<store_check> filter_checks();
std::vector<store_check> namespace_checks();
std::vector<store_check> batch_checks();
std::vector<store_check> ttl_checks();
std::vector<store_check> model_checks();
std::vector<store_check> index_checks();
std::vector<store_check> embedding_checks();

} // namespace troupe::testing
