// Keys and times: what is taken off a key goes back as the same bytes, and sorts as it should.
#include "tests/fuzz_bytes/target.hpp"
#include "tests/fuzz_bytes/value_of_bytes.hpp"

#include "persistence/cache/cache_format.hpp"
#include "persistence/record/keys.hpp"
#include "persistence/record/timestamp_text.hpp"

#include <algorithm>
#include <string>

namespace troupe::fuzz_bytes {

namespace {

void try_number(std::string_view rest) {
  auto whole = rest;
  auto n = take_number(rest);
  if (!n)
    return;
  store_key key;
  key.append_number(*n);
  auto taken = whole.substr(0, whole.size() - rest.size());
  require(key.view().size() <= taken.size(), "a key's number is the shortest");
  require(key.view().size() < taken.size() || key.view() == taken, "a number is written one way");
  auto again = key.view();
  require(take_number(again) == n && again.empty(), "a number reads back");
}

void try_id(std::string_view rest) {
  auto id = take_id(rest);
  if (!id)
    return;
  std::string written;
  append_id(written, *id);
  std::string_view again = written;
  require(take_id(again) == id && again.empty(), "an id reads back");
  store_key key;
  key.append_id(*id);
  require(key.view() == written, "an id in a key is as one in a payload");
}

std::string without_zeros(std::string_view text) {
  std::string out{text};
  std::ranges::replace(out, '\0', 'z');
  return out;
}

void try_step(std::string_view rest, std::string_view checkpoint_id, std::string_view task_id) {
  auto parts = read_step_key(rest);
  require(parts.checkpoint_id == checkpoint_id && parts.task_id, "a writes key reads back");
  require(take_id(*parts.task_id) == task_id && parts.task_id->empty(), "with its task");
}

void try_order(choices from) {
  auto a = from.number(), b = from.number();
  require((chain_prefix(a).view() < chain_prefix(b).view()) == (a < b), "numbers sort in keys");
  auto x = without_zeros(from.text(60)), y = without_zeros(from.text(60));
  require((checkpoint_key(a, x).view() < checkpoint_key(a, y).view()) == (x < y), "ids sort");
  require((namespace_key(a, x).view() == namespace_key(a, y).view()) == (x == y),
          "namespaces have keys of their own");
  require((writes_key(a, x, y).view() == writes_key(a, y, x).view()) == (x == y),
          "pairs of ids have keys of their own");
  require((old_writes_key(a, x, y).view() == old_writes_key(a, y, x).view()) == (x == y),
          "pairs of ids had keys of their own");
  auto task = from.text(60);
  auto key = writes_key(a, x, task);
  require(checkpoint_key(a, x).view() < key.view(), "writes follow their checkpoint");
  require(x >= y || key.view() < checkpoint_key(a, y).view(), "and come before the next one");
  auto prefix = chain_prefix(a, chain_part::checkpoints).view().size();
  try_step(key.view().substr(prefix), x, task);
  require(key.view() < behind(key).view(), "behind lies behind");
}

void try_cache(std::string_view key) {
  if (key.empty())
    return;
  if (auto number = read_cache_age_key(key))
    require(read_cache_age_key(cache_age_key(*number)) == number, "an age reads back");
  if (auto end = read_cache_end_key(key)) {
    auto again = read_cache_end_key(cache_end_key(end->end, end->number));
    require(again && again->end == end->end && again->number == end->number, "an end reads back");
  }
}

void try_time(std::string_view text) {
  if (auto micros = timestamp_micros(text)) {
    require(timestamp_text(*micros) == text, "a time reads back");
    require(*micros >= timestamp_micros_min && *micros <= timestamp_micros_max,
            "times have bounds");
  }
}

// Digits at their places, from any bytes.
std::string time_like(choices from) {
  std::string text{"0000-00-00T00:00:00.000000+00:00"};
  for (auto& c : std::span{text}.first(26))
    if (c == '0')
      c = static_cast<char>('0' + from.byte() % 10);
  return text;
}

} // namespace

void try_bytes(std::string_view bytes) {
  try_number(bytes);
  try_id(bytes);
  try_order(choices{bytes});
  try_cache(bytes);
  try_time(bytes);
  try_time(time_like(choices{bytes}));
  auto range = static_cast<std::uint64_t>(timestamp_micros_max - timestamp_micros_min) + 1;
  auto micros = timestamp_micros_min + static_cast<std::int64_t>(choices{bytes}.number() % range);
  require(timestamp_micros(timestamp_text(micros)) == micros, "every time in bounds has a text");
}

std::vector<std::string> seeds() {
  auto text = [](const store_key& key) { return std::string{key.view()}; };
  std::string id;
  append_id(id, "1ef4f797-8335-6428-8001-8a1503f9b875");
  std::string short_id;
  append_id(short_id, "task");
  store_key number;
  number.append_number(1'000'000);
  return {id,
          short_id,
          text(number),
          text(cache_age_key(300)),
          text(cache_end_key({}, 7)),
          "2026-11-21T20:21:07.123456+00:00",
          "0000-02-29T23:59:59.999999+00:00",
          "2026-06-31T00:00:00.000000+00:00"};
}

} // namespace troupe::fuzz_bytes
