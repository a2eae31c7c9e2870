#include "tests/conformance/policy_of.hpp"

namespace troupe::conformance {
namespace {

retry_policy one_policy(const script_json& declared) {
  retry_policy out;
  out.initial_interval = std::chrono::nanoseconds{0};
  out.jitter = false;
  out.max_attempts = declared.value("max_attempts", out.max_attempts);
  if (auto classes = declared.find("retry_on"); classes != declared.end())
    out.retry_on = classes->get<std::vector<std::string>>();
  return out;
}

} // namespace

retry_policy retry_of(const script_json& declared) {
  auto retry = declared.find("retry");
  if (retry == declared.end() || retry->is_null())
    return no_retry_policy;
  if (!retry->is_array())
    return one_policy(*retry);
  auto out = no_retry_policy;
  for (const auto& policy : *retry)
    out.otherwise.push_back(one_policy(policy));
  return out;
}

cache_policy cache_of(const script_json& declared) {
  auto cache = declared.find("cache");
  if (cache == declared.end() || cache->is_null())
    return no_cache_policy;
  cache_policy out;
  if (auto ttl = cache->find("ttl"); ttl != cache->end() && !ttl->is_null()) {
    std::chrono::duration<double> seconds{ttl->get<double>()};
    out.ttl = std::chrono::duration_cast<std::chrono::nanoseconds>(seconds);
  }
  return out;
}

} // namespace troupe::conformance
