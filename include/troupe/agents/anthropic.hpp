// Features of Anthropic's models: caching of prompts, and the tools whose definitions the models
// know.
#pragma once

#include <troupe/agents/agent.hpp>
#include <troupe/agents/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

/// The reaction to a model that has no cache of prompts.
/// Errors: none.
/// Source: langchain_anthropic/middleware/prompt_caching.py.
enum class unsupported_model : std::uint8_t {
  ignore, ///< the model is asked without a cache
  warn,   ///< as ignore; readers of the `custom` stream get {"warning": text}
  raise,  ///< the run fails
};

/// How prompts are cached.
/// Shape:  `type` is "ephemeral"; `ttl`, the time to live, is "5m" or "1h".
/// Units:  `min_messages_to_cache` in messages of a request, the system message included.
/// Errors: see anthropic_prompt_caching.
/// Source: langchain_anthropic/middleware/prompt_caching.py.
struct prompt_caching_options {
  std::string type = "ephemeral";
  std::string ttl = "5m";
  std::size_t min_messages_to_cache = 0;
  unsupported_model unsupported_model_behavior = unsupported_model::warn;
};
/// Lets Anthropic cache the beginning of each request: the tools, the system message and the
/// conversation so far.
/// Shape:  `cache_control` {type, ttl} stands in the settings of the request, on the last block of
///         the system message, and on the last tool. A mark that is there already stays.
/// Errors: throws error{invalid_config} for another type or ttl. With `raise`, a run fails with
///         ValueError for a model of another provider.
/// Source: langchain_anthropic/middleware/prompt_caching.py, AnthropicPromptCachingMiddleware.
middleware anthropic_prompt_caching(prompt_caching_options options = {});

/// The settings of text_editor_tool.
/// Shape:  `allowed_prefixes`: a path must begin with one of them; empty: any path. `hidden`: as of
///         filesystem_options.
/// Units:  a larger file is refused.
/// Errors: see text_editor_tool.
/// Source: langchain_anthropic/middleware/anthropic_tools.py.
struct text_editor_options {
  std::vector<std::string> allowed_prefixes = {};
  std::size_t file_bytes_max = limits::search_file_bytes_default;
  std::vector<std::string> hidden = {};
};
/// Anthropic's text editor over the files below a folder, which no path leaves.
/// Shape:  the tool `str_replace_based_edit_tool` of type text_editor_20250728, with the arguments
///         - command: view, create, str_replace, insert
///         - path, and by command view_range, file_text, old_str, new_str, insert_line, insert_text
///         `view` numbers the lines of a file, and lists a folder. `create` replaces an existing
///         file. `str_replace` needs a text that occurs once.
/// Errors: throws error{storage_failed} when the folder can't be opened, and invalid_config for a
///         hidden name that is not a single name. A refusal is a message to the model, with status
///         error.
/// Source: langchain_anthropic/middleware/anthropic_tools.py, FilesystemClaudeTextEditorMiddleware.
tool text_editor_tool(const std::filesystem::path& folder, text_editor_options options = {});
/// The same tool as middleware.
/// Errors: as text_editor_tool.
/// Source: langchain_anthropic/middleware/anthropic_tools.py, FilesystemClaudeTextEditorMiddleware.
middleware text_editor(const std::filesystem::path& folder, text_editor_options options = {});

/// Anthropic's bash tool: as shell_tool, under the name and type that the models know.
/// Shape:  the tool `bash` of type bash_20250124, with the arguments `command` and `restart`. A
///         restart is only confirmed, because each command has a new shell. `options.name` is not
///         used.
/// Errors: as shell_tool.
/// Source: langchain_anthropic/middleware/bash.py, ClaudeBashToolMiddleware.
tool bash_tool(const std::filesystem::path& folder, shell_options options = {});
/// The same tool as middleware.
/// Errors: as shell_tool.
/// Source: langchain_anthropic/middleware/bash.py, ClaudeBashToolMiddleware.
middleware bash(const std::filesystem::path& folder, shell_options options = {});

} // namespace troupe
