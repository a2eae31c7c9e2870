// Patches: of any two values one makes the second of the first, and any bytes make no harm.
#include "tests/fuzz_bytes/target.hpp"
#include "tests/fuzz_bytes/value_of_bytes.hpp"

#include "persistence/record/value_patch.hpp"

namespace troupe::fuzz_bytes {

namespace {

void try_two(const value& before, const value& after) {
  std::string patch;
  if (!append_patch(before, after, patch))
    return;
  auto made = apply_patch(before, patch);
  require(made && *made == after, "a patch makes the new value of the old one");
}

void try_any(const value& before, std::string_view patch) {
  auto made = apply_patch(before, patch);
  if (!made)
    require(made.error().code() == errc::checkpoint_corrupt, "what does not fit is damage");
  else
    require(to_msgpack(*made).has_value(), "what a patch makes can be stored");
}

void try_head(choices& from) {
  version at{from.number(), from.number()};
  auto payload = from.rest();
  auto head = take_patch_head(payload, at);
  if (!head)
    return;
  require(head->at.number < at.number, "versions only go down");
  std::string again;
  append_patch_head(*head, at, again);
  std::string_view left = again;
  auto second = take_patch_head(left, at);
  require(second && second->at == head->at && second->checksum == head->checksum && left.empty(),
          "a head reads back");
}

} // namespace

void try_bytes(std::string_view bytes) {
  choices from{bytes};
  auto before = value_of(from);
  try_any(before, from.rest());
  auto head = from;
  try_head(head);
  auto after = value_of(from);
  try_two(before, after);
  if (before.is_list())
    try_two(before, before.append(after));
  if (before.is_map())
    try_two(before, before.with(key_of(from), after));
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  std::string list{"\7\3\2\1\2\2\2\3", 8};      // [1, 2, 3]
  std::string map{"\10\2\0\2\1\1\7\1\2\5", 10}; // {"a": 1, "b": [5]}
  std::string patch;
  append_patch(value{1, 2, 3}, value{1, 2, 3, 4}, patch);
  out.push_back(list + patch);
  patch.clear();
  append_patch(value{{"a", 1}, {"b", {5}}}, value{{"b", {5, 6}}, {"c", "new"}}, patch);
  out.push_back(map + patch);
  out.push_back(list + map);
  patch.clear();
  append_patch_head({{3, 7}, 0x12345678}, {4, 8}, patch);
  out.push_back(std::string{"\0\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\10", 17} + patch);
  return out;
}

} // namespace troupe::fuzz_bytes
