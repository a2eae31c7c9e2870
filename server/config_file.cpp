// config_file: the files of a configuration, put together.
#include "server/config_file.hpp"

#include <troupe/agents/embeddings.hpp>
#include <troupe/server/limits.hpp>

#include <cstdlib>
#include <fstream>

namespace troupe::server {

namespace {

namespace fs = std::filesystem;

error wrong_config(const fs::path& file, const std::string& why) {
  return {errc::invalid_config, "read " + file.string() + ": " + why};
}

std::string text_of_config(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  std::string out(limits::server_config_bytes_max + 1, '\0');
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  out.resize(static_cast<std::size_t>(in.gcount()));
  if (!in.is_open() || in.bad() || fs::is_directory(file))
    throw wrong_config(file, "it cannot be read");
  if (out.size() > limits::server_config_bytes_max)
    throw wrong_config(file, "it is too large");
  return out;
}

template <class T> T value_of(result<T> read, const fs::path& file) {
  if (!read)
    throw wrong_config(file, read.error().text());
  return std::move(*read);
}

std::optional<std::string> environment_variable(const std::string& name) {
  const char* set = std::getenv(name.c_str());
  return set ? std::optional<std::string>{set} : std::nullopt;
}

} // namespace

server_config load_server_config(const fs::path& file) {
  auto folder = fs::absolute(file).parent_path();
  auto text = text_of_config(file);
  std::vector<std::pair<std::string, std::string>> env;
  if (auto name = value_of(env_file_of(text), file); !name.empty()) {
    auto env_file = (folder / name).lexically_normal();
    env = value_of(read_env_lines(text_of_config(env_file)), env_file);
  }
  auto variable = [&env](const std::string& name) {
    auto outside = environment_variable(name);
    for (const auto& [known, given] : env)
      if (!outside && known == name)
        return std::optional{given};
    return outside;
  };
  auto out = below_folder(value_of(read_server_config(text, variable), file), folder);
  out.env.insert(out.env.end(), env.begin(), env.end());
  for (const auto& [name, given] : out.env)
    ::setenv(name.c_str(), given.c_str(), 0);
  if (auto& index = out.options.store.index) {
    embeddings_options model;
    model.dims = index->dims;
    index->embed = value_of(init_embeddings(out.embed, std::move(model)), file);
  }
  return out;
}

} // namespace troupe::server
