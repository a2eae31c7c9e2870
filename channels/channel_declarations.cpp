// The channel declarations that need no reducer, and the schema that holds declarations.
#include <troupe/channel.hpp>

namespace troupe {

// Made before the other globals of a program, since a graph may be one of them.
[[gnu::init_priority(200)]] const channel_spec last_value{};
[[gnu::init_priority(200)]] const channel_spec any_value{.kind = channel_kind::any_value};
[[gnu::init_priority(200)]] const channel_spec ephemeral{.kind = channel_kind::ephemeral};
[[gnu::init_priority(200)]] const channel_spec ephemeral_unguarded{.kind = channel_kind::ephemeral,
                                                                   .guard = false};
[[gnu::init_priority(200)]] const channel_spec untracked{.kind = channel_kind::untracked};
[[gnu::init_priority(200)]] const channel_spec untracked_unguarded{.kind = channel_kind::untracked,
                                                                   .guard = false};
[[gnu::init_priority(200)]] const channel_spec topic{.kind = channel_kind::topic};
[[gnu::init_priority(200)]] const channel_spec topic_accumulating{.kind = channel_kind::topic,
                                                                  .accumulate = true};
[[gnu::init_priority(200)]] const channel_spec topic_unique{
  .kind = channel_kind::topic, .accumulate = true, .unique = true};
[[gnu::init_priority(200)]] const channel_spec remaining_steps{
  .kind = channel_kind::remaining_steps};
[[gnu::init_priority(200)]] const channel_spec is_last_step{.kind = channel_kind::is_last_step};

schema::schema(std::initializer_list<std::pair<std::string, channel_spec>> list) : channels{list} {}
schema::schema(const schema&) = default;
schema::schema(schema&&) noexcept = default;
schema& schema::operator=(const schema&) = default;
schema& schema::operator=(schema&&) noexcept = default;
schema::~schema() = default;

} // namespace troupe
