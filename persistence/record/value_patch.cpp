// value_patch: making and applying patches. Layout: FORMAT.md, "Patch".
#include "persistence/record/value_patch.hpp"

#include "graph/value_node.hpp"
#include "persistence/record/bytes.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace troupe {

namespace {

enum class step : std::uint8_t { replace, list, map, remove };

// How far the elements of a list may have moved to the front, for a list that keeps its newest
// elements.
constexpr std::size_t shift_max = 16;

bool is_container(const value& v) {
  return v.is_list() || v.is_map();
}

// Whether two values are known to be equal without looking into containers.
bool plainly_equal(const value& a, const value& b) {
  return value_access::same_words(a, b)
         || (a.kind() == b.kind() && !is_container(a) && value_access::child_count(a) == 0
             && a == b);
}

std::size_t common_prefix(std::span<const value> a, std::span<const value> b) {
  auto n = std::min(a.size(), b.size());
  if (a.data() == b.data())
    return n;
  std::size_t i = 0;
  while (i < n && plainly_equal(a[i], b[i]))
    ++i;
  return i;
}

struct common_part {
  std::size_t skipped = 0; // elements of the old list before the common part
  std::size_t kept = 0;
};

common_part find_common(std::span<const value> before, std::span<const value> after) {
  common_part best{0, common_prefix(before, after)};
  for (std::size_t skip = 1; best.kept == 0 && skip < before.size() && skip <= shift_max; ++skip)
    if (!after.empty() && plainly_equal(before[skip], after[0]))
      best = {skip, common_prefix(before.subspan(skip), after)};
  return best;
}

void append_step(step s, std::string& out) {
  out.push_back(static_cast<char>(s));
}

// The length stands before the bytes, so the value is encoded apart first.
bool append_encoded(const value& v, std::string& out) {
  std::string bytes;
  if (!encode_msgpack(v, bytes))
    return false;
  append_sized(out, bytes);
  return true;
}

bool append_replacement(const value& v, std::string& out) {
  append_step(step::replace, out);
  return append_encoded(v, out);
}

bool append_change(const value& before, const value& after, std::string& out);

bool append_list_change(const value& before, const value& after, std::string& out) {
  auto common = find_common(before.items(), after.items());
  if (common.kept == 0)
    return append_replacement(after, out);
  append_step(step::list, out);
  append_varint(out, common.skipped);
  append_varint(out, common.kept);
  auto more = after.items().subspan(common.kept);
  return append_encoded(value::list({more.begin(), more.end()}), out);
}

bool append_map_change(const value& before, const value& after, std::string& out) {
  append_step(step::map, out);
  std::size_t changes = 0;
  std::string body;
  auto old = before.entries().begin(), old_end = before.entries().end();
  auto remove = [&] {
    ++changes;
    append_sized(body, old->key());
    append_step(step::remove, body);
    ++old;
  };
  for (const auto& e : after.entries()) {
    while (old != old_end && old->key() < e.key())
      remove();
    bool known = old != old_end && old->key() == e.key();
    if (!known || !plainly_equal(old->val, e.val)) {
      ++changes;
      append_sized(body, e.key());
      if (!(known ? append_change(old->val, e.val, body) : append_replacement(e.val, body)))
        return false;
    }
    if (known)
      ++old;
  }
  while (old != old_end)
    remove();
  append_varint(out, changes);
  out.append(body);
  return true;
}

bool append_change(const value& before, const value& after, std::string& out) {
  if (before.is_list() && after.is_list())
    return append_list_change(before, after, out);
  if (before.is_map() && after.is_map())
    return append_map_change(before, after, out);
  return append_replacement(after, out);
}

// ---- reading --------------------------------------------------------------------------------

class patch_reader {
public:
  explicit patch_reader(std::string_view patch) : in_{patch} {}

  value apply(const value& before, std::size_t depth) {
    if (depth > limits::value_depth_max)
      return bad();
    switch (static_cast<step>(in_.byte())) {
      case step::replace: return encoded();
      case step::list: return change_list(before);
      case step::map: return change_map(before, depth);
      default: return bad();
    }
  }

  bool finished() const { return fits_ && in_.finished(); }

private:
  value bad() {
    fits_ = false;
    return {};
  }

  value encoded() {
    auto v = from_msgpack(in_.sized());
    return v ? std::move(*v) : bad();
  }

  value change_list(const value& before) {
    auto skipped = in_.varint(), kept = in_.varint();
    auto more = encoded();
    if (!before.is_list() || !more.is_list() || skipped > before.size()
        || kept > before.size() - skipped)
      return bad();
    if (skipped == 0 && kept == before.size())
      return before.append_all(more.items());
    auto old = before.items().subspan(skipped, kept);
    std::vector<value> all;
    all.reserve(kept + more.size());
    all.assign(old.begin(), old.end());
    all.insert(all.end(), more.items().begin(), more.items().end());
    return value::list(std::move(all));
  }

  value change_map(const value& before, std::size_t depth) {
    if (!before.is_map())
      return bad();
    auto left = in_.count();
    std::vector<value::map_init> out;
    out.reserve(before.size() + left);
    auto old = before.entries().begin(), old_end = before.entries().end();
    auto keep = [&out, &old] {
      out.emplace_back(std::string{old->key()}, old->val);
      ++old;
    };
    std::optional<std::string_view> last;
    for (; left != 0 && fits_ && in_.ok(); --left) {
      auto key = in_.sized();
      if (last && key <= *last)
        return bad();
      last = key;
      while (old != old_end && old->key() < key)
        keep();
      bool known = old != old_end && old->key() == key;
      if (!in_.rest().empty() && in_.rest().front() == static_cast<char>(step::remove)) {
        in_.byte();
        if (!known)
          return bad();
      } else {
        out.emplace_back(std::string{key}, apply(known ? old->val : value{}, depth + 1));
      }
      if (known)
        ++old;
    }
    while (old != old_end)
      keep();
    return value::map(std::move(out));
  }

  byte_reader in_;
  bool fits_ = true;
};

error damaged(std::string_view what) {
  return {errc::checkpoint_corrupt, "read a patched value: " + std::string{what}};
}

} // namespace

bool append_patch(const value& before, const value& after, std::string& out) {
  auto size = out.size();
  if (append_change(before, after, out) && static_cast<step>(out[size]) != step::replace)
    return true;
  out.resize(size);
  return false;
}

result<value> apply_patch(const value& before, std::string_view patch) {
  patch_reader from{patch};
  auto out = from.apply(before, 0);
  if (!from.finished())
    return damaged("the patch does not match its base value");
  return out;
}

void append_patch_head(const patch_base& base, const version& at, std::string& out) {
  append_varint(out, at.number - base.at.number);
  out.push_back(base.at.tag == at.tag ? 0 : 1);
  if (base.at.tag != at.tag)
    append_fixed64(out, base.at.tag);
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<char>(base.checksum >> shift));
}

result<patch_base> take_patch_head(std::string_view& payload, const version& at) {
  byte_reader in{payload};
  auto distance = in.varint();
  patch_base out{{at.number - distance, at.tag}, 0};
  if (in.byte() != 0)
    out.at.tag = in.fixed64();
  for (int shift = 0; shift < 32; shift += 8)
    out.checksum |= static_cast<std::uint32_t>(in.byte()) << shift;
  if (!in.ok() || distance == 0 || distance > at.number)
    return damaged("the head of the patch is malformed");
  payload = in.rest();
  return out;
}

} // namespace troupe
