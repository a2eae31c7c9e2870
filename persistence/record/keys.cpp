// keys: making and reading keys. The only file that knows their layout.
#include "persistence/record/keys.hpp"

#include "graph/uuid_text.hpp"

#define XXH_INLINE_ALL // needs no library
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace troupe {

namespace {

constexpr unsigned char uuid_mark = 0xff;
constexpr std::size_t namespace_in_key_max = 400;

static_assert(limits::thread_id_bytes_max + 1 <= store_key::size_max);
static_assert(limits::checkpoint_id_bytes_max < uuid_mark && limits::task_id_bytes_max < uuid_mark);
constexpr std::size_t writes_key_max = 1 + 9 + 1 + limits::checkpoint_id_bytes_max + 1 + 1
                                       + limits::task_id_bytes_max;
static_assert(writes_key_max <= store_key::size_max); // also for old writes
static_assert(1 + 9 + 1 + 1 + namespace_in_key_max <= store_key::size_max);

// Appends the id's mark or length and its bytes to a key or a payload.
template <class Out> void append_id_to(Out& out, std::string_view id) {
  uuid_bytes uuid;
  auto is_uuid = parse_uuid_text(id, uuid);
  auto head = static_cast<char>(is_uuid ? uuid_mark : id.size());
  out.append(std::string_view{&head, 1});
  out.append(is_uuid ? std::string_view{reinterpret_cast<const char*>(uuid.data()), uuid.size()}
                     : id);
}

} // namespace

void store_key::append(std::string_view bytes) {
  if (bytes.size() > size_max - size_) {
    std::fprintf(stderr, "broken: a key of more than %zu bytes\n", size_max);
    std::abort(); // the id was not checked against its limit
  }
  size_ += bytes.copy(bytes_.data() + size_, bytes.size()); // which may be none
}

void store_key::append_number(std::uint64_t n) {
  char digits[9];
  std::size_t size = 0;
  for (auto rest = n; rest != 0; rest >>= 8)
    ++size;
  digits[0] = static_cast<char>(size);
  for (std::size_t i = 0; i < size; ++i)
    digits[size - i] = static_cast<char>(n >> (8 * i));
  append({digits, size + 1});
}

void store_key::append_id(std::string_view id) {
  append_id_to(*this, id);
}

void append_id(std::string& out, std::string_view id) {
  append_id_to(out, id);
}

store_key meta_key() {
  store_key key;
  key.append_byte(static_cast<unsigned char>(key_area::meta));
  key.append("troupe");
  return key;
}

store_key thread_key(std::string_view thread_id) {
  store_key key;
  key.append_byte(static_cast<unsigned char>(key_area::thread));
  key.append(thread_id);
  return key;
}

store_key chain_prefix(std::uint64_t chain) {
  store_key key;
  key.append_byte(static_cast<unsigned char>(key_area::chain));
  key.append_number(chain);
  return key;
}

store_key chain_prefix(std::uint64_t chain, chain_part part) {
  auto key = chain_prefix(chain);
  key.append_byte(static_cast<unsigned char>(part));
  return key;
}

store_key names_key(std::uint64_t thread, std::uint64_t first) {
  auto key = chain_prefix(thread, chain_part::names);
  key.append_number(first);
  return key;
}

store_key data_key_key(std::uint64_t thread) {
  return chain_prefix(thread, chain_part::key);
}

bool namespace_in_key(std::string_view ns) noexcept {
  return ns.size() <= namespace_in_key_max;
}

store_key namespace_key(std::uint64_t thread, std::string_view ns) {
  auto key = chain_prefix(thread, chain_part::namespaces);
  if (namespace_in_key(ns)) {
    key.append_byte(0);
    key.append(ns);
    return key;
  }
  XXH128_canonical_t hash;
  XXH128_canonicalFromHash(&hash, XXH3_128bits(ns.data(), ns.size()));
  key.append_byte(1);
  key.append({reinterpret_cast<const char*>(hash.digest), sizeof(hash.digest)});
  return key;
}

store_key checkpoint_key(std::uint64_t chain, std::string_view checkpoint_id) {
  auto key = chain_prefix(chain, chain_part::checkpoints);
  key.append(checkpoint_id);
  return key;
}

store_key small_values_key(std::uint64_t chain, const version& at) {
  auto key = chain_prefix(chain, chain_part::values);
  key.append_number(at.number);
  key.append_number(at.tag);
  return key;
}

store_key value_key(std::uint64_t chain, const version& at, std::uint64_t channel) {
  auto key = small_values_key(chain, at);
  key.append_number(channel);
  return key;
}

store_key writes_prefix(std::uint64_t chain, std::string_view checkpoint_id) {
  auto key = checkpoint_key(chain, checkpoint_id);
  key.append_byte(0);
  return key;
}

store_key writes_key(std::uint64_t chain, std::string_view checkpoint_id,
                     std::string_view task_id) {
  auto key = writes_prefix(chain, checkpoint_id);
  key.append_id(task_id);
  return key;
}

store_key old_writes_prefix(std::uint64_t chain, std::string_view checkpoint_id) {
  auto key = chain_prefix(chain, chain_part::old_writes);
  key.append_id(checkpoint_id);
  return key;
}

store_key old_writes_key(std::uint64_t chain, std::string_view checkpoint_id,
                         std::string_view task_id) {
  auto key = old_writes_prefix(chain, checkpoint_id);
  key.append_id(task_id);
  return key;
}

step_key_parts read_step_key(std::string_view rest) noexcept {
  auto end = rest.find('\0');
  if (end == rest.npos)
    return {rest, std::nullopt};
  return {rest.substr(0, end), rest.substr(end + 1)};
}

std::size_t tree_of(std::string_view key) noexcept {
  if (key.size() < 3 || static_cast<key_area>(key[0]) != key_area::chain)
    return 0;
  auto part = 2 + static_cast<std::size_t>(static_cast<unsigned char>(key[1])); // after the number
  if (part >= key.size())
    return 0;
  switch (static_cast<chain_part>(key[part])) {
    case chain_part::checkpoints: return 1;
    case chain_part::values: return 2;
    case chain_part::old_writes: return 3;
    default: return 0;
  }
}

bool is_tree_name(std::string_view key) noexcept {
  return std::ranges::find(tree_names, key) != tree_names.end();
}

// Every prefix here begins with an area byte below 0xff, so such a key always exists.
store_key behind(const store_key& prefix) {
  auto bytes = prefix.view();
  while (static_cast<unsigned char>(bytes.back()) == 0xff)
    bytes.remove_suffix(1);
  store_key key;
  key.append(bytes.substr(0, bytes.size() - 1));
  key.append_byte(static_cast<unsigned char>(bytes.back()) + 1);
  return key;
}

std::optional<std::uint64_t> take_number(std::string_view& rest) {
  if (rest.empty() || rest[0] < 0 || rest[0] > 8)
    return std::nullopt;
  auto size = static_cast<std::size_t>(static_cast<unsigned char>(rest[0]));
  if (rest.size() < size + 1)
    return std::nullopt;
  std::uint64_t n = 0;
  for (auto c : rest.substr(1, size))
    n = n << 8 | static_cast<unsigned char>(c);
  rest.remove_prefix(size + 1);
  return n;
}

std::optional<value_key_parts> read_value_key(std::string_view key) {
  if (!key.starts_with(static_cast<char>(key_area::chain)))
    return std::nullopt;
  auto rest = key.substr(1);
  auto chain = take_number(rest);
  if (!chain || !rest.starts_with(static_cast<char>(chain_part::values)))
    return std::nullopt;
  rest.remove_prefix(1);
  auto number = take_number(rest);
  auto tag = take_number(rest);
  auto is_alone = !rest.empty();
  auto channel = take_number(rest);
  if (!number || !tag || !rest.empty() || (is_alone && !channel))
    return std::nullopt;
  return value_key_parts{*chain, {*number, *tag}, channel};
}

bool take_id(std::string_view& rest, std::string& into) {
  if (rest.empty())
    return false;
  auto head = static_cast<unsigned char>(rest[0]);
  auto size = head == uuid_mark ? std::size_t{16} : head;
  if (rest.size() < size + 1)
    return false;
  auto bytes = rest.substr(1, size);
  rest.remove_prefix(size + 1);
  if (head != uuid_mark)
    into = bytes;
  else
    uuid_text(
      std::span<const unsigned char, 16>{reinterpret_cast<const unsigned char*>(bytes.data()),
                                         uuid_bytes{}.size()},
      into);
  return true;
}

std::optional<std::string> take_id(std::string_view& rest) {
  std::string id;
  return take_id(rest, id) ? std::optional{std::move(id)} : std::nullopt;
}

} // namespace troupe
