// Equality and hashes of values.
//
// Invariant: nothing here recurses into nested values.
#include "graph/value_node.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace troupe {

std::size_t value_access::child_count(const value& v) noexcept {
  switch (v.tag_) {
    case value::tag::list: return v.extent();
    case value::tag::map: return 2 * v.extent();
    case value::tag::extension: return 1;
    default: return 0;
  }
}

const value& value_access::child(const value& v, std::size_t i) noexcept {
  if (v.tag_ == value::tag::list)
    return static_cast<detail::list_buffer*>(v.node())->slots()[i];
  if (v.tag_ == value::tag::extension)
    return static_cast<detail::extension_node*>(v.node())->payload;
  auto& entry = static_cast<detail::map_node*>(v.node())->entries()[i / 2];
  return i % 2 ? entry.val : entry.key_value;
}

namespace {

bool holds_text(const value& v) noexcept {
  return v.is_string() || v.is_bytes();
}

/// Equal apart from the children; `open` reports whether children remain to be compared.
bool same_head(const value& a, const value& b, bool& open) noexcept {
  open = false;
  if (value_access::same_words(a, b))
    return true;
  if (a.kind() != b.kind() || a.size() != b.size())
    return false;
  if (holds_text(a))
    return value_access::text(a) == value_access::text(b);
  open = value_access::child_count(a) != 0;
  return open;
}

/// Mixes one word at a time; the order of words matters.
class value_hasher {
public:
  void add(std::uint64_t word) noexcept {
    state_ = (state_ ^ word) * 0x9e37'79b9'7f4a'7c15;
    state_ ^= state_ >> 32;
  }
  void add(std::string_view text) noexcept {
    for (; text.size() >= 8; text.remove_prefix(8))
      add_bytes(text.data(), 8);
    add_bytes(text.data(), text.size());
  }
  std::uint64_t digest() const noexcept {
    auto x = (state_ ^ (state_ >> 33)) * 0xff51'afd7'ed55'8ccd;
    x = (x ^ (x >> 33)) * 0xc4ce'b9fe'1a85'ec53;
    return x ^ (x >> 33);
  }

private:
  void add_bytes(const char* data, std::size_t size) noexcept {
    std::uint64_t word = 0;
    if (size != 0)
      std::memcpy(&word, data, size);
    add(word);
  }
  std::uint64_t state_ = 0x2545'f491'4f6c'dd1d;
};

/// Mixes in a value without its children: kind, size and content, so that no two trees give one
/// sequence.
void hash_head(value_hasher& hasher, const value& v) noexcept {
  hasher.add(static_cast<std::uint64_t>(v.kind()) << 56 | v.size());
  if (holds_text(v))
    hasher.add(value_access::text(v));
  else if (value_access::child_count(v) == 0)
    hasher.add(value_access::bits(v));
}

} // namespace

std::uint64_t value_access::id_fingerprint(std::string_view id) noexcept {
  value_hasher hasher;
  hasher.add(id);
  return hasher.digest() >> 16;
}

bool operator==(const value& a, const value& b) noexcept {
  bool open = false;
  if (!same_head(a, b, open))
    return false;
  if (!open)
    return true;
  std::vector<std::pair<const value*, const value*>> waiting{{&a, &b}};
  while (!waiting.empty()) {
    auto [x, y] = waiting.back();
    waiting.pop_back();
    for (std::size_t i = 0, n = value_access::child_count(*x); i < n; ++i) {
      auto& left = value_access::child(*x, i);
      auto& right = value_access::child(*y, i);
      if (!same_head(left, right, open))
        return false;
      if (open)
        waiting.emplace_back(&left, &right);
    }
  }
  return true;
}

std::uint64_t value::hash() const noexcept {
  struct cursor {
    const value* parent;
    std::size_t next;
  };
  value_hasher hasher;
  std::vector<cursor> path;
  const value* at = this;
  while (at) {
    hash_head(hasher, *at);
    if (value_access::child_count(*at) != 0)
      path.push_back({at, 0});
    while (!path.empty() && path.back().next == value_access::child_count(*path.back().parent))
      path.pop_back();
    at = path.empty() ? nullptr : &value_access::child(*path.back().parent, path.back().next++);
  }
  return hasher.digest();
}

} // namespace troupe
