// keyring: reads keys. Memory that held key text is wiped; no message quotes more of a line than a
// well-formed id.
#include "persistence/crypt/aes_gcm.hpp"
#include "persistence/crypt/hex_text.hpp"
#include "persistence/crypt/private_file.hpp"

#include <troupe/keyring.hpp>
#include <troupe/limits.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace troupe {

namespace {

constexpr const char* file_variable = "TROUPE_STORE_KEY_FILE";
constexpr const char* keys_variable = "TROUPE_STORE_KEYS";
constexpr std::size_t hex_digits = 2 * secret_key::size;
constexpr std::size_t base64_digits = 43; // optionally followed by one `=`

// The text of a key is longer than an id. So a key in the place of an id is never taken for an id
// and quoted.
static_assert(limits::store_key_id_bytes_max < base64_digits);

error refused(const std::string& source, std::string_view what) {
  return {errc::invalid_config, "read store keys: " + source + ": " + std::string{what}};
}

// ---- one key ------------------------------------------------------------------------------------

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  if (c == '+')
    return 62;
  return c == '/' ? 63 : -1;
}

bool read_base64(std::string_view text, secret_key& key) {
  unsigned bits = 0;
  int count = 0;
  auto* to = key.data();
  for (auto c : text.substr(0, base64_digits)) {
    auto digit = base64_value(c);
    if (digit < 0)
      return false;
    bits = (bits << 6 | static_cast<unsigned>(digit)) & 0xffff;
    count += 6;
    if (count < 8)
      continue;
    count -= 8;
    *to++ = static_cast<std::uint8_t>(bits >> count);
  }
  return (bits & 3) == 0; // 258 bits: the last two must be 0
}

std::optional<secret_key> read_key(std::string_view text) {
  secret_key key;
  auto is_hex = text.size() == hex_digits;
  auto is_base64 = text.size() == base64_digits
                   || (text.size() == base64_digits + 1 && text.back() == '=');
  if ((is_hex && read_hex(text, reinterpret_cast<char*>(key.data()), secret_key::size))
      || (is_base64 && read_base64(text, key)))
    return key;
  return std::nullopt;
}

bool is_key_id(std::string_view id) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.'
           || c == '_' || c == '-';
  };
  return !id.empty() && id.size() <= limits::store_key_id_bytes_max
         && std::ranges::all_of(id, allowed);
}

// ---- many ---------------------------------------------------------------------------------------

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r";
  auto begin = std::min(text.find_first_not_of(space), text.size());
  return text.substr(begin, text.find_last_not_of(space) + 1 - begin);
}

// The text before the separator; both are removed from `rest`.
std::string_view take_until(std::string_view& rest, std::string_view separators) {
  auto end = std::min(rest.find_first_of(separators), rest.size());
  auto word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

struct key_entry {
  std::string_view id;
  secret_key key;
  bool is_current = false;
};

// `line` and `between`: the separators between the words of an entry.
result<key_entry> read_entry(std::string_view line, std::string_view between,
                             const std::string& source) {
  auto id = take_until(line, between);
  line = trimmed(line);
  auto text = take_until(line, between);
  auto mark = trimmed(line);
  if (!is_key_id(id))
    return refused(source, "an id is 1 to " + std::to_string(limits::store_key_id_bytes_max)
                             + " letters, digits, `.`, `_` or `-`");
  auto key = read_key(text);
  if (!key)
    return refused(source, "a key is 64 hex digits or 44 characters of base64");
  if (!mark.empty() && mark != "current")
    return refused(source, "after a key, only `current` may follow");
  return key_entry{id, std::move(*key), !mark.empty()};
}

/// The keys that are gathered for a ring.
struct gathered_keys {
  std::map<std::string, secret_key, std::less<>> keys;
  std::string current;
  bool is_marked = false;

  result<void> add(key_entry entry, const std::string& source) {
    std::string id{entry.id};
    if (keys.contains(id))
      return refused(source, "the id `" + id + "` occurs twice");
    if (keys.size() == limits::store_keys_max)
      return refused(source, "more than " + std::to_string(limits::store_keys_max) + " keys");
    if (entry.is_current && is_marked)
      return refused(source, "a second key is marked as the current one");
    if (entry.is_current || !is_marked)
      current = id;
    is_marked = is_marked || entry.is_current;
    keys.emplace(std::move(id), std::move(entry.key));
    return {};
  }
};

result<gathered_keys> gather(std::string_view text, const std::string& source,
                             std::string_view separator, std::string_view between) {
  gathered_keys all;
  auto is_file = separator == "\n";
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto line = trimmed(take_until(text, separator));
    if (is_file && (line.empty() || line.front() == '#'))
      continue;
    auto place = source + (is_file ? ": line " : ": entry ") + std::to_string(number);
    auto entry = read_entry(line, between, place);
    if (!entry)
      return entry.error();
    if (auto ok = all.add(std::move(*entry), place); !ok)
      return ok.error();
  }
  if (all.keys.empty())
    return refused(source, "no key was found");
  return all;
}

} // namespace

