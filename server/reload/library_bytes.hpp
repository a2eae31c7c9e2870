// library_bytes: the bytes of a shared library, before the dynamic loader gets them. Pure.
#pragma once

#include <string>
#include <string_view>

namespace troupe::server {

/// Whether the bytes begin as an ELF file and end before its segments and sections do. A program
/// that loads such a file can end by SIGBUS.
bool is_cut_off(std::string_view library);

/// Gives a library symbols of its own where the loader would unite them with those of an earlier
/// build: unique symbols (STB_GNU_UNIQUE) become weak ones. They are the static members of
/// templates and the static variables of inline functions, as the table of TROUPE_STATE. Bytes of
/// anything else stay as they are. Source: -fno-gnu-unique of g++ has the same effect.
void separate_symbols(std::string& library);

} // namespace troupe::server
