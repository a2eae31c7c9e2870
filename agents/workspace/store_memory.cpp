// store_memory: a memory in a store: an item for each file, under its path.
//
// Invariants:
//  - a folder exists while a file is in it; no file lies below another one.
//  - the changes of one command are stored in one batch.
#include "agents/workspace/memory_files.hpp"

#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

constexpr const char* text_member = "text";
constexpr std::size_t item_bytes = 64; // an upper bound of an item's size without its text

[[noreturn]] void refuse_key(std::string text) {
  throw node_error{"ToolError", std::move(text)};
}

std::string as_shown(const std::string& path) {
  return path.empty() || path.starts_with('/') ? "/memories" + path : "/memories/" + path;
}

// The key of a path; empty for the root.
std::string key_of(const std::string& path) {
  std::string out;
  std::size_t names = 0;
  for (std::string_view rest{path}; !rest.empty();) {
    auto name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name == ".." || name.find('\0') != name.npos)
      refuse_key("Path " + as_shown(path) + " would escape /memories directory");
    if (name.empty() || name == ".")
      continue;
    out += (out.empty() ? "" : "/") + std::string{name};
    ++names;
  }
  if (names > limits::value_depth_max)
    refuse_key("Path " + as_shown(path).substr(0, limits::store_key_bytes_max) + "… is too deep");
  if (out.size() > limits::store_key_bytes_max)
    refuse_key("Path " + as_shown(path).substr(0, limits::store_key_bytes_max) + "… is too long");
  return out;
}

class files_in_store final : public memory_files {
public:
  files_in_store(std::shared_ptr<store> where, store_namespace space)
    : store_{std::move(where)},
      space_{std::move(space)} {}

  entry look(const std::string& path) override {
    auto key = key_of(path);
    if (auto item = find(key))
      return {kind::file, text_of(*item).size()};
    return {key.empty() || !below(key).empty() ? kind::folder : kind::none, 0};
  }

  std::string read(const std::string& path) override {
    auto key = key_of(path);
    if (auto item = find(key))
      return text_of(*item);
    if (key.empty() || !below(key).empty())
      refuse_key("The path " + as_shown(path) + " is not a file.");
    refuse_key("The path " + as_shown(path) + " does not exist. Please provide a valid path.");
  }

  void write(const std::string& path, const std::string& text) override {
    auto key = key_of(path);
    if (text.size() > limits::value_size_bytes_max - item_bytes)
      refuse_key("File " + as_shown(path) + " is too large.");
    if (key.empty() || !below(key).empty())
      refuse_key("The path " + as_shown(path) + " is not a file.");
    check_folders(key, path);
    store_->put(put_of(key, value::map({{text_member, text}}))).value();
  }

  void remove(const std::string& path) override {
    auto key = key_of(path);
    if (key.empty())
      refuse_key("Cannot delete the /memories directory itself");
    auto gone = at_or_below(key);
    if (gone.empty())
      refuse_key("The path " + as_shown(path) + " does not exist");
    std::vector<store_op> ops;
    for (const auto& item : gone)
      ops.emplace_back(put_of(item.key, nullptr));
    store_->batch(ops).value();
  }

  void rename(const std::string& from, const std::string& to) override {
    auto old_key = key_of(from);
    auto new_key = key_of(to);
    if (old_key.empty() || new_key.empty())
      refuse_key("Cannot rename the /memories directory itself");
    auto moved = at_or_below(old_key);
    if (moved.empty())
      refuse_key("The path " + as_shown(from) + " does not exist");
    if (!at_or_below(new_key).empty())
      refuse_key("The destination " + as_shown(to) + " already exists");
    if (new_key.starts_with(old_key + '/'))
      refuse_key("Cannot move " + as_shown(from) + " into itself");
    check_folders(new_key, to);
    std::vector<store_op> ops;
    for (auto& item : moved) {
      ops.emplace_back(put_of(item.key, nullptr));
      ops.emplace_back(put_of(key_of(new_key + item.key.substr(old_key.size())), item.value));
    }
    store_->batch(ops).value();
  }

  std::vector<std::string> list(const std::string& path) override {
    auto key = key_of(path);
    auto from = key.empty() ? std::size_t{0} : key.size() + 1;
    std::set<std::string> names;
    for (const auto& item : below(key)) {
      auto rest = std::string_view{item.key}.substr(from);
      if (!rest.starts_with('.'))
        names.emplace(rest.substr(0, rest.find('/')));
    }
    return {names.begin(), names.end()};
  }

private:
  store_put put_of(std::string key, value v) const {
    store_put out;
    out.space = space_;
    out.key = std::move(key);
    out.value = std::move(v);
    out.index = std::vector<std::string>{}; // not searchable by meaning, since an empty file has
                                            // no text
    return out;
  }

  static std::string text_of(const store_item& item) {
    const auto& text = item.value[text_member];
    return text.is_string() ? text.as<std::string>() : std::string{};
  }

  std::optional<store_item> find(const std::string& key) const {
    return key.empty() ? std::nullopt : store_->get(space_, key).value();
  }

  // The files in a folder, at any depth.
  std::vector<store_item> below(const std::string& key) const {
    std::vector<store_item> out;
    store_query query;
    query.prefix = space_;
    query.limit = limits::store_results_max;
    for (;;) {
      auto found = store_->search(query).value();
      query.offset += found.size();
      bool last = found.size() < query.limit;
      std::erase_if(found, [&](const store_item& item) {
        return item.space != space_ || !(key.empty() || item.key.starts_with(key + '/'));
      });
      std::ranges::move(found, std::back_inserter(out));
      if (last)
        return out;
    }
  }

  std::vector<store_item> at_or_below(const std::string& key) const {
    auto out = below(key);
    if (auto item = find(key))
      out.push_back(std::move(*item));
    return out;
  }

  // Refuses a path of which a folder is a file.
  void check_folders(const std::string& key, const std::string& path) const {
    for (auto end = key.find('/'); end != key.npos; end = key.find('/', end + 1))
      if (find(key.substr(0, end)))
        refuse_key("Part of the path " + as_shown(path) + " is not a directory.");
  }

  std::shared_ptr<store> store_;
  store_namespace space_;
};

} // namespace

std::shared_ptr<memory_backend> make_store_memory(std::shared_ptr<store> where,
                                                  store_namespace space) {
  if (!where)
    throw error{errc::invalid_config, "make a memory in a store: the store is missing"};
  return memory_in_files(std::make_unique<files_in_store>(std::move(where), std::move(space)));
}

} // namespace troupe
