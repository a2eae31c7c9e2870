// Clients of an Agent Server: <troupe/client.hpp> includes all of them. Link troupe::client.
#pragma once

#include <troupe/client/agent_client.hpp>
#include <troupe/client/remote_graph.hpp>
