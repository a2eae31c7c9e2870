// The check of a write against the type of its channel.
#include "channels/typed_write.hpp"

#include "channels/kinds.hpp"

namespace troupe {

std::optional<std::string> find_misfit(const channel_spec& spec, const value& write) {
  if (!spec.check)
    return std::nullopt;
  bool folds = spec.kind == channel_kind::binary_operator || spec.kind == channel_kind::delta;
  const auto& v = folds && is_overwrite(write) ? overwritten(write) : write;
  if (spec.check->fits(v))
    return std::nullopt;
  return spec.check->why(v);
}

} // namespace troupe
