// The bytes of a store's records, read by LMDB alone.
#pragma once

#include <string>

namespace crash {

/// Shape:  each key and value of the newest trees, in order, with their lengths. Two stores of
///         equal contents answer every question alike.
/// Errors: std::runtime_error when LMDB cannot read the file.
std::string store_contents(const std::string& file);

} // namespace crash
