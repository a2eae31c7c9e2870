// x11_keys: the names of keys for xdotool. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The X11 name of a key. A punctuation mark has its number ("U002F"), a model's name X11's own
/// ("ctrl" is Control_L, "enter" Return). Missing for an unknown name.
/// Shape:  never a word that xdotool takes as a command: it checks for commands first, in any case.
std::optional<std::string> x11_key(std::string_view name);

} // namespace troupe
