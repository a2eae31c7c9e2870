// The memory tool's files: for any call of a model, nothing outside its folder is read or changed.
#include "tests/fuzz_bytes/target.hpp"
#include "tests/fuzz_bytes/value_of_bytes.hpp"

#include <troupe/agents/memory_tool.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <unistd.h>

namespace troupe::fuzz_bytes {

namespace {

namespace fs = std::filesystem;
constexpr std::string_view secret_text = "the-secret-text";

// A folder in memory; beside the model's part of it there is something to find.
class outside {
public:
  outside() {
    auto base = fs::is_directory("/dev/shm") ? fs::path{"/dev/shm"} : fs::temp_directory_path();
    std::string name = base / "troupe-fuzz-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr, "there is a folder");
    folder_ = name;
    fs::create_directory(folder_ / "other");
    std::ofstream{folder_ / "secret"} << secret_text;
    std::ofstream{folder_ / "other" / "secret"} << secret_text;
    memory_ = make_folder_memory(folder_);
    kept_ = seen();
  }
  ~outside() {
    memory_.reset();
    fs::remove_all(folder_);
  }
  outside(const outside&) = delete;
  outside& operator=(const outside&) = delete;

  memory_backend& memory() { return *memory_; }
  void begin() {
    for (const auto& one : fs::directory_iterator{folder_ / "memories"})
      fs::remove_all(one.path());
    fs::create_symlink(folder_, folder_ / "memories" / "up");
    fs::create_symlink("../secret", folder_ / "memories" / "link");
    fs::create_symlink(".", folder_ / "memories" / "self");
    fs::create_directory(folder_ / "memories" / "d");
    std::ofstream{folder_ / "memories" / "d" / "f"} << "one\ntwo\n";
  }
  void check() const { require(seen() == kept_, "nothing outside has changed"); }

private:
  // Names and texts of all that is not the model's.
  std::set<std::string> seen() const {
    std::set<std::string> out;
    for (auto at = fs::recursive_directory_iterator{folder_}; at != fs::end(at); ++at) {
      if (at->path() == folder_ / "memories") {
        at.disable_recursion_pending();
        out.insert("memories");
        continue;
      }
      std::string text;
      std::ifstream file;
      if (at->is_regular_file()) {
        file.open(at->path());
        text.assign(std::istreambuf_iterator<char>{file}, {});
      }
      out.insert(at->path().string() + '=' + text);
    }
    return out;
  }

  fs::path folder_;
  std::shared_ptr<memory_backend> memory_;
  std::set<std::string> kept_;
};

std::string path_of(choices& from) {
  constexpr std::array<std::string_view, 10> parts{"..", ".", "up", "link",  "self",
                                                   "d",  "f", "",   "other", "secret"};
  std::string out;
  if (auto b = from.byte(); b < 250)
    out = "/memories";
  for (auto n = from.byte() % 6; n > 0; --n) {
    auto b = from.byte();
    out += '/';
    out += b < 220 ? parts[b % parts.size()] : from.text(12);
  }
  return out;
}

std::string carry_out(memory_backend& memory, choices& from) {
  auto command = from.byte() % 6;
  auto path = path_of(from);
  switch (command) {
    case 0: return memory.view(path, std::nullopt);
    case 1: return memory.create(path, std::string{from.text(20)});
    case 2: return memory.str_replace(path, std::string{from.text(4)}, std::string{from.text(4)});
    case 3: return memory.insert(path, from.byte() % 4, std::string{from.text(8)});
    case 4: return memory.remove(path);
    default: return memory.rename(path, path_of(from));
  }
}

} // namespace

void try_bytes(std::string_view bytes) {
  static outside world;
  world.begin();
  choices from{bytes.substr(0, 400)};
  while (!from.rest().empty()) {
    try {
      auto told = carry_out(world.memory(), from);
      require(told.find(secret_text) == std::string::npos, "nothing outside is read");
    } catch (const node_error& refused) {
      require(refused.type() == "ToolError", "a refusal is a ToolError");
    } catch (const error& failed) {
      require(failed.code() == errc::storage_failed, "a failure is the file system's");
    }
  }
  world.check();
}

std::vector<std::string> seeds() {
  using bytes = std::string;
  return {bytes{"\0\0\1\2", 4},                         // view /memories/up
          bytes{"\0\0\2\2\x9", 5},                      // view /memories/up/secret
          bytes{"\1\0\2\0\x9\3abc", 8},                 // create /memories/../secret
          bytes{"\2\0\1\3\3the\1x", 9},                 // str_replace /memories/link
          bytes{"\5\0\1\5\0\2\2\5", 8},                 // rename /memories/d /memories/up/d
          bytes{"\5\0\1\2\0\1\5\0\0\1\5\4\0\1\2", 15}}; // rename, view, delete
}

} // namespace troupe::fuzz_bytes
