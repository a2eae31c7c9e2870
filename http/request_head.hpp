// request_head: the rules for the raw bytes of a request's head, before they are parsed. Pure.
//
// The parser takes forms that other servers read in another way. Where a proxy is in front, a
// difference hides a request in the body of another one, so such forms are refused.
#pragma once

#include <cstddef>
#include <string_view>

namespace troupe {

/// The size of the head that the bytes begin with, its empty line included; 0 when it is
/// incomplete. Shape:  `known`: bytes of an earlier call, which returned 0.
std::size_t size_of_head(std::string_view bytes, std::size_t known = 0) noexcept;

/// Whether the bytes can be the beginning of a request; false for the first bytes of TLS.
bool may_begin_request(std::string_view bytes) noexcept;

/// Whether a complete head has one reading alone.
/// Shape:  false for these:
///         - a line that ends without CR LF, a control character, a folded line
///         - a name that is empty, or has other characters than a token
///         - two lengths, even when they are equal; a length that is not digits
///         - a transfer coding other than `chunked`, in HTTP/1.0, twice, or with a length
///         - two hosts
bool is_unambiguous_head(std::string_view head) noexcept;

} // namespace troupe
