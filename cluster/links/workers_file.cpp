// workers_file: reads a file of workers' addresses.
#include "cluster/links/workers_file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace troupe::cluster {

namespace fs = std::filesystem;

result<std::vector<endpoint>> parse_workers(const std::string& text) {
  std::vector<endpoint> out;
  std::istringstream lines{text};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos)
      continue;
    auto one = to_endpoint(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
    if (!one)
      return error{one.error().code(),
                   "line " + std::to_string(number) + ": " + one.error().message()};
    out.push_back(std::move(*one));
  }
  return out;
}

result<std::vector<endpoint>> workers_file::read() {
  if (path_.empty())
    return std::vector<endpoint>{};
  auto wrong = [this](const std::string& why) {
    return error{errc::invalid_config, "read the workers of " + path_.string() + ": " + why};
  };
  std::error_code failure;
  when_ = fs::last_write_time(path_, failure);
  if (failure)
    return wrong(failure.message());
  if (fs::file_size(path_, failure) > limits::workers_file_bytes_max || failure)
    return wrong(failure ? failure.message() : "the file is larger than workers_file_bytes_max");
  std::ifstream in{path_, std::ios::binary};
  std::ostringstream text;
  text << in.rdbuf();
  if (!in)
    return wrong("the file cannot be read");
  auto out = parse_workers(text.str());
  if (!out)
    return wrong(out.error().message());
  return out;
}

std::optional<result<std::vector<endpoint>>> workers_file::changed() {
  if (path_.empty())
    return std::nullopt;
  std::error_code failure;
  auto when = fs::last_write_time(path_, failure);
  if (failure || when == when_) // a file is missing for a moment while it is replaced
    return std::nullopt;
  return read();
}

} // namespace troupe::cluster
