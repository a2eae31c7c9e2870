// x11_keys: the names of keys for xdotool. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The X11 name of a key: for a punctuation mark its number ("U002F"), for a model's name X11's own
/// ("ctrl" is Control_L, "enter" Return). nullopt for an unknown name.
/// Shape:  never a word that xdotool takes as a command: it checks for commands first, in any case.
std::optional<std::string> x11_key(std::string_view name);

} // namespace troupe
