// The build of a graph's code, from the notes of the objects that hold it.
#include "graph/code_build.hpp"

#include "graph/task_id.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

thread_local const void* exporter = nullptr;

/// A program or shared library in memory.
struct loaded_object {
  const void* address; // an address within the object
  const void* base = nullptr;
  std::string file = {};
  std::string build = {}; // empty: it has no build id
  bool is_found = false;
};

std::string hex(std::span<const unsigned char> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (auto b : bytes) {
    out += digits[b >> 4U];
    out += digits[b & 0xfU];
  }
  return out.size() <= limits::graph_build_bytes_max ? out : xxh3_128_hex(out);
}

/// The GNU build id among notes; empty without one.
std::string build_id_in(std::span<const unsigned char> notes, std::size_t alignment) {
  auto padded = [alignment](std::size_t size) { return (size + alignment - 1) & ~(alignment - 1); };
  for (std::size_t at = 0; notes.size() - at >= sizeof(ElfW(Nhdr));) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes.data() + at, sizeof head);
    auto name = at + sizeof head;
    auto text = name + padded(head.n_namesz);
    if (text + head.n_descsz > notes.size())
      return {};
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof ELF_NOTE_GNU
        && std::memcmp(notes.data() + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0)
      return hex(notes.subspan(text, head.n_descsz));
    at = std::min(text + padded(head.n_descsz), notes.size());
  }
  return {};
}

int look_at_object(dl_phdr_info* info, std::size_t, void* out) {
  auto& object = *static_cast<loaded_object*>(out);
  std::span parts{info->dlpi_phdr, info->dlpi_phnum};
  auto wanted = reinterpret_cast<ElfW(Addr)>(object.address);
  for (const auto& part : parts)
    object.is_found |= part.p_type == PT_LOAD && wanted >= info->dlpi_addr + part.p_vaddr
                       && wanted < info->dlpi_addr + part.p_vaddr + part.p_memsz;
  if (!object.is_found)
    return 0;
  object.base = reinterpret_cast<const void*>(info->dlpi_addr);
  object.file = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
  for (const auto& part : parts)
    if (part.p_type == PT_NOTE && object.build.empty())
      object.build = build_id_in(
        {reinterpret_cast<const unsigned char*>(info->dlpi_addr + part.p_vaddr), part.p_memsz},
        part.p_align == 8 ? 8 : 4);
  return 1;
}

loaded_object object_with(const void* address) {
  loaded_object out{.address = address};
  ::dl_iterate_phdr(look_at_object, &out);
  return out;
}

/// The program itself, which the loader lists first.
loaded_object program() {
  loaded_object out{.address = nullptr};
  ::dl_iterate_phdr(
    [](dl_phdr_info* info, std::size_t size, void* out) {
      for (const auto& part : std::span{info->dlpi_phdr, info->dlpi_phnum})
        if (part.p_type == PT_LOAD)
          static_cast<loaded_object*>(out)->address =
            reinterpret_cast<const void*>(info->dlpi_addr + part.p_vaddr);
      look_at_object(info, size, out);
      return 1;
    },
    &out);
  return out;
}

std::string hash_of_file(const std::string& file) {
  std::ifstream in{file, std::ios::binary};
  std::string content{std::istreambuf_iterator<char>{in}, {}};
  return content.empty() ? std::string{} : xxh3_128_hex(content);
}

std::string build_of(const loaded_object& object) {
  if (!object.build.empty())
    return object.build;
  static std::mutex mutex;
  static std::map<const void*, std::string> hashes; // an object's file may be replaced later
  std::lock_guard lock{mutex};
  auto& hash = hashes[object.base];
  if (hash.empty())
    hash = hash_of_file(object.file);
  if (hash.empty()) {
    std::random_device random;
    hash = "unknown-" + std::to_string(random()) + "-" + std::to_string(random());
  }
  return hash;
}

/// Adds the object that holds a body's code: the type information of a function object lies in the
/// object that created it.
template <class F> void add_code(std::set<const void*>& to, const F* body) {
  if (body && *body)
    to.insert(&body->target_type());
}

void add_code(std::set<const void*>& to, const graph_plan& plan) {
  if (plan.exporter)
    to.insert(plan.exporter);
  for (const auto& node : plan.nodes) {
    add_code(to, node.body.plain());
    add_code(to, node.body.coroutine());
    for (const auto& route : node.routes)
      add_code(to, &route.body);
    if (node.body.graph())
      add_code(to, *node.body.graph());
    for (const auto& graph : node.settings->calls)
      add_code(to, *graph.plan());
  }
}

} // namespace

std::string build_of_object(const void* address) {
  return build_of(object_with(address));
}

std::string graph_build(const graph_plan& plan) {
  static const char anchor = 0;
  const auto own = object_with(&anchor);
  std::set<const void*> code;
  add_code(code, plan);
  std::map<const void*, std::string> builds; // each object is looked at once
  for (const auto* address : code)
    if (auto object = object_with(address); object.is_found && object.base != own.base)
      builds.try_emplace(object.base, build_of(object));
  if (builds.empty())
    return build_of(program());
  if (builds.size() == 1)
    return builds.begin()->second;
  std::set<std::string> sorted;
  for (const auto& [base, build] : builds)
    sorted.insert(build);
  std::string all;
  for (const auto& build : sorted)
    all += build + ";";
  return xxh3_128_hex(all);
}

exporting_object::exporting_object(const void* address)
  : before_{std::exchange(exporter, address)} {}

exporting_object::~exporting_object() {
  exporter = before_;
}

const void* exporting_object::current() noexcept {
  return exporter;
}

} // namespace troupe
