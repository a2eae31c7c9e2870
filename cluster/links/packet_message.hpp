// packet_message: the one message that crosses links between processes, for CAF.
#pragma once

#include "cluster/wire/stream.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/type_id.hpp>

namespace troupe::cluster {

// Integers and bytes only: CAF 0.17 never ends writing an infinite double.
template <class Inspector> typename Inspector::result_type inspect(Inspector& f, packet& p) {
  return f(caf::meta::type_name("troupe::packet"), p.stream, p.link, p.kind, p.lane, p.last,
           p.sequence, p.expected[0], p.expected[1], p.data);
}

} // namespace troupe::cluster

// The first id leaves room for a program's own blocks and for that of troupe/actor.hpp.
CAF_BEGIN_TYPE_ID_BLOCK(troupe_cluster, first_custom_type_id + 1100)
  CAF_ADD_TYPE_ID(troupe_cluster, (troupe::cluster::packet))
CAF_END_TYPE_ID_BLOCK(troupe_cluster)
