// The log: troupe's messages to its operator, on standard error.
#pragma once

#include <string>

namespace troupe {

void log_warning(const std::string& text);
void log_info(const std::string& text);

} // namespace troupe
