#include "tests/fuzz/coverage.hpp"

#include <iterator>

namespace troupe::fuzz {

const char* name_of(feature f) {
  constexpr const char* names[] = {
    "parallel tasks",
    "joins",
    "deferred nodes",
    "sends",
    "sends of one node",
    "routes",
    "path maps",
    "commands",
    "parent commands",
    "rounds",
    "questions",
    "answers",
    "two questions at once",
    "breakpoints",
    "failures",
    "retries",
    "failing routes",
    "refused writes",
    "overwrites",
    "recursion limits",
    "subgraphs",
    "subgraphs two deep",
    "subgraphs per thread",
    "subgraphs without saver",
    "questions in subgraphs",
    "failures in subgraphs",
    "retries of subgraphs",
    "sends to subgraphs",
    "reducers",
    "topics",
    "delta channels",
    "ephemeral channels",
    "untracked channels",
    "input schemas",
    "output schemas",
    "node schemas",
    "go on",
    "answers by id",
    "lenient answers",
    "commands as input",
    "updates",
    "clears",
    "input updates",
    "copies",
    "looks back",
    "time travels",
    "forks",
    "durability sync",
    "durability async",
    "durability exit",
    "memory saver",
    "lmdb saver",
    "plain bodies",
    "blocking bodies",
    "coroutine bodies",
    "delayed bodies",
  };
  static_assert(std::size(names) == feature_count);
  return names[static_cast<std::size_t>(f)];
}

} // namespace troupe::fuzz
