// key_rotation: wraps the data keys of a data directory again, one file after the other.
#include "persistence/lmdb/data_files.hpp"
#include "persistence/lmdb/lmdb_env.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace troupe {

error open_with_other_keys(std::string_view what, const std::string& path) {
  std::string text{"open the "};
  text.append(what).append(": this process has it open with other keys: ").append(path);
  return {errc::invalid_config, std::move(text)};
}

namespace {

using rewrap_file_key = result<std::optional<bool>> (*)(const std::string& dir,
                                                        std::shared_ptr<const key_provider> keys);

struct file_with_a_key {
  std::string_view name;
  rewrap_file_key rewrap;
};

constexpr file_with_a_key files[] = {{store_file_name, rewrap_store_key},
                                     {cache_file_name, rewrap_cache_key}};

result<void> rotate_file(const file_with_a_key& file, const std::filesystem::path& dir,
                         const std::shared_ptr<const key_provider>& keys, rotation_report& all) {
  auto rewrapped = file.rewrap(dir.string(), keys);
  if (!rewrapped)
    return rewrapped.error();
  all.files += *rewrapped ? 1 : 0;
  all.rewrapped += rewrapped->value_or(false) ? 1 : 0;
  return {};
}

} // namespace

result<rotation_report> rotate_store_keys(const std::string& dir,
                                          std::shared_ptr<const key_provider> keys) {
  if (!keys)
    return troupe::error{errc::invalid_config, "rotate the store's keys: the key ring is missing"};
  std::error_code failed;
  auto path = std::filesystem::canonical(dir, failed);
  if (failed)
    return lmdb_error(failed.value(), "open the data directory", dir);
  auto has = [&path](std::string_view name) {
    std::error_code ignored;
    return std::filesystem::exists(path / name, ignored);
  };
  rotation_report all;
  if (has(saver_file_name) || !(has(store_file_name) || has(cache_file_name))) {
    auto saver = open_existing_saver(path, keys);
    auto threads = saver ? (*saver)->rewrap_keys() : saver.error();
    if (!threads)
      return threads;
    all = *threads;
  }
  for (const auto& file : files)
    if (has(file.name))
      if (auto ok = rotate_file(file, path, keys, all); !ok)
        return ok.error();
  return all;
}

} // namespace troupe
