// store_backend: checks of items that a backend has read.
#include "persistence/store/store_backend.hpp"

#include "persistence/record/timestamp_text.hpp"

namespace troupe {

bool times_fit(const stored_item& item) noexcept {
  constexpr auto end_max = timestamp_micros_max
                           + std::chrono::microseconds{limits::store_ttl_max}.count();
  auto is_time = [](std::int64_t micros) {
    return micros >= timestamp_micros_min && micros <= timestamp_micros_max;
  };
  if (!is_time(item.created) || !is_time(item.updated))
    return false;
  if (item.ttl == store_forever)
    return item.end == store_no_end;
  return item.ttl > store_ttl::zero() && item.ttl <= limits::store_ttl_max && item.end <= end_max;
}

} // namespace troupe
