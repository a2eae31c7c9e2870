// A store as one line of JSON: what a checker needs to know of each checkpoint.
#pragma once

#include <troupe/saver.hpp>

#include <string>

namespace crash {

/// A number for a state: equal for equal states. Control channels and empty lists do not count.
/// Shape:  a map of channels.
std::string fingerprint(const troupe::value& state);

/// All checkpoints of all threads, read in one go.
/// Shape:  a list of maps: thread, ns, id, parent, step, source, state (its fingerprint), writes (a
///         list of [task_id, task_path, [channel …]]); of the root's also `log` when it is the
///         newest.
/// Errors: as saver::list.
troupe::result<troupe::value> dump_store(troupe::saver& from);

} // namespace crash
