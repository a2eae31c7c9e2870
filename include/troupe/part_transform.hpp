// part_transform: a function over the parts of a run, of one stream or of all streams of a graph.
#pragma once

#include <functional>

namespace troupe {

struct stream_part; // troupe/runtime.hpp

/// Passes a part on, to the next transform or to the readers.
using pass_part = std::function<void(stream_part)>;

/// A function over the parts of a run, before they are numbered, kept and queued. It changes parts,
/// leaves them out or adds some: for each part it calls `pass` any number of times.
/// Order:  the first transform of a list gets the parts of the run; each other one gets the parts
///         that the transform before it passed on. The transforms of the graph (compile_options)
///         come before those of the stream.
/// Thread: the thread that made the part, the run's or a body's; one call at a time. It is short,
///         calls `pass` only before it returns, and does not wait for its run.
/// Errors: after an exception no part is streamed, and the run stops at the end of its step, as
///         after a drain. After its last part the reader gets the error: one of class error as it
///         was thrown, any other as node_failed.
/// Source: langgraph/stream/_types.py, StreamTransformer.
using part_transform = std::function<void(stream_part part, const pass_part& pass)>;

} // namespace troupe
