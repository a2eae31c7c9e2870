// test_keys: key rings of tests of encryption, and the text whose absence from a file they check.
#pragma once

#include <troupe/keyring.hpp>

#include <memory>
#include <sstream>
#include <string>
#include <string_view>

namespace troupe::test {

using ring = std::shared_ptr<const keyring>;

/// A ring of test keys: "k1 k2" are two keys, the second one the current one. Equal names have
/// equal bytes; a `!` after a name gives it other ones.
inline ring keys(const std::string& names) {
  std::istringstream in{names};
  std::string text;
  for (std::string name; in >> name;)
    text += name.substr(0, 2) + " " + std::string(64, name.size() > 2 ? 'f' : name[1]) + "\n";
  return keyring::from_text(text).value();
}

inline constexpr std::string_view marker = "MARKER-in-the-clear";

} // namespace troupe::test
