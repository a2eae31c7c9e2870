// hosted_model: a chat model of an HTTP API, with attempts, waits, time-outs and streams.
#pragma once

#include "agents/models/model_wire.hpp"

namespace troupe {

/// Shape:  `name` is "provider:model". `key` may be empty.
chat_model_ptr hosted_model(std::string name, std::unique_ptr<model_wire> wire,
                            chat_model_options options, std::string key);

} // namespace troupe
