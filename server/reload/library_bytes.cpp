// library_bytes: looks into ELF files.
#include "server/reload/library_bytes.hpp"

#include "graph/elf_bytes.hpp"

#include <cstddef>

namespace troupe::server {

namespace {

bool fits(std::string_view file, std::uint64_t place, std::uint64_t size) {
  return place <= file.size() && size <= file.size() - place;
}

} // namespace

bool is_cut_off(std::string_view library) {
  if (library.size() < sizeof(Elf64_Ehdr))
    return library.empty()
           || std::string_view{ELFMAG, SELFMAG}.starts_with(library.substr(0, SELFMAG));
  auto head = elf_head(library);
  if (!head)
    return false;
  if (!fits(library, head->e_shoff, std::uint64_t{head->e_shnum} * sizeof(Elf64_Shdr)))
    return true;
  for (std::size_t i = 0; i < head->e_phnum; ++i) {
    auto part = elf_part<Elf64_Phdr>(library, head->e_phoff + i * sizeof(Elf64_Phdr));
    if (!part || (part->p_type == PT_LOAD && !fits(library, part->p_offset, part->p_filesz)))
      return true;
  }
  return false;
}

void separate_symbols(std::string& library) {
  auto head = elf_head(library);
  for (std::size_t i = 0; head && i < head->e_shnum; ++i) {
    auto symbols = elf_section(library, *head, i);
    if (!symbols || symbols->sh_type != SHT_DYNSYM)
      continue;
    for (std::uint64_t n = 0; n < symbols->sh_size / sizeof(Elf64_Sym); ++n) {
      auto place = symbols->sh_offset + n * sizeof(Elf64_Sym);
      auto symbol = elf_part<Elf64_Sym>(library, place);
      if (!symbol)
        break;
      if (ELF64_ST_BIND(symbol->st_info) == STB_GNU_UNIQUE)
        library[place + offsetof(Elf64_Sym, st_info)] =
          static_cast<char>(ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(symbol->st_info)));
    }
  }
}

} // namespace troupe::server
