#include "tests/conformance/case_file.hpp"

#include <filesystem>
#include <fstream>

namespace troupe::conformance {
namespace {

script_json parse(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in)
    throw unreadable_case{"the file can't be opened"};
  return script_json::parse(in);
}

case_file to_case(const script_json& document) {
  case_file out;
  out.script.name = document.at("name").get<std::string>();
  out.script.models = document.value("models", script_json::object());
  out.script.graphs = document.at("graphs");
  out.script.calls = document.at("calls");
  if (!out.script.graphs.is_object() || !out.script.calls.is_array())
    throw unreadable_case{"`graphs` must be an object and `calls` an array"};
  if (auto expect = document.find("expect"); expect != document.end())
    out.expect = answer_json::parse(expect->dump());
  return out;
}

} // namespace

std::string script::text() const {
  return models.dump() + graphs.dump() + calls.dump();
}

case_file read_case(const std::filesystem::path& path) {
  try {
    return to_case(parse(path));
  } catch (const std::exception& e) {
    throw unreadable_case{"read case: " + path.string() + ": " + e.what()};
  }
}

} // namespace troupe::conformance
