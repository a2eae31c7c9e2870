// folder_memory: a memory in a folder.
#include "agents/workspace/memory_files.hpp"

#include <troupe/agents/confined_folder.hpp>

#include <filesystem>

namespace troupe {
namespace {

class files_in_folder final : public memory_files {
public:
  explicit files_in_folder(const std::filesystem::path& folder)
    : folder_{folder / "memories", {.shown_as = "/memories", .private_files = true}} {}

  entry look(const std::string& path) override {
    auto found = folder_.look(path);
    return {kind_of(found.what), found.size_bytes};
  }
  std::string read(const std::string& path) override { return folder_.read(path); }
  void write(const std::string& path, const std::string& text) override {
    folder_.write(path, text);
  }
  void remove(const std::string& path) override { folder_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { folder_.rename(from, to); }
  std::vector<std::string> list(const std::string& path) override { return folder_.list(path); }

private:
  static kind kind_of(confined_folder::kind what) {
    switch (what) {
      case confined_folder::kind::none: return kind::none;
      case confined_folder::kind::file: return kind::file;
      case confined_folder::kind::folder: return kind::folder;
      default: return kind::other;
    }
  }

  confined_folder folder_;
};

} // namespace

std::shared_ptr<memory_backend> make_folder_memory(const std::filesystem::path& folder) {
  return memory_in_files(std::make_unique<files_in_folder>(folder));
}

} // namespace troupe
