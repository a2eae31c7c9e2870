// Bytes of shared libraries: cut off, and with symbols that the loader would unite.
#include "graph/elf_bytes.hpp"
#include "server/reload/library_bytes.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace troupe::server::test {
namespace {

std::string bytes_of_counts() {
  std::ifstream in{std::filesystem::path{TROUPE_BIN_DIR} / "../lib/libcounts_one.so",
                   std::ios::binary};
  std::string out{std::istreambuf_iterator<char>{in}, {}};
  BOOST_REQUIRE(!out.empty());
  return out;
}

std::size_t symbols_with_bind(const std::string& library, unsigned char bind) {
  std::size_t out = 0;
  auto head = elf_head(library);
  BOOST_REQUIRE(head.has_value());
  for (std::size_t i = 0; i < head->e_shnum; ++i)
    if (auto section = elf_section(library, *head, i); section && section->sh_type == SHT_DYNSYM)
      for (std::uint64_t n = 0; n < section->sh_size / sizeof(Elf64_Sym); ++n) {
        auto symbol = elf_part<Elf64_Sym>(library, section->sh_offset + n * sizeof(Elf64_Sym));
        out += symbol && ELF64_ST_BIND(symbol->st_info) == bind ? 1 : 0;
      }
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_reload_library_bytes)

BOOST_AUTO_TEST_CASE(a_library_without_its_last_byte_is_cut_off) {
  auto whole = bytes_of_counts();
  BOOST_TEST(!is_cut_off(whole));
  BOOST_TEST(!is_cut_off(whole + "more"));
  for (auto size : {std::size_t{0}, std::size_t{3}, sizeof(Elf64_Ehdr) - 1, sizeof(Elf64_Ehdr),
                    std::size_t{4096}, whole.size() / 2, whole.size() - 1})
    BOOST_TEST(is_cut_off(whole.substr(0, size)), size);
}

BOOST_AUTO_TEST_CASE(files_of_another_kind_are_left_to_the_loader) {
  BOOST_TEST(!is_cut_off("text"));
  BOOST_TEST(!is_cut_off(std::string(1000, 'x')));
  std::string text = "text";
  separate_symbols(text);
  BOOST_TEST(text == "text");
}

BOOST_AUTO_TEST_CASE(a_head_that_points_beyond_the_file_is_cut_off_and_not_followed) {
  auto library = bytes_of_counts();
  auto head = *elf_head(library);
  head.e_shoff = ~std::uint64_t{0} - 8;
  std::memcpy(library.data(), &head, sizeof head);
  BOOST_TEST(is_cut_off(library));
  auto before = library;
  separate_symbols(library);
  BOOST_TEST((library == before));
  head.e_phoff = library.size();
  head.e_shnum = 0;
  head.e_shoff = 0;
  std::memcpy(library.data(), &head, sizeof head);
  BOOST_TEST(is_cut_off(library));
}

BOOST_AUTO_TEST_CASE(unique_symbols_become_weak_and_nothing_else_changes) {
  auto before = bytes_of_counts();
  auto unique = symbols_with_bind(before, STB_GNU_UNIQUE);
#ifndef __clang__ // which makes none
  BOOST_TEST(unique > 0u);
#endif
  auto after = before;
  separate_symbols(after);
  BOOST_TEST(symbols_with_bind(after, STB_GNU_UNIQUE) == 0u);
  BOOST_TEST(symbols_with_bind(after, STB_WEAK) == symbols_with_bind(before, STB_WEAK) + unique);
  BOOST_REQUIRE(after.size() == before.size());
  std::size_t changed = 0;
  for (std::size_t i = 0; i < after.size(); ++i)
    changed += after[i] != before[i] ? 1 : 0;
  BOOST_TEST(changed == unique);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
