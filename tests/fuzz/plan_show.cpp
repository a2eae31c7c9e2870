// Plans as text.
#include "tests/fuzz/plan.hpp"

#include <sstream>

namespace troupe::fuzz {
namespace {

const char* name_of(channel_rule rule) {
  constexpr const char* names[] = {"last",        "any",
                                   "ephemeral",   "ephemeral_unguarded",
                                   "untracked",   "untracked_unguarded",
                                   "topic",       "topic_accumulating",
                                   "append",      "sum",
                                   "merge",       "maximum",
                                   "delta_append"};
  return names[static_cast<std::size_t>(rule)];
}

const char* name_of(call_kind kind) {
  constexpr const char* names[] = {"invoke", "go_on", "answer",       "answer_by_id", "command",
                                   "update", "clear", "input_update", "copy",         "look"};
  return names[static_cast<std::size_t>(kind)];
}

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const auto& i : items)
    out += (out.empty() ? "" : " ") + i;
  return out;
}

std::string shown(const target_design& t) {
  return (t.back ? "back:" : "") + (t.send ? "send(" + t.node + ")" : t.node);
}

std::string shown(const std::vector<target_design>& targets) {
  std::string out;
  for (const auto& t : targets)
    out += (out.empty() ? "" : ",") + shown(t);
  return "[" + out + "]";
}

std::string shown(const part_design& p) {
  std::string out = p.to_parent ? "parent_command{" : p.command ? "command{" : "update{";
  for (const auto& w : p.writes)
    out += w.channel + (w.overwrite ? ":overwrite" : "") + "+" + std::to_string(w.salt) + " ";
  if (p.command)
    out += "goto " + shown(p.targets);
  return out + "}";
}

void show_body(std::ostream& out, const body_design& b, const std::string& indent) {
  if (b.questions)
    out << ", asks " << b.questions << " (inputs of " << b.asks_of << ")";
  if (b.fails)
    out << ", fails in executions 0b" << ((b.fails & 4) ? "1" : "") << ((b.fails & 2) ? "1" : "0")
        << (b.fails & 1) << (b.fails_behind ? " behind its questions" : "");
  out << "\n";
  for (const auto& v : b.variants) {
    out << indent << "    returns";
    for (const auto& p : v)
      out << " " << shown(p);
    out << "\n";
  }
}

} // namespace

std::string show(const graph_design& g, const std::string& indent) {
  constexpr const char* keeps[] = {"inherit", "per_thread", "none"};
  std::ostringstream out;
  out << indent << "graph " << g.name << " keeps " << keeps[static_cast<int>(g.keeps)] << "\n";
  for (const auto& c : g.channels)
    out << indent << "  channel " << c.name << " " << name_of(c.rule) << "\n";
  if (!g.inputs.empty())
    out << indent << "  inputs " << joined(g.inputs) << "\n";
  if (!g.outputs.empty())
    out << indent << "  outputs " << joined(g.outputs) << "\n";
  for (const auto& n : g.nodes) {
    out << indent << "  node " << n.name << (n.defer ? " deferred" : "");
    if (n.attempts_max > 1)
      out << " tried " << n.attempts_max << " times";
    if (!n.reads.empty())
      out << " reads " << joined(n.reads);
    if (n.inner)
      out << " is\n" << show(*n.inner, indent + "    ");
    else
      show_body(out, n.body, indent);
  }
  for (const auto& e : g.edges)
    out << indent << "  edge " << joined(e.from) << " -> " << e.to << "\n";
  for (const auto& r : g.routes) {
    out << indent << "  route " << r.name << " of " << r.from << (r.labelled ? " by label:" : ":");
    for (const auto& option : r.options)
      out << " " << shown(option);
    out << (r.fails ? " fails first\n" : "\n");
  }
  if (!g.before.empty())
    out << indent << "  stops before " << joined(g.before) << "\n";
  if (!g.after.empty())
    out << indent << "  stops after " << joined(g.after) << "\n";
  return out.str();
}

std::string show(const call& c) {
  std::ostringstream out;
  out << name_of(c.kind);
  if (c.at)
    out << " at checkpoint #" << *c.at;
  if (!c.input.is_null())
    out << " " << to_json(c.input);
  if (c.plain)
    out << " answer " << to_json(*c.plain);
  for (const auto& [which, v] : c.answers)
    out << " question #" << which << ": " << to_json(v);
  if (!c.goto_.empty())
    out << " goto " << joined(c.goto_);
  if (!c.as_node.empty())
    out << " as " << c.as_node;
  out << " [" << to_string(c.durability) << ", limit " << c.recursion_limit
      << (c.strict ? "" : ", not strict");
  if (!c.before.empty())
    out << ", before " << joined(c.before);
  if (!c.after.empty())
    out << ", after " << joined(c.after);
  out << "]";
  return out.str();
}

} // namespace troupe::fuzz
