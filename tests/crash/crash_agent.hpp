// The agent that is killed while one of its tools runs.
#pragma once

#include <string>

namespace crash {

/// An agent with the tools `first` and `second`, each call a task of its own, on the thread "t" of
/// a data directory; resumes the thread if there is one. `model` is for init_chat_model,
/// `url` where it is. Shape:  prints `S TOOL` when a tool begins, `T NODE RESULT` when a task is
/// durable, and at the end
///         the messages, `M JSON`. The tool named `holds` never ends.
int run_agent(const std::string& data, const std::string& holds, const std::string& model,
              const std::string& url);

} // namespace crash
