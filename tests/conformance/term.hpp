// The result of an expression of a case: a value, a command, a message, or a list or object of
// terms.
#pragma once

#include "tests/conformance/documents.hpp"

#include <troupe/control.hpp>
#include <troupe/node_body.hpp>
#include <troupe/run_input.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::conformance {

/// A value, or what no value can be: a command, a list that may hold commands, an object or a
/// message whose members have the order in which they were evaluated.
class term {
public:
  using list_type = std::vector<term>;
  using object_type = std::vector<std::pair<std::string, term>>;
  struct message_type {
    object_type members;
  };

  term() = default;
  term(value v) : rep_{std::move(v)} {}
  term(command c) : rep_{std::move(c)} {}
  term(list_type items) : rep_{std::move(items)} {}
  term(object_type members) : rep_{std::move(members)} {}
  term(message_type message) : rep_{std::move(message)} {}

  const command* as_command() const noexcept { return std::get_if<command>(&rep_); }
  const list_type* as_list() const noexcept { return std::get_if<list_type>(&rep_); }
  const object_type* as_object() const noexcept { return std::get_if<object_type>(&rep_); }
  const message_type* as_message() const noexcept { return std::get_if<message_type>(&rep_); }

  /// As a value. Errors: throws error{invalid_value} where a command stands.
  value to_value() const;
  bool is_null() const;
  /// Every value but null, false, 0, "", [] and {}; a command and a message too.
  bool is_true() const;

private:
  std::variant<value, command, list_type, object_type, message_type> rep_;
};

/// The member of that name, null if it is missing.
const term& member_of(const term::object_type& members, std::string_view name);

/// The JSON as it stands.
term term_of(const script_json& literal);
value value_of(const script_json& literal);

/// The writes of a node or an update that gave `t`, in the order of its members. Shape: null
/// writes nothing.
state_update update_of(const term& t);
/// The output of a node body that returned `t`.
node_output output_of(const term& t);
/// The input of a run: null stands for none, an object keeps the order of its channels.
run_input input_of(const term& t);
/// Where a route or a goto that gave `t` leads: a name, a send, or a list of these. Shape: null is
/// the name "", which no node has.
/// Errors: throws error{invalid_value} for anything else.
std::vector<destination> destinations_of(const term& t);

/// `t` as JSON text the way Python prints it: members in their order, `, ` and `: ` between.
std::string json_text(const term& t);

} // namespace troupe::conformance
