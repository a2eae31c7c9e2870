// wire_form: values as clients of a server read them. Pure.
#pragma once

#include <troupe/value.hpp>

namespace troupe::server {

/// client_form(), with all members that messages of LangChain have, also when they are empty.
/// Source: langchain_core/messages, BaseMessage.model_dump.
value wire_form(const value& v);

} // namespace troupe::server
