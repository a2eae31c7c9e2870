// client: a plain HTTP connection to a server on this machine, for many at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::bench {

struct answer {
  int status = 0;
  std::string body;
};

/// One connection that is kept between requests. Thread: one at a time.
/// Errors: throws std::runtime_error when the connection breaks.
class connection {
public:
  explicit connection(std::uint16_t port);
  connection(connection&& other) noexcept;
  connection(const connection&) = delete;
  ~connection();

  /// Asks and reads the whole answer. Blocks: until then.
  answer ask(std::string_view method, std::string_view target, std::string_view body = {});
  /// The same, where another status than 2xx is an error.
  std::string expect(std::string_view method, std::string_view target, std::string_view body = {});

  /// Asks for a stream of events, of which lines are read one at a time.
  void open(std::string_view method, std::string_view target, std::string_view body = {});
  /// The next line without its end. Blocks: until it is there.
  std::string line();

private:
  void send(std::string_view method, std::string_view target, std::string_view body);
  std::string head();
  void read_some();
  std::string taken(std::size_t bytes);

  int socket_;
  std::string read_;
};

} // namespace troupe::bench
