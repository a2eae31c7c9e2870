// What the persistence tests share: temporary directories, small checkpoints, answers to wait for.
#pragma once

#include <troupe/saver.hpp>

#include <boost/test/unit_test.hpp>

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::test {

/// A directory of its own, removed at the end.
class temporary_directory {
public:
  temporary_directory() {
    auto pattern = (std::filesystem::temp_directory_path() / "troupe-test-XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

/// A checkpoint's put in which all channels moved to one version.
inline checkpoint_put make_put(std::string id, std::string parent_id, named<value> values,
                               value metadata = value::map({}), version at = {1, 7}) {
  checkpoint_put put;
  put.parent_id = std::move(parent_id);
  put.metadata = std::move(metadata);
  put.checkpoint.id = std::move(id);
  put.checkpoint.ts = "2026-11-21T20:21:07.123456+00:00";
  for (const auto& [channel, val] : values) {
    put.checkpoint.channel_versions.emplace_back(channel, at);
    put.new_versions.push_back(channel);
  }
  put.checkpoint.channel_values = std::move(values);
  return put;
}

/// An id that sorts by `n` and has a uuid6's form.
inline std::string checkpoint_id(unsigned n) {
  char text[40];
  std::snprintf(text, sizeof text, "1ef4f797-8335-6428-8001-%012x", n);
  return text;
}

/// Submits and gives the answer as a future.
inline std::future<result<void>> submit(saver& to, save_request request, save_ack when) {
  auto answer = std::make_shared<std::promise<result<void>>>();
  auto answered = answer->get_future();
  to.submit(std::move(request), when,
            [answer](result<void> r) { answer->set_value(std::move(r)); });
  return answered;
}

/// The ids of listed checkpoints, in order.
inline std::vector<std::string> ids_of(const std::vector<checkpoint_tuple>& tuples) {
  std::vector<std::string> ids;
  for (const auto& tuple : tuples)
    ids.push_back(tuple.ref.checkpoint_id);
  return ids;
}

/// Requires that a call failed, and with which code.
template <class T> void require_error(const result<T>& r, errc code) {
  BOOST_REQUIRE(!r.has_value());
  BOOST_TEST(to_string(r.error().code()) == to_string(code), r.error().message());
}

} // namespace troupe::test
