// failure: classes and texts of exceptions.
#include "agents/messages/failure.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <typeinfo>

namespace troupe {
namespace {

std::string class_name(const std::type_info& of) {
  int status = 0;
  char* text = abi::__cxa_demangle(of.name(), nullptr, nullptr, &status);
  std::string out = status == 0 ? text : of.name();
  std::free(text);
  return out;
}

} // namespace

error failure_of(const std::exception& thrown) {
  if (const auto* e = dynamic_cast<const error*>(&thrown))
    return *e;
  const auto* named = dynamic_cast<const node_error*>(&thrown);
  if (named)
    return {errc::node_failed, thrown.what(), named->type(), thrown.what()};
  return error{errc::node_failed, thrown.what(), class_name(typeid(thrown)), thrown.what()}
    .with_base(reference_base(thrown));
}

std::string class_in_flight() {
  const auto* type = abi::__cxa_current_exception_type();
  return type ? class_name(*type) : "unknown";
}

bool ends_the_run(const error& failure) noexcept {
  switch (failure.code()) {
    case errc::graph_drained:
    case errc::cancelled:
    case errc::parent_command:
    case errc::invalid_resume:
    case errc::runtime_stopped: return true;
    default: return false;
  }
}

} // namespace troupe
