// See library_graphs.hpp.
#include "tools/troupe/library_graphs.hpp"

#include "graph/elf_bytes.hpp"

#include <troupe/error.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace troupe::cli {

namespace {

// As TROUPE_GRAPH names what it exports.
constexpr std::string_view graph_prefix = "troupe_graph_";

std::string_view text_at(std::string_view file, const Elf64_Shdr& strings, std::size_t place) {
  if (strings.sh_offset > file.size() || place >= strings.sh_size
      || place >= file.size() - strings.sh_offset)
    return {};
  auto out = file.substr(strings.sh_offset + place);
  return out.substr(0, std::min(out.find('\0'), out.size()));
}

} // namespace

std::vector<std::string> graphs_of_library(const std::filesystem::path& library) {
  std::ifstream in{library, std::ios::binary};
  const std::string file{std::istreambuf_iterator<char>{in}, {}};
  auto head = elf_head(file);
  if (!head)
    throw error{errc::unknown_graph,
                "list the graphs of a library: not a shared library: " + library.string()};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < head->e_shnum; ++i) {
    auto symbols = elf_section(file, *head, i);
    if (!symbols || symbols->sh_type != SHT_DYNSYM)
      continue;
    auto strings = elf_section(file, *head, symbols->sh_link);
    for (std::uint64_t n = 0; strings && n < symbols->sh_size / sizeof(Elf64_Sym); ++n) {
      auto symbol = elf_part<Elf64_Sym>(file, symbols->sh_offset + n * sizeof(Elf64_Sym));
      if (!symbol)
        break;
      auto name = text_at(file, *strings, symbol->st_name);
      if (symbol->st_shndx != SHN_UNDEF && name.starts_with(graph_prefix))
        out.emplace_back(name.substr(graph_prefix.size()));
    }
  }
  std::ranges::sort(out);
  return out;
}

} // namespace troupe::cli
