// What troupe says to its operator: warnings, on standard error.
#pragma once

#include <string>

namespace troupe {

void log_warning(const std::string& text);

} // namespace troupe
