// The channel declarations that need no reducer, and the schema that holds declarations.
#include <troupe/channel.hpp>

namespace troupe {

// Made before the other globals of a program, since a graph may be one of them.
#define TROUPE_DECLARATION [[gnu::init_priority(200)]] const channel_spec
TROUPE_DECLARATION last_value{};
TROUPE_DECLARATION any_value{.kind = channel_kind::any_value};
TROUPE_DECLARATION ephemeral{.kind = channel_kind::ephemeral};
TROUPE_DECLARATION ephemeral_unguarded{.kind = channel_kind::ephemeral, .guard = false};
TROUPE_DECLARATION untracked{.kind = channel_kind::untracked};
TROUPE_DECLARATION untracked_unguarded{.kind = channel_kind::untracked, .guard = false};
TROUPE_DECLARATION topic{.kind = channel_kind::topic};
TROUPE_DECLARATION topic_accumulating{.kind = channel_kind::topic, .accumulate = true};
TROUPE_DECLARATION topic_unique{.kind = channel_kind::topic, .accumulate = true, .unique = true};
TROUPE_DECLARATION remaining_steps{.kind = channel_kind::remaining_steps};
TROUPE_DECLARATION is_last_step{.kind = channel_kind::is_last_step};
#undef TROUPE_DECLARATION

schema::schema(std::initializer_list<std::pair<std::string, channel_spec>> list) : channels{list} {}
schema::schema(const schema&) = default;
schema::schema(schema&&) noexcept = default;
schema& schema::operator=(const schema&) = default;
schema& schema::operator=(schema&&) noexcept = default;
schema::~schema() = default;

} // namespace troupe
