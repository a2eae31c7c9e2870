// Answers as transcripts show them, with marks where labels will stand (labels.hpp).
#pragma once

#include "tests/conformance/documents.hpp"

#include <troupe/runtime.hpp>

#include <vector>

namespace troupe::conformance {

/// Values that are not JSON, in the form of the format: messages, interrupts, sends, overwrites,
/// errors …
answer_json shown(const value& v);
answer_json shown(const interrupt& question);
answer_json shown(const std::vector<interrupt>& questions);
/// The metadata of a checkpoint. Shape: a map or null.
answer_json shown_metadata(const value& metadata);
/// A checkpoint's id, null when it is empty.
answer_json shown_checkpoint(std::string_view id);

/// The answer to invoke.
answer_json shown(const run_result& result);
/// SNAPSHOT.
answer_json shown(const state_snapshot& snapshot);
/// RECORD.
answer_json shown(const checkpoint_tuple& stored);
/// [NS, MODE, PAYLOAD].
answer_json shown(const stream_part& part);

} // namespace troupe::conformance
