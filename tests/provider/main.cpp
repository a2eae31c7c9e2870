// fake_provider: a models' provider on 127.0.0.1, to try a program against or to measure with.
#include "tests/provider/conversation.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace {

constexpr const char* usage =
  "usage: fake_provider [--port N] [--first-ms N] [--each-ms N] [--words N] [SCRIPT.json]\n"
  "Serves POST …/messages (Anthropic) and …/chat/completions (OpenAI) on 127.0.0.1, and prints "
  "its\n"
  "address. Without a script it calls the first tool it is offered, then says what came of it; "
  "without\n"
  "tools it says what it was told, or --words words. The script's form is in conversation.hpp.\n";

struct options {
  std::uint16_t port = 0;
  troupe::test::pace pace;
  std::string script;
};

bool read_options(int argc, char** argv, options& out) {
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (!name.starts_with("--")) {
      out.script = name;
      continue;
    }
    if (++i == argc)
      return false;
    auto number = std::strtoul(argv[i], nullptr, 10);
    if (name == "--port")
      out.port = static_cast<std::uint16_t>(number);
    else if (name == "--first-ms")
      out.pace.first = std::chrono::milliseconds{number};
    else if (name == "--each-ms")
      out.pace.each = std::chrono::milliseconds{number};
    else if (name == "--words")
      out.pace.words = number;
    else
      return false;
  }
  return true;
}

troupe::result<troupe::test::responder> answers_of(const options& given) {
  if (given.script.empty())
    return troupe::test::converses(given.pace);
  std::ifstream file{given.script};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  auto script = troupe::from_json(text);
  if (!script)
    return troupe::error{script.error().code(), given.script + ": " + script.error().message()};
  return troupe::test::scripted_by(*script, given.pace);
}

} // namespace

int main(int argc, char** argv) {
  options given;
  if (!read_options(argc, argv, given)) {
    std::cerr << usage;
    return 2;
  }
  auto answers = answers_of(given);
  if (!answers) {
    std::cerr << "fake_provider: " << answers.error().message() << '\n';
    return 1;
  }
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr); // for the server's thread, too
  troupe::test::fake_provider provider{given.port};
  provider.remember(false);
  provider.always(*answers);
  std::cout << provider.url() << std::endl;
  int which = 0;
  sigwait(&ends, &which);
  return 0;
}
