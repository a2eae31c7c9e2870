// Names of keys as xdotool takes them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The X11 name of a key: of a mark its number ("U002F"), of what models call a key its own
/// ("ctrl" is Control_L, "enter" Return); nothing for a name that is not known.
/// Shape:  never a word that xdotool takes as a command: it looks at those before keys, in any
///         case.
std::optional<std::string> x11_key(std::string_view name);

} // namespace troupe
