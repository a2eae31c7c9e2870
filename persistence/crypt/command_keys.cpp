// command_keys: the key provider that starts a program for each call.
#include "persistence/crypt/data_keys.hpp"
#include "persistence/crypt/hex_text.hpp"
#include "persistence/crypt/key_program.hpp"

#include <troupe/key_provider.hpp>
#include <troupe/limits.hpp>

#include <cstring>
#include <utility>

namespace troupe {

namespace {

constexpr int code_of_missing_key = 3;

/// A text that may hold a key, wiped at the end of its lifetime.
struct secret_text {
  std::string text;
  secret_text() = default;
  explicit secret_text(std::string taken) noexcept : text{std::move(taken)} {}
  secret_text(secret_text&&) = default;
  secret_text& operator=(secret_text&&) = delete;
  ~secret_text() { ::explicit_bzero(text.data(), text.size()); }
};

class command_keys final : public key_provider {
public:
  explicit command_keys(command_key_options options) : options_{std::move(options)} {}

  result<std::string> wrapping_id() const override {
    auto answer = call("current", {}, "");
    if (!answer)
      return answer.error();
    wrapped_key shown{answer->text, "-"};
    return is_well_formed(shown) ? result<std::string>{std::move(shown.id)} : nonsense("current");
  }

  result<wrapped_key> wrap(const secret_key& data_key, std::string_view context) const override {
    secret_text input;
    input.text.reserve(2 * (context.size() + secret_key::size) + 2);
    append_hex(context, input.text);
    input.text += '\n';
    append_hex({reinterpret_cast<const char*>(data_key.data()), secret_key::size}, input.text);
    input.text += '\n';
    auto answer = call("wrap", input.text, "");
    if (!answer)
      return answer.error();
    auto space = answer->text.find(' ');
    if (space == std::string::npos)
      return nonsense("wrap");
    wrapped_key wrapped{answer->text.substr(0, space), {}};
    auto digits = std::string_view{answer->text}.substr(space + 1);
    wrapped.bytes.resize(digits.size() / 2);
    if (!read_hex(digits, wrapped.bytes.data(), wrapped.bytes.size()) || !is_well_formed(wrapped))
      return nonsense("wrap");
    return wrapped;
  }

  result<secret_key> unwrap(const wrapped_key& wrapped, std::string_view context) const override {
    std::string input;
    append_hex(context, input);
    input += '\n' + wrapped.id + '\n';
    append_hex(wrapped.bytes, input);
    input += '\n';
    auto answer = call("unwrap", input, wrapped.id);
    if (!answer)
      return answer.error();
    secret_key key;
    if (!read_hex(answer->text, reinterpret_cast<char*>(key.data()), secret_key::size))
      return nonsense("unwrap");
    return key;
  }

  bool is_same(const key_provider& other) const noexcept override {
    const auto* program = dynamic_cast<const command_keys*>(&other);
    return program && program->options_.program == options_.program;
  }

private:
  // The first line of the answer, which must be the only one.
  result<secret_text> call(const char* what, std::string_view input,
                           const std::string& key_id) const {
    auto arguments = options_.program;
    arguments.emplace_back(what);
    auto ended = run_key_program(std::move(arguments), input, options_.timeout,
                                 limits::key_answer_bytes_max);
    if (!ended)
      return ended.error();
    secret_text answer{std::move(ended->out)};
    if (ended->code == code_of_missing_key)
      return error{errc::key_missing, (key_id.empty() ? "" : "key `" + key_id + "`: ")
                                        + "the key provider's program does not have the key: "
                                        + options_.program.front() + " " + what};
    if (ended->code != 0)
      return error{errc::storage_failed, "run the key provider's program: it ended with code "
                                           + std::to_string(ended->code) + ": "
                                           + options_.program.front() + " " + what};
    auto is_one_line = answer.text.find('\n') + 1 == answer.text.size() && !answer.text.empty();
    if (answer.text.size() > limits::key_answer_bytes_max || !is_one_line)
      return nonsense(what);
    answer.text.pop_back();
    return answer;
  }

  error nonsense(const char* what) const {
    return {errc::storage_failed,
            "run the key provider's program: its answer is malformed (not shown: it may hold a "
            "key): "
              + options_.program.front() + " " + what};
  }

  const command_key_options options_;
};

} // namespace

result<std::shared_ptr<const key_provider>> make_command_key_provider(command_key_options options) {
  auto refused = [](const char* why) {
    return error{errc::invalid_config, std::string{"make a key provider of a program: "} + why};
  };
  if (options.program.empty() || options.program.front().empty())
    return refused("the program is missing");
  if (options.timeout.count() <= 0 || options.timeout > limits::key_provider_timeout)
    return refused("the time-out is not 1 ms to limits::key_provider_timeout");
  return std::shared_ptr<const key_provider>{std::make_shared<command_keys>(std::move(options))};
}

} // namespace troupe
