// troupe dev: serves graphs while their author works on them. A library that is built anew is
// served for new runs; runs in flight keep the library that they began with.
#include "server/reload/file_watch.hpp"
#include "server/reload/rebuilt_library.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/server/definitions.hpp"
#include "tools/troupe/server/serving.hpp"

#include <troupe/server/limits.hpp>

#include <CLI/CLI.hpp>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

namespace troupe::cli {

namespace {

namespace fs = std::filesystem;

std::string text_of_file(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// Reports what became of a changed file: a line for a person, or a JSON object.
class change_report {
public:
  explicit change_report(bool json) : json_{json} {}

  void reloaded(const server::rebuilt_library& library) const {
    std::string names;
    std::vector<value> list;
    for (const auto& graph : library.graphs()) {
      names += (names.empty() ? "" : ", ") + graph.served_as;
      list.emplace_back(graph.served_as);
    }
    if (json_)
      print_line(json_line("reloaded", {{"library", to_json(value(library.file().string()))},
                                        {"graphs", to_json(value::list(std::move(list)))}}));
    else
      std::cout << "reloaded " << library.file().string() << ": new runs of " << names << " use it"
                << std::endl;
  }

  void not_reloaded(const server::rebuilt_library& library, const error& why) const {
    if (json_)
      print_line(json_line("not_reloaded", {{"library", to_json(value(library.file().string()))},
                                            {"code", to_json(value(to_string(why.code())))},
                                            {"message", to_json(value(why.message()))}}));
    else
      std::cerr << "not reloaded: " << why.message()
                << "; the build before is still served, and the next change is tried" << std::endl;
  }

  void needs_restart(const fs::path& file) const {
    if (json_)
      print_line(json_line("restart_needed", {{"file", to_json(value(file.string()))}}));
    else
      std::cout << "changed: " << file.string() << ": restart troupe dev to use it" << std::endl;
  }

private:
  bool json_;
};

// The files that a server in development depends on.
class developed_files {
public:
  developed_files(const serve_settings& settings, bool json) : report_{json} {
    for (const auto& file : {settings.config, settings.env_file})
      if (!file.empty())
        texts_.emplace(absolute(file), text_of_file(file));
    std::map<fs::path, std::vector<server::exported_graph>> exported;
    for (const auto& [name, place] : settings.graphs)
      if (auto colon = place.rfind(':'); colon != place.npos)
        exported[absolute(place.substr(0, colon))].push_back({place.substr(colon + 1), name});
    for (auto& [file, graphs] : exported)
      libraries_.try_emplace(file, file, std::move(graphs));
  }

  /// The graphs of all libraries, by their names in the server.
  /// Errors: throws error, as rebuilt_library::load.
  std::map<std::string, compiled_graph> load() {
    std::map<std::string, compiled_graph> out;
    for (auto& [file, library] : libraries_)
      if (auto graphs = library.load().value())
        out.insert(graphs->begin(), graphs->end());
    return out;
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& [file, library] : libraries_)
      out.push_back(file);
    for (const auto& [file, text] : texts_)
      out.push_back(file);
    return out;
  }

  void take_change(const fs::path& file, agent_server& serving) {
    if (auto library = libraries_.find(file); library != libraries_.end())
      reload(library->second, serving);
    else if (auto text = text_of_file(file); text != std::exchange(texts_.at(file), text))
      report_.needs_restart(file);
  }

private:
  static fs::path absolute(const fs::path& file) { return fs::absolute(file).lexically_normal(); }

  // After a build that failed, one that is served already is news, too.
  void reload(server::rebuilt_library& library, agent_server& serving) {
    auto& is_behind = behind_[library.file()];
    try {
      auto graphs = library.load().value();
      if (graphs)
        for (const auto& [name, graph] : *graphs)
          serving.replace_graph(name, graph);
      if (graphs || is_behind)
        report_.reloaded(library);
      is_behind = false;
    } catch (const error& why) {
      is_behind = true;
      report_.not_reloaded(library, why);
    }
  }

  const change_report report_;
  std::map<fs::path, server::rebuilt_library> libraries_;
  std::map<fs::path, bool> behind_;       // libraries whose newest build could not be loaded
  std::map<fs::path, std::string> texts_; // of the configuration's files
};

int dev(const serve_flags& o, bool json) {
  stop_signals signals;
  auto settings = o.settings();
  developed_files files{settings, json};
  auto loaded = files.load();
  for (const auto& [name, place] : settings.graphs) {
    auto found = loaded.find(name);
    settings.options.graphs.emplace_back(name,
                                         found == loaded.end() ? find_graph(place) : found->second);
  }
  agent_server serving{settings.options};
  server::file_watch watch{files.files(), limits::server_reload_quiet,
                           [&](const fs::path& file) { files.take_change(file, serving); }};
  return run_until_stopped(signals, serving, [&] {
    print_addresses(settings, serving, json);
    if (!json)
      for (const auto& file : files.files())
        std::cout << "  watches " << file.string() << std::endl;
  });
}

} // namespace

void define_dev(CLI::App* command, chosen_command& chosen) {
  auto o = add_serve_flags(*command);
  command->remove_option(command->get_option("--new-api-key"));
  command->add_flag("--json", chosen.json,
                    "Print a JSON object when it listens, and for each change");
  command->footer(
    std::string{
      "Build a library again, and new runs use it; runs in flight end with the build that\n"
      "they began with. A build that cannot be loaded is reported, and the one before is\n"
      "still served. A changed configuration needs a restart.\n"
      "  cmake --build build            # in another terminal\n"}
    + exit_codes_help);
  command->callback([o, &chosen] { chosen.run = [o, &chosen] { return dev(*o, chosen.json); }; });
}

} // namespace troupe::cli
