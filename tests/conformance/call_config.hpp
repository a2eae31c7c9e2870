// The configuration of a call, and the checkpoint that it names.
#pragma once

#include "tests/conformance/documents.hpp"
#include "tests/conformance/world.hpp"

#include <troupe/runtime.hpp>

#include <string>
#include <vector>

namespace troupe::conformance {

/// One task at a time, all at once in a shuffled run, and where the call names none the reference's
/// defaults.
/// Errors: throws unsupported, and unknown_label.
run_config config_of(const script_json& call, world& w);

/// The modes of a stream call. Errors: throws unsupported for one that is not known.
std::vector<stream_mode> modes_of(const script_json& call, world& w);

/// The checkpoints that a history call means.
history_options history_of(const script_json& call, world& w);

/// The search of a call in the store.
store_query store_query_of(const script_json& call);
namespace_query namespace_query_of(const script_json& call);

/// A member of a call or a config that holds text, "" where it is absent.
std::string text_member(const script_json& object, const char* name);
/// The same for any JSON, null where it is absent.
value value_member(const script_json& object, const char* name);

} // namespace troupe::conformance
