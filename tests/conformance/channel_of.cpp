#include "tests/conformance/channel_of.hpp"

namespace troupe::conformance {
namespace {

channel_spec named_channel(const std::string& name, world& w) {
  static const std::map<std::string_view, channel_spec> table{
    {"last_value", last_value},
    {"any", any_value},
    {"ephemeral", ephemeral},
    {"untracked", untracked},
    {"remaining_steps", remaining_steps},
    {"is_last_step", is_last_step},
  };
  auto found = table.find(name);
  if (found == table.end())
    w.refuse("channel " + name);
  return found->second;
}

value empty_of(const std::string& type, world& w) {
  static const std::map<std::string_view, value> table{
    {"list", value::list()}, {"int", value(0)},     {"str", value("")},
    {"dict", value::map()},  {"float", value(0.0)},
  };
  auto found = table.find(type);
  if (found == table.end())
    w.refuse("reducer of type " + type);
  return found->second;
}

const channel_spec& operator_of(const std::string& op, const std::string& type, world& w) {
  static const std::map<std::string_view, const channel_spec*> table{
    {"add", &sum}, {"mul", &multiply}, {"max", &maximum}, {"min", &minimum}, {"merge", &merge},
  };
  if (op == "add" && type == "list")
    return append;
  auto found = table.find(op);
  if (found == table.end())
    w.refuse("reducer " + op);
  return *found->second;
}

channel_spec reduced_channel(const std::string& op, const script_json& declared, world& w) {
  if (op == "messages")
    return add_messages;
  auto type = declared.value("type", std::string{"list"});
  return starting_at(operator_of(op, type, w), empty_of(type, w));
}

channel_spec delta_channel(const script_json& declared, world& w) {
  auto folding = reduced_channel(declared.at("delta").get<std::string>(), declared, w);
  return delta(folding, declared.value("snapshot_frequency", snapshot_frequency_default));
}

} // namespace

channel_spec channel_of(const script_json& declared, world& w) {
  if (declared.is_string())
    return named_channel(declared.get<std::string>(), w);
  if (declared.contains("reduce"))
    return reduced_channel(declared.at("reduce").get<std::string>(), declared, w);
  if (declared.contains("delta"))
    return delta_channel(declared, w);
  if (declared.contains("topic"))
    return declared.at("topic").at("accumulate").get<bool>() ? topic_accumulating : topic;
  if (declared.contains("ephemeral"))
    return declared.at("ephemeral").at("guard").get<bool>() ? ephemeral : ephemeral_unguarded;
  w.refuse("channel " + declared.dump());
}

} // namespace troupe::conformance
