// See run_flags.hpp.
#include "tools/troupe/run_flags.hpp"

#include "graph/graph_plan.hpp"
#include "tools/troupe/number_checks.hpp"
#include "tools/troupe/parts.hpp"
#include "tools/troupe/terminal.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace troupe::cli {

namespace {

error wrong_flag(const std::string& flag, const std::string& what) {
  return {errc::invalid_value, flag + ": " + what};
}

// The text of FILE, or of standard input for `-`.
std::string read_text(const std::string& flag, const std::string& file) {
  auto fail = [&] {
    throw wrong_flag(flag, "can't read " + file + ": " + std::generic_category().message(errno));
  };
  auto close = [](std::FILE* f) { f != stdin ? std::fclose(f) : 0; };
  std::unique_ptr<std::FILE, decltype(close)> in{
    file == "-" ? stdin : std::fopen(file.c_str(), "rb"), close};
  if (!in)
    fail();
  std::string out;
  std::array<char, 65536> block;
  for (std::size_t got = 1; got > 0 && out.size() <= limits::json_size_bytes_max;) {
    got = std::fread(block.data(), 1, block.size(), in.get());
    out.append(block.data(), got);
  }
  if (std::ferror(in.get()))
    fail();
  return out;
}

value map_of(const std::string& flag, const std::string& text) {
  auto out = parse_text_flag(flag, text);
  if (!out.is_map())
    throw wrong_flag(flag, "a JSON object is expected: " + one_line(text));
  return out;
}

// KEY=VALUE, where VALUE is JSON or a text, or a JSON object of several.
value configurable_of(const std::vector<std::string>& given) {
  auto out = value::map();
  for (const auto& text : given) {
    if (text.starts_with('{')) {
      auto members = map_of("--configurable", text);
      for (const auto& e : members.entries())
        out = out.with(std::string{e.key()}, e.val);
      continue;
    }
    auto at = text.find('=');
    if (at == std::string::npos || at == 0)
      throw wrong_flag("--configurable", "KEY=VALUE or a JSON object is expected: " + text);
    auto json = from_json(text.substr(at + 1));
    out = out.with(text.substr(0, at), json ? *json : value(text.substr(at + 1)));
  }
  return out;
}

// Where a text stops being UTF-8.
std::optional<std::size_t> first_not_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    auto c = static_cast<unsigned char>(text[i]);
    std::size_t size = c < 0x80                ? 1
                       : c >= 0xc2 && c < 0xe0 ? 2
                       : c >= 0xe0 && c < 0xf0 ? 3
                       : c >= 0xf0 && c < 0xf5 ? 4
                                               : 0;
    auto rest = text.substr(i, size);
    if (size == 0 || rest.size() < size || !std::ranges::all_of(rest.substr(1), [](char b) {
          return (static_cast<unsigned char>(b) & 0xc0) == 0x80;
        }))
      return i;
    i += size;
  }
  return std::nullopt;
}

bool is_plain(const value& schema) {
  constexpr std::array plain{"string", "integer", "number", "boolean"};
  return std::ranges::any_of(plain, [&](const char* t) { return schema["type"] == value(t); });
}

// Whether a schema has a type alone, and the value is of that type: then the check of
// troupe::agents is not needed.
bool is_of_type(const value& schema, const value& v) {
  const auto& type = schema["type"];
  return schema.size() == 1
         && ((type == value("string") && v.is_string()) || (type == value("integer") && v.is_int())
             || (type == value("number") && v.is_number())
             || (type == value("boolean") && v.is_bool()));
}

std::string known_mode(const std::string& name) {
  auto mode = parse_stream_mode(name);
  return mode ? "" : mode.error().message();
}

std::string stream_modes_text() {
  std::string out;
  for (int i = 0; i <= static_cast<int>(stream_mode::tools); ++i)
    out += (out.empty() ? "" : ", ") + std::string{to_string(static_cast<stream_mode>(i))};
  return out;
}

// Fails for a member that is not one of `known`, and for a plain member of another kind.
void check_members(const std::string& flag, const compiled_graph& graph, const value& input,
                   const std::vector<std::string>& known) {
  const auto& plan = *graph.plan();
  if (!input.is_map())
    throw wrong_flag(flag,
                     "a JSON object of channels is expected, got " + one_line(to_json(input)));
  // A run would drop what the graph does not know; at a keyboard that is a typo.
  auto members = graph.input_jsonschema()["properties"];
  for (const auto& e : input.entries()) {
    std::string name{e.key()};
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::string list;
      for (const auto& k : known)
        list += (list.empty() ? "`" : ", `") + k + "`";
      throw wrong_flag(flag, "graph " + graph.name() + " has no channel `" + name
                               + "` to write; it has " + list);
    }
    // A reducer may take updates of another kind than its channel's.
    auto channel = plan.find_channel(name);
    const auto& schema = members[name];
    if (channel == no_index || plan.channel(channel).spec.kind != channel_kind::last_value
        || !is_plain(schema) || is_of_type(schema, e.val))
      continue;
    if (auto wrong = load_agents().check_schema(schema, e.val); !wrong.empty())
      throw wrong_flag(flag,
                       "channel `" + name + "` of graph " + graph.name() + ": " + wrong[0].message);
  }
}

} // namespace

