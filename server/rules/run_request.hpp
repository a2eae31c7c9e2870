// run_request: what a client asks of a run, and the run's config and input. Pure.
#pragma once

#include "server/rules/records.hpp"

#include <troupe/control.hpp>
#include <troupe/run_config.hpp>
#include <troupe/run_input.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

/// The strategies when a thread has pending or running runs.
enum class double_texting : std::uint8_t { reject, enqueue, interrupt, rollback };

/// The body of POST …/runs, …/runs/stream and …/runs/wait, checked.
/// Shape:  `kwargs`: the members that the run is carried out with, as they are stored. `metadata`:
///         of the request alone.
struct run_request {
  std::string assistant_id; ///< or a graph's name
  value kwargs;
  value metadata;
  double_texting strategy = double_texting::enqueue;
  bool creates_thread = false; ///< if_not_exists: create
  bool cancels_on_disconnect = false;
  bool keeps_thread = false; ///< on_completion: keep; of stateless runs
  bool is_followed = false;  ///< clients on any server want its parts, from the first one on
  std::int64_t after_micros = 0;
  std::string webhook = {};
};

/// Errors: throws refusal: 422 names the member; 400 for `configurable` with a `context`.
run_request read_run_request(const value& body);

std::string_view to_string(double_texting d) noexcept;

/// The modes of a run's stream, by their names on the wire, in order; "values" by default.
std::vector<std::string> wire_modes(const value& kwargs);
/// Whether the mode events is among them, which is made of parts of other modes.
bool has_events(const std::vector<std::string>& wire);
/// The engine's modes that their parts are shown of.
std::vector<stream_mode> shown_modes(const std::vector<std::string>& wire);
/// The modes that the engine streams for them: these, and those that events are made of.
std::vector<stream_mode> engine_modes(const std::vector<std::string>& wire);

/// The kwargs of a run with what its assistant adds: its config and its context below those of the
/// request.
value with_assistant(const value& kwargs, const assistant_record& assistant);

/// The run's config, and the metadata that goes to its checkpoints.
/// Errors: throws error{invalid_config}.
run_config config_of(const run_record& run);
/// The run's input: a command, an input, or nothing (go on).
/// Errors: throws error{invalid_value} for a command of another form.
run_input input_of(const value& kwargs);

/// An update of channels: an object, or a list of pairs of a channel and a value. `name` is that of
/// the member, for errors.
/// Errors: throws error{invalid_value}, which names the member.
state_update update_of(const value& given, std::string_view name);

/// The command of {update, goto, resume}.
/// Errors: throws error{invalid_value}, which names the member.
command command_of(const value& given);

/// `over` over `base`, member by member; of two maps in `configurable` and `metadata`, too.
value merged_config(const value& base, const value& over);

} // namespace troupe::server
