// Loading a graph from a shared library.
#include <troupe/graph_library.hpp>

#include "graph/code_build.hpp"
#include "graph/shared_library.hpp"

#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

namespace troupe {
namespace {

error refused(errc code, std::string_view what, std::string_view which) {
  std::string text{"load a graph: "};
  text.append(what).append(": ").append(which);
  return {code, std::move(text)};
}

bool is_identifier(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name[0]))
    return false;
  for (char c : name)
    if (!letter(c) && !(c >= '0' && c <= '9'))
      return false;
  return true;
}

result<void*> open_library(const std::filesystem::path& library) {
  std::error_code failed;
  auto path = std::filesystem::absolute(library, failed); // a bare name would search the system
  if (failed || !std::filesystem::exists(path, failed))
    return refused(errc::unknown_graph, "no such file, check the path", library.string());
  if (!std::filesystem::is_regular_file(path, failed))
    return refused(errc::unknown_graph, "not a file, name the shared library itself",
                   library.string());
  auto handle = load_library(path);
  if (handle)
    return handle;
  return refused(
    errc::unknown_graph,
    "not a loadable shared library, build it with -shared -fPIC and link it with troupe",
    handle.error().message());
}

template <class Function>
Function find_function(void* library, std::string_view prefix, const std::string& name) {
  return reinterpret_cast<Function>(find_symbol(library, std::string{prefix} + name));
}

using abi_version_function = int (*)();
using graph_function = void* (*)();

error another_abi(int version, const std::filesystem::path& library) {
  return refused(errc::abi_mismatch,
                 "the library was built for graph ABI " + std::to_string(version)
                   + ", this troupe has " + std::to_string(graph_abi_version)
                   + ", build it again with this troupe's headers",
                 library.string());
}

result<compiled_graph> build(graph_function make, const std::string& name) {
  auto failed = [&name](std::string_view why) {
    return refused(errc::invalid_graph, "building `" + name + "` failed, correct its TROUPE_GRAPH",
                   why);
  };
  try {
    exporting_object by{reinterpret_cast<const void*>(make)};
    std::unique_ptr<compiled_graph> graph{static_cast<compiled_graph*>(make())};
    if (!graph || !graph->plan())
      return failed("it returned no graph");
    return std::move(*graph);
  } catch (const std::exception& e) {
    return failed(e.what());
  } catch (...) {
    return failed("it threw something that is not a std::exception");
  }
}

} // namespace

result<compiled_graph> load_graph(const std::string& library, const std::string& name) {
  if (!is_identifier(name))
    return refused(errc::unknown_graph, "a graph's name is an identifier, as in TROUPE_GRAPH(name)",
                   name);
  auto handle = open_library(library);
  if (!handle)
    return handle.error();
  auto abi_version = find_function<abi_version_function>(*handle, "troupe_abi_version_", name);
  auto make = find_function<graph_function>(*handle, "troupe_graph_", name);
  if (!abi_version || !make)
    return refused(errc::unknown_graph,
                   "the library exports no graph of this name, add TROUPE_GRAPH(" + name + ")",
                   library);
  if (auto version = abi_version(); version != graph_abi_version)
    return another_abi(version, library);
  return build(make, name);
}

} // namespace troupe
