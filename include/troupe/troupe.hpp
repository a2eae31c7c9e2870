// Everything but the CAF-facing headers (troupe/actor.hpp) and the nlohmann conversions
// (troupe/json.hpp).
#pragma once

#include <troupe/channel.hpp>
#include <troupe/context.hpp>
#include <troupe/control.hpp>
#include <troupe/coro.hpp>
#include <troupe/error.hpp>
#include <troupe/graph_library.hpp>
#include <troupe/limits.hpp>
#include <troupe/message.hpp>
#include <troupe/runtime.hpp>
#include <troupe/saver.hpp>
#include <troupe/state.hpp>
#include <troupe/state_graph.hpp>
#include <troupe/value.hpp>
