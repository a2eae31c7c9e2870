// The conversions of standard types that <troupe/troupe.hpp> leaves out, since they cost time to
// compile.
#pragma once

#include <troupe/uuid.hpp>
#include <troupe/value_containers.hpp>
#include <troupe/value_enum.hpp>
#include <troupe/value_path.hpp>
#include <troupe/value_time.hpp>
