// Two processes resume one thread; the test that started them decides the order.
#pragma once

#include "tests/crash/crash_graph.hpp"

#include <string>

namespace crash {

/// Goes on with the thread "t" in `data`, or begins it: a step of three tasks, then one more, in a
/// graph within so many others. With `alone`, one task at a time. An execution notes
/// `S who node task_id` and stops at the FIFO `gates`/who.node, if there is one, until a writer has
/// closed it; a reported task notes `T who task_id`.
/// Prints what it notes of reported tasks, then how it ended: "ok" or "conflict".
int take_over(const std::string& data, const notes& to, const std::string& gates,
              const std::string& who, int depth, bool alone);

} // namespace crash
