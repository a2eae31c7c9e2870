// elf_bytes: reads the parts of an ELF file from its bytes. A place beyond the end is nothing.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace troupe {

/// The T at a place of the file; nullopt when the file ends before its end.
template <class T> std::optional<T> elf_part(std::string_view file, std::uint64_t place) {
  T out;
  if (place > file.size() || file.size() - place < sizeof out)
    return std::nullopt;
  std::memcpy(&out, file.data() + place, sizeof out);
  return out;
}

/// The head of a file for 64 bits; nullopt for any other file.
inline std::optional<Elf64_Ehdr> elf_head(std::string_view file) {
  auto head = elf_part<Elf64_Ehdr>(file, 0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0
      || head->e_ident[EI_CLASS] != ELFCLASS64)
    return std::nullopt;
  return head;
}

inline std::optional<Elf64_Shdr> elf_section(std::string_view file, const Elf64_Ehdr& head,
                                             std::size_t i) {
  return elf_part<Elf64_Shdr>(file, head.e_shoff + i * sizeof(Elf64_Shdr));
}

} // namespace troupe
