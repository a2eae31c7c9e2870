// Names of error codes: troupe's and the reference's.
#include <troupe/error.hpp>

#include <troupe/value.hpp>

#include <optional>
#include <stdexcept>
#include <system_error>
#include <typeinfo>
#include <variant>

namespace troupe {

namespace {

template <class... Es> bool is_a(const std::exception& thrown) noexcept {
  return (... || (dynamic_cast<const Es*>(&thrown) != nullptr));
}

bool lost_connection(const std::error_code& code) noexcept {
  return code == std::errc::connection_refused || code == std::errc::connection_reset
         || code == std::errc::connection_aborted || code == std::errc::broken_pipe;
}

} // namespace

std::string_view reference_base(const std::exception& thrown) noexcept {
  if (const auto* e = dynamic_cast<const std::system_error*>(&thrown))
    return lost_connection(e->code()) ? "ConnectionError" : "OSError";
  if (is_a<std::range_error, std::overflow_error, std::underflow_error>(thrown))
    return "ArithmeticError";
  if (is_a<std::runtime_error>(thrown))
    return "RuntimeError";
  if (is_a<std::out_of_range>(thrown))
    return "IndexError";
  if (is_a<std::logic_error, std::bad_optional_access, std::bad_variant_access>(thrown))
    return "ValueError";
  if (is_a<std::bad_cast, std::bad_typeid>(thrown))
    return "TypeError";
  return {};
}

std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::ok: return "ok";
    case errc::invalid_graph: return "invalid_graph";
    case errc::invalid_update: return "invalid_update";
    case errc::empty_input: return "empty_input";
    case errc::graph_recursion: return "graph_recursion";
    case errc::invalid_config: return "invalid_config";
    case errc::invalid_value: return "invalid_value";
    case errc::missing_key: return "missing_key";
    case errc::unknown_interrupt: return "unknown_interrupt";
    case errc::ambiguous_resume: return "ambiguous_resume";
    case errc::node_failed: return "node_failed";
    case errc::node_timeout: return "node_timeout";
    case errc::node_lost: return "node_lost";
    case errc::parent_command: return "parent_command";
    case errc::graph_drained: return "graph_drained";
    case errc::cancelled: return "cancelled";
    case errc::invalid_resume: return "invalid_resume";
    case errc::checkpoint_missing: return "checkpoint_missing";
    case errc::checkpoint_corrupt: return "checkpoint_corrupt";
    case errc::storage_full: return "storage_full";
    case errc::storage_failed: return "storage_failed";
    case errc::storage_locked: return "storage_locked";
    case errc::format_too_new: return "format_too_new";
    case errc::no_saver: return "no_saver";
    case errc::unknown_graph: return "unknown_graph";
    case errc::abi_mismatch: return "abi_mismatch";
    case errc::conflict: return "conflict";
    case errc::worker_lost: return "worker_lost";
    case errc::overloaded: return "overloaded";
    case errc::protocol_mismatch: return "protocol_mismatch";
    case errc::runtime_stopped: return "runtime_stopped";
    case errc::key_missing: return "key_missing";
  }
  return "unknown"; // a number from outside that is not a code
}

const value& error::details() const noexcept {
  static const value none;
  return details_ ? *details_ : none;
}

error&& error::with_details(value facts) && {
  details_ = facts.is_null() ? nullptr : std::make_shared<const value>(std::move(facts));
  return std::move(*this);
}

std::string reference_name(const error& err) {
  if (!err.type().empty())
    return err.type();
  switch (err.code()) {
    case errc::invalid_graph:
    case errc::invalid_config:
    case errc::no_saver: return "ValueError";
    case errc::invalid_update: return "InvalidUpdateError";
    case errc::empty_input: return "EmptyInputError";
    case errc::graph_recursion: return "GraphRecursionError";
    case errc::invalid_value: return "TypeError";
    case errc::missing_key: return "KeyError";
    case errc::unknown_interrupt: return "UnknownInterruptError";
    case errc::ambiguous_resume: return "RuntimeError";
    case errc::node_failed: return err.type();
    case errc::node_timeout: return "NodeTimeoutError";
    case errc::cancelled: return "CancelledError";
    case errc::invalid_resume: return "ValidationError";
    case errc::parent_command: return "ParentCommand";
    case errc::graph_drained: return "GraphDrained";
    default: return std::string{to_string(err.code())};
  }
}

} // namespace troupe
