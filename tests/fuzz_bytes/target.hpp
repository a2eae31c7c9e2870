// A fuzz target is a file that defines the two functions below; main.cpp joins it to libFuzzer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::fuzz_bytes {

/// Reads bytes of any kind and checks with require() what is promised of them.
void try_bytes(std::string_view bytes);

/// Well-formed inputs to begin with; names nothing twice.
std::vector<std::string> seeds();

/// Ends the process when a promise is broken; libFuzzer then keeps the input.
void require(bool kept, const char* promise);

/// For the rest of this input, `bytes` more may be in use than what all targets may have.
void allow_memory(std::size_t bytes);

} // namespace troupe::fuzz_bytes
