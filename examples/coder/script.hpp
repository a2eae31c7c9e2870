// Who plays the model where none is configured.
#pragma once

#include <troupe/agents.hpp>

namespace coder {

/// Lists the files of the folder in CODER.md, if there is none, changes its title, and counts its
/// lines; a task that ends in "run: COMMAND" runs that command instead of counting.
/// Thread: what it says follows from the conversation alone, so that any process can go on.
troupe::chat_model_ptr scripted_agent();
/// Reads the file that it is asked about, and says how long it is.
troupe::chat_model_ptr scripted_explorer();

} // namespace coder
