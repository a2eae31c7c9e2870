// system: whether the server is there, and what it is.
#pragma once

#include "server/api/rooms.hpp"

namespace troupe::server {

void add_system(router& to, const rooms& with);

} // namespace troupe::server
