// The messages that a machine under test sent, by link.
#pragma once

#include "cluster/wire/protocol.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <variant>
#include <vector>

namespace troupe::cluster {

struct sent_messages {
  std::map<link_number, std::vector<message>> sent;

  template <class T> std::vector<T> all(link_number link) const {
    std::vector<T> out;
    if (auto at = sent.find(link); at != sent.end())
      for (const auto& m : at->second)
        if (auto* what = std::get_if<T>(&m))
          out.push_back(*what);
    return out;
  }
  template <class T> T last(link_number link) const {
    auto out = all<T>(link);
    BOOST_REQUIRE(!out.empty());
    return out.back();
  }
};

} // namespace troupe::cluster
