// data_keys: wraps, unwraps and remembers data keys.
#include "persistence/crypt/data_keys.hpp"

#include <troupe/keyring.hpp>
#include <troupe/limits.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace troupe {

namespace {

error opening(std::string_view of, const error& why) {
  std::string text{"open "};
  text.append(of).append(": ").append(why.message());
  return {why.code(), std::move(text)};
}

secret_key copy_of(const secret_key& key) {
  secret_key copy;
  std::copy_n(key.data(), secret_key::size, copy.data());
  return copy;
}

result<secret_key> unwrap_for(const key_provider* keys, const wrapped_key& wrapped,
                              std::string_view context, std::string_view of) {
  if (!keys)
    return opening(of, {errc::key_missing, "key `" + wrapped.id
                                             + "`: the key ring is missing: set "
                                               "TROUPE_STORE_KEY_FILE or open the store with one"});
  auto data_key = keys->unwrap(wrapped, context);
  if (!data_key)
    return opening(of, data_key.error());
  return data_key;
}

result<wrapped_key> wrap_checked(const key_provider& keys, const secret_key& data_key,
                                 std::string_view context) {
  auto wrapped = keys.wrap(data_key, context);
  if (wrapped && !is_well_formed(*wrapped))
    return error{errc::storage_failed,
                 "wrap a data key: the key provider's answer has an id or a size out of limits"};
  return wrapped;
}

class remembering_provider final : public key_provider {
public:
  explicit remembering_provider(std::shared_ptr<const key_provider> keys)
    : keys_{std::move(keys)} {}

  result<std::string> wrapping_id() const override { return keys_->wrapping_id(); }

  result<wrapped_key> wrap(const secret_key& data_key, std::string_view context) const override {
    auto wrapped = keys_->wrap(data_key, context);
    if (wrapped)
      remember(*wrapped, context, data_key);
    return wrapped;
  }

  result<secret_key> unwrap(const wrapped_key& wrapped, std::string_view context) const override {
    {
      std::scoped_lock lock{mutex_};
      auto known = known_.find(place{wrapped.id, wrapped.bytes, std::string{context}});
      if (known != known_.end())
        return copy_of(known->second);
    }
    auto data_key = keys_->unwrap(wrapped, context); // without the lock: it may take seconds
    if (data_key)
      remember(wrapped, context, *data_key);
    return data_key;
  }

  bool is_same(const key_provider& other) const noexcept override { return keys_->is_same(other); }

private:
  struct place {
    std::string id;
    std::string bytes;
    std::string context;
    friend auto operator<=>(const place&, const place&) = default;
  };

  void remember(const wrapped_key& wrapped, std::string_view context, const secret_key& key) const {
    std::scoped_lock lock{mutex_};
    if (known_.size() == limits::data_keys_remembered_max)
      known_.clear();
    known_.insert_or_assign(place{wrapped.id, wrapped.bytes, std::string{context}}, copy_of(key));
  }

  const std::shared_ptr<const key_provider> keys_;
  mutable std::mutex mutex_;
  mutable std::map<place, secret_key> known_;
};

} // namespace

bool is_well_formed(const wrapped_key& wrapped) noexcept {
  auto is_shown = [](char c) { return c > ' ' && c < 0x7f; };
  return !wrapped.id.empty() && wrapped.id.size() <= limits::store_key_id_bytes_max
         && std::ranges::all_of(wrapped.id, is_shown) && !wrapped.bytes.empty()
         && wrapped.bytes.size() <= limits::wrapped_key_bytes_max;
}

result<aes_gcm> unwrapped_cipher(const key_provider* keys, const wrapped_key& wrapped,
                                 std::string_view context, std::string_view of) {
  auto data_key = unwrap_for(keys, wrapped, context, of);
  if (!data_key)
    return data_key.error();
  return aes_gcm::with(*data_key);
}

result<made_data_key> make_data_key(const key_provider& keys, std::string_view context) {
  auto data_key = random_key();
  if (!data_key)
    return data_key.error();
  auto wrapped = wrap_checked(keys, *data_key, context);
  if (!wrapped)
    return wrapped.error();
  auto cipher = aes_gcm::with(*data_key);
  if (!cipher)
    return cipher.error();
  return made_data_key{std::move(*wrapped), std::move(*cipher)};
}

result<std::optional<wrapped_key>> rewrapped(const key_provider& keys, const wrapped_key& wrapped,
                                             std::string_view current, std::string_view context,
                                             std::string_view of) {
  if (wrapped.id == current)
    return std::optional<wrapped_key>{};
  auto data_key = unwrap_for(&keys, wrapped, context, of);
  if (!data_key)
    return data_key.error();
  auto anew = wrap_checked(keys, *data_key, context);
  if (!anew)
    return anew.error();
  return std::optional{std::move(*anew)};
}

std::shared_ptr<const key_provider> remembering(std::shared_ptr<const key_provider> keys) {
  if (!keys || std::dynamic_pointer_cast<const keyring>(keys))
    return keys;
  return std::make_shared<remembering_provider>(std::move(keys));
}

} // namespace troupe