value parse_flag(const std::string& flag, const std::string& text) {
  auto parsed = from_json(text);
  if (parsed)
    return *parsed;
  if (auto at = first_not_utf8(text))
    throw wrong_flag(flag, "JSON must be UTF-8, but byte " + std::to_string(*at + 1) + " is not");
  auto why = flag + ": " + parsed.error().message();
  bool is_word = !text.empty() && text.find_first_of("{}[]\"'\\,:") == std::string::npos
                 && std::ranges::all_of(text, [](unsigned char c) { return c >= ' ' && c < 0x7f; });
  if (is_word)
    why += "; a text needs quotes of its own: " + flag + ' ' + shell_word(to_json(value(text)));
  throw error{parsed.error().code(), why};
}

value parse_text_flag(const std::string& flag, const std::string& text) {
  bool is_file = text.starts_with('@');
  return parse_flag(flag, is_file ? read_text(flag, text.substr(1)) : text);
}

void check_input(const std::string& flag, const compiled_graph& graph, const value& input) {
  if (!graph.plan()->single && !graph.plan()->functional) // else it is one bare value
    check_members(flag, graph, input, graph.inputs());
}

void check_update(const std::string& flag, const compiled_graph& graph, const value& update) {
  std::vector<std::string> known;
  for (const auto& c : graph.plan()->channels)
    if (c.state)
      known.push_back(c.name);
  check_members(flag, graph, update, known);
}

value run_flags::answer() const {
  return parse_flag("--resume", resume);
}

value run_flags::input_for(const compiled_graph& to) const {
  auto out = parse_text_flag("--input", input);
  check_input("--input", to, out);
  return out;
}

run_config run_flags::config() const {
  run_config out{.thread_id = thread,
                 .checkpoint_id = checkpoint,
                 .durability = parse_durability(durability).value(),
                 .store_history = parse_store_history(store_history).value(),
                 .recursion_limit = recursion_limit};
  if (!metadata.empty())
    out.metadata = map_of("--metadata", metadata);
  if (!configurable.empty())
    out.configurable = configurable_of(configurable);
  if (!context.empty())
    out.context = parse_text_flag("--context", context);
  return out;
}

std::shared_ptr<run_flags> add_run_flags(CLI::App& command) {
  auto out = std::make_shared<run_flags>();
  auto& o = *out;
  command.add_option("GRAPH", o.graph, "A built-in graph, or path/to/lib.so:name")->required();
  auto* input = command.add_option(
    "--input", o.input,
    "The input, @FILE, or @- for standard input. It starts the thread, even one that had not "
    "finished. Without it, only a thread that had not finished is resumed");
  input->type_name("JSON|@FILE");
  auto* once =
    command.add_flag("--once", o.once,
                     "For repeated commands: the input starts a new thread, a thread that had not "
                     "finished resumes, and the result of a finished one is printed");
  once->needs(input);
  auto* thread = command.add_option("--thread", o.thread, "The thread to keep the run on");
  thread->type_name("ID")->check(thread_name);
  once->needs(thread);
  o.place = add_kept_place(command, std::string{"Where threads are kept; "} + data_dir_default
                                      + " when only --thread is given, nowhere without both");
  command.add_option("--durability", o.durability, "When progress is stored: sync, async or exit")
    ->type_name("MODE")
    ->check(CLI::IsMember({"sync", "async", "exit"}))
    ->capture_default_str();
  command
    .add_option("--store-history", o.store_history,
                "The checkpoints that stay: all, or latest_only")
    ->type_name("WHICH")
    ->check(CLI::IsMember({"all", "latest_only"}))
    ->capture_default_str();
  command
    .add_option("--stream", o.stream,
                "The modes to print: " + stream_modes_text() + "; several with commas")
    ->type_name("MODES")
    ->delimiter(',')
    ->allow_extra_args(false)
    ->check(known_mode);
  auto* resume = command.add_option("--resume", o.resume,
                                    "The answer to the question the thread waits for");
  resume->type_name("JSON")->excludes(input);
  command
    .add_option("--checkpoint", o.checkpoint,
                "Run again from this checkpoint of --thread, as another branch; history lists "
                "them")
    ->type_name("ID")
    ->needs(thread)
    ->excludes(once);
  command
    .add_option("--context", o.context, "The run's context, which bodies read; it is not stored")
    ->type_name("JSON|@FILE");
  command
    .add_option("--configurable", o.configurable,
                "The run's configurable values, which bodies read; may be repeated")
    ->type_name("KEY=VALUE|JSON")
    ->allow_extra_args(false);
  command.add_option("--metadata", o.metadata, "Stored with each checkpoint of the run")
    ->type_name("JSON");
  command
    .add_option("--recursion-limit", o.recursion_limit,
                "Most super-steps of a run; default: the limit of the graph")
    ->type_name("N")
    ->check(positive_number);
  command.add_flag("--actors", o.actors, "Print the live actors whenever they change");
  o.home = add_home_flags(command);
  return out;
}

} // namespace troupe::cli
