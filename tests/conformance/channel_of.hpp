// The channels a case's graph declares.
#pragma once

#include "tests/conformance/documents.hpp"
#include "tests/conformance/world.hpp"

#include <troupe/channel.hpp>

namespace troupe::conformance {

/// The channel that a CHANNEL of the format declares.
/// Errors: throws unsupported for a kind that is not known.
channel_spec channel_of(const script_json& declared, world& w);

} // namespace troupe::conformance
