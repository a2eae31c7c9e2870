// script: models without a network, for use when none is configured.
#pragma once

#include <troupe/agents.hpp>

namespace coder {

/// Lists the files of the folder in CODER.md, if that is missing, changes its title, and counts its
/// lines. A task that ends in "run: COMMAND" runs that command instead of counting.
/// Thread: answers follow from the conversation alone, so any process can resume it.
troupe::chat_model_ptr scripted_agent();
/// Reads the file in the question, and reports its number of lines.
troupe::chat_model_ptr scripted_explorer();

} // namespace coder
