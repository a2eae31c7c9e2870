// new_project: the files of a new project: an agent as a library, its test, and what serves it.
#pragma once

#include <string>
#include <vector>

namespace troupe::cli {

struct project_file {
  std::string name;
  std::string text;
};

/// The reason why a project can't have this name; empty when it can.
/// Shape:  a letter, and then letters, digits, `_` and `-`.
std::string project_name_problem(const std::string& name);

/// Shape:  names without folders; each text ends with a line end.
std::vector<project_file> files_of_project(const std::string& name);

} // namespace troupe::cli
