// report: the report as Markdown.
#pragma once

#include "digest.hpp"

#include <string>

namespace digest {

/// The report on `s`. Equal facts give equal text, in whatever order they came.
std::string write_report(const state& s);

/// The first lines of a report, for a question.
std::string excerpt_of(const std::string& report);

} // namespace digest
