// writer_saver: a saver with a thread that writes. When it answers, it can be given the next
// request at once, so that it does not wait for the run.
#pragma once

#include <troupe/saver.hpp>

namespace troupe {

/// A saver whose `done` may call submit().
class writer_saver : public saver {};

} // namespace troupe
