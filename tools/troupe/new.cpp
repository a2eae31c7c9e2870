// troupe new: a project with an agent, ready to be built, tested and served.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/new_project.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

namespace troupe::cli {

namespace {

namespace fs = std::filesystem;

error no_project(const fs::path& folder, const std::string& why) {
  return {errc::invalid_config, "make the project " + folder.string() + ": " + why};
}

// A folder that is missing or empty: nothing is overwritten.
void make_empty_folder(const fs::path& folder) {
  std::error_code failed;
  if (fs::exists(folder, failed) && (!fs::is_directory(folder) || !fs::is_empty(folder)))
    throw no_project(folder, "it exists, and is not an empty folder");
  fs::create_directory(folder, failed);
  if (failed)
    throw error{errc::storage_failed,
                "make the project " + folder.string() + ": " + failed.message()};
}

int make_project(const std::string& given, bool json) {
  auto folder = fs::path{given}.lexically_normal();
  auto name = folder.has_filename() ? folder.filename().string()
                                    : folder.parent_path().filename().string();
  if (auto problem = project_name_problem(name); !problem.empty())
    throw no_project(folder, problem);
  make_empty_folder(folder);
  for (const auto& [file, text] : files_of_project(name)) {
    std::ofstream out{folder / file, std::ios::binary};
    if (!(out << text << std::flush))
      throw error{errc::storage_failed, "write " + (folder / file).string() + ": it failed"};
  }
  if (json) {
    print_line(json_line("new", {{"folder", to_json(value(folder.string()))}}));
    return exit_done;
  }
  std::cout << "made " << folder.string() << "; to build and serve it:\n  cd " << folder.string()
            << " && cmake -B build && cmake --build build && troupe dev" << std::endl;
  return exit_done;
}

} // namespace

void add_new(CLI::App& app, chosen_command& chosen) {
  auto* command =
    app.add_subcommand("new", "Make a project: an agent, its test, troupe.json and a Dockerfile");
  auto folder = std::make_shared<std::string>();
  command->add_option("name", *folder, "The folder to make; its last part is the project's name")
    ->type_name("NAME")
    ->required();
  command->add_flag("--json", chosen.json, "Print one JSON object");
  command->footer(exit_codes_help);
  command->callback([folder, &chosen] {
    chosen.run = [folder, &chosen] { return make_project(*folder, chosen.json); };
  });
}

} // namespace troupe::cli
