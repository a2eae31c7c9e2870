// openapi: the document that describes the server's routes, and its page. Pure.
#pragma once

#include "server/edge/router.hpp"

#include <troupe/value.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe::server {

/// The OpenAPI document of these routes, with what route_notes() knows of them.
/// Shape:  a route without a note has its method, path and parameters alone.
/// Source: spec.openapis.org/oas/v3.1.0.
value openapi_document(const std::vector<route>& routes);

/// The JSON Schema of a kind, as member_note has it.
/// Errors: throws error{invalid_value} for an unknown kind.
value kind_schema(std::string_view kind);

/// A document as a page of HTML: no script, and nothing from another host.
std::string docs_page(const value& document);

/// Adds `/openapi.json` and `/docs`, which describe the routes that `to` has by now, and
/// themselves.
void add_documentation(router& to);

} // namespace troupe::server
