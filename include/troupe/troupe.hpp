// The core library: durable graphs in one process. Link troupe::core.
// The other libraries have a header each: troupe/agents.hpp, troupe/cluster.hpp,
// troupe/postgres.hpp. Other headers of core are included by need, because compilers take long with
// them: troupe/actor.hpp (CAF), troupe/json.hpp (nlohmann's JSON), troupe/value_conversions.hpp
// (the types of the standard library that fewer programs keep), troupe/messages_state.hpp,
// troupe/run_stream.hpp.
#pragma once

#include <troupe/channel.hpp>
#include <troupe/compiled_graph.hpp>
#include <troupe/completion.hpp>
#include <troupe/context.hpp>
#include <troupe/control.hpp>
#include <troupe/coro.hpp>
#include <troupe/diff.hpp>
#include <troupe/error.hpp>
#include <troupe/functional.hpp>
#include <troupe/graph_library.hpp>
#include <troupe/json_schema.hpp>
#include <troupe/key_provider.hpp>
#include <troupe/keyring.hpp>
#include <troupe/limits.hpp>
#include <troupe/message.hpp>
#include <troupe/node_body.hpp>
#include <troupe/node_cache.hpp>
#include <troupe/placement.hpp>
#include <troupe/policy.hpp>
#include <troupe/run_config.hpp>
#include <troupe/run_input.hpp>
#include <troupe/runtime.hpp>
#include <troupe/saver.hpp>
#include <troupe/state.hpp>
#include <troupe/state_graph.hpp>
#include <troupe/store.hpp>
#include <troupe/value.hpp>
#include <troupe/when_all.hpp>
