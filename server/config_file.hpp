// config_file: the configuration of a server, read from its file.
#pragma once

#include "server/rules/server_config.hpp"

#include <filesystem>

namespace troupe::server {

/// The configuration of a file: paths are below its folder, variables of its env file are in `env`,
/// and the index of its store has its function. Variables that the environment lacks are set: those
/// that it has are stronger than the file's.
/// Blocks: on the disk.
/// Thread: no other one may read the environment meanwhile.
/// Errors: throws error{invalid_config} that names the file: it or its env file can't be read; as
///         read_server_config; as init_embeddings.
server_config load_server_config(const std::filesystem::path& file);

} // namespace troupe::server