// ---- secret_key ---------------------------------------------------------------------------------

secret_key::secret_key(secret_key&& other) noexcept : bytes_{other.bytes_} {
  ::explicit_bzero(other.bytes_.data(), size);
}

secret_key& secret_key::operator=(secret_key&& other) noexcept {
  if (this != &other) {
    bytes_ = other.bytes_;
    ::explicit_bzero(other.bytes_.data(), size);
  }
  return *this;
}

secret_key::~secret_key() {
  ::explicit_bzero(bytes_.data(), size);
}

bool operator==(const secret_key& a, const secret_key& b) noexcept {
  volatile unsigned char differ = 0; // the time must not depend on where the keys differ
  for (std::size_t i = 0; i < secret_key::size; ++i)
    differ = differ | (a.data()[i] ^ b.data()[i]);
  return differ == 0;
}

// ---- keyring ------------------------------------------------------------------------------------

result<std::shared_ptr<const keyring>> keyring::read(std::string_view text,
                                                     const std::string& source, bool is_list) {
  auto all = is_list ? gather(text, source, ",", ":") : gather(text, source, "\n", " \t");
  if (!all)
    return all.error();
  std::shared_ptr<keyring> ring{new keyring};
  ring->keys_ = std::move(all->keys);
  ring->current_ = std::move(all->current);
  return std::shared_ptr<const keyring>{std::move(ring)};
}

result<std::shared_ptr<const keyring>> keyring::from_text(std::string_view text) {
  return read(text, "the text", false);
}

result<std::shared_ptr<const keyring>> keyring::from_file(const std::string& file) {
  wiped_text text;
  if (auto flaw = text.read(file, limits::store_key_file_bytes_max, true); !flaw.empty())
    return refused(file, flaw);
  return read(text.view(), file, false);
}

result<std::shared_ptr<const keyring>> keyring::from_environment() {
  const auto* file = std::getenv(file_variable); // NOLINT(concurrency-mt-unsafe)
  const auto* keys = std::getenv(keys_variable); // NOLINT(concurrency-mt-unsafe)
  if (!file && !keys)
    return std::shared_ptr<const keyring>{};
  if (file && keys)
    return refused(file_variable, std::string{keys_variable} + " is set as well: choose one");
  // A failed command leaves an empty variable; continuing without keys would store plain text.
  if (*(file ? file : keys) == '\0')
    return refused(file ? file_variable : keys_variable, "the variable is set but empty");
  return file ? from_file(file) : read(keys, keys_variable, true);
}

const secret_key* keyring::find(std::string_view id) const noexcept {
  auto at = keys_.find(id);
  return at == keys_.end() ? nullptr : &at->second;
}

// The id is authenticated with the context: two keys of equal bytes are still two keys.
result<wrapped_key> keyring::wrap(const secret_key& data_key, std::string_view context) const {
  auto cipher = aes_gcm::with(*find(current_));
  if (!cipher)
    return cipher.error();
  wrapped_key wrapped{current_, {}};
  if (auto ok = cipher->wrap(data_key, {current_, context}, wrapped.bytes); !ok)
    return ok.error();
  return wrapped;
}

result<secret_key> keyring::unwrap(const wrapped_key& wrapped, std::string_view context) const {
  auto missing = [&wrapped](const char* why) {
    return error{errc::key_missing, "key `" + wrapped.id + "`: " + why};
  };
  const auto* key = find(wrapped.id);
  if (!key)
    return missing("the key ring does not have it");
  auto cipher = aes_gcm::with(*key);
  if (!cipher)
    return cipher.error();
  auto data_key = cipher->unwrap(wrapped.bytes, {wrapped.id, context});
  if (!data_key)
    return missing("the key of this id in the key ring is not the one that was used, or the record "
                   "was changed");
  return std::move(*data_key);
}

bool keyring::is_same(const key_provider& other) const noexcept {
  const auto* ring = dynamic_cast<const keyring*>(&other);
  return ring && *ring == *this;
}

bool operator==(const keyring& a, const keyring& b) noexcept {
  return a.keys_ == b.keys_ && a.current_ == b.current_;
}

std::vector<std::string> keyring::ids() const {
  std::vector<std::string> all;
  for (const auto& [id, key] : keys_)
    all.push_back(id);
  return all;
}

} // namespace troupe
