// python_text: plain values as Python prints them. Pure.
#pragma once

#include <troupe/value.hpp>

#include <string>

namespace troupe::server {

/// The repr of a value: {'count': 13, 'log': ['a', None]}.
/// Shape:  members in key order; kinds that JSON lacks as their JSON text.
/// Source: langgraph-api, whose results of tools/call are such texts.
std::string python_text(const value& v);

} // namespace troupe::server
