// data_keys: random keys that seal records, and their wrapped form, wherever it is stored.
#pragma once

#include "persistence/crypt/aes_gcm.hpp"

#include <troupe/key_provider.hpp>

#include <memory>
#include <optional>
#include <string_view>

namespace troupe {

/// Whether the form is within limits: the id can be shown, and the bytes can be stored.
bool is_well_formed(const wrapped_key& wrapped) noexcept;

/// The cipher of a stored data key. `keys` may be null; `of` names the owner of the data key in
/// messages ("an encrypted thread").
/// Blocks: on the provider.
/// Errors: key_missing, which names the id; those of the provider.
result<aes_gcm> unwrapped_cipher(const key_provider* keys, const wrapped_key& wrapped,
                                 std::string_view context, std::string_view of);

/// A new, random data key.
struct made_data_key {
  wrapped_key wrapped;
  aes_gcm cipher;
};
/// Blocks: on the provider.
/// Errors: those of the provider.
result<made_data_key> make_data_key(const key_provider& keys, std::string_view context);

/// The data key wrapped by the provider's current key, whose id is `current`; nullopt when it
/// already is.
/// Blocks: on the provider.
/// Errors: as unwrapped_cipher.
result<std::optional<wrapped_key>> rewrapped(const key_provider& keys, const wrapped_key& wrapped,
                                             std::string_view current, std::string_view context,
                                             std::string_view of);

/// The same provider, with a memory: each data key is unwrapped once. A key ring stays as it is,
/// since it is fast, and null stays null.
/// Units:  at most limits::data_keys_remembered_max data keys; then the memory starts over.
std::shared_ptr<const key_provider> remembering(std::shared_ptr<const key_provider> keys);

} // namespace troupe
