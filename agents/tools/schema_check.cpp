// schema_check: checking values against a JSON Schema.
#include <troupe/agents/schema_check.hpp>

#include "agents/messages/json_text.hpp"
#include "agents/tools/schema_parts.hpp"

#include <troupe/limits.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>

namespace troupe {
namespace {

// ---- what values are ------------------------------------------------------------------------

bool is_whole(const value& v) {
  return v.is_int() || (v.is_double() && std::floor(v.as_double()) == v.as_double());
}

bool is_of_type(const value& v, std::string_view type) {
  return (type == "null" && v.is_null()) || (type == "boolean" && v.is_bool())
         || (type == "integer" && is_whole(v)) || (type == "number" && v.is_number())
         || (type == "string" && v.is_string()) || (type == "array" && v.is_list())
         || (type == "object" && v.is_map());
}

// Equality of JSON: 1 and 1.0 are the same number.
bool same(const value& a, const value& b) {
  return a.is_number() && b.is_number() ? a.as_double() == b.as_double() : a == b;
}

std::string_view wanted(std::string_view type) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
    {"array", "list"}, {"object", "dictionary"}, {"null", "null"}};
  for (auto [name, shown] : names)
    if (name == type)
      return shown;
  return type;
}

std::string number_text(const value& v) {
  return to_json(v);
}

// ---- the check ------------------------------------------------------------------------------

class checking {
public:
  checking(const value& root, std::vector<schema_violation>& out, std::size_t& steps_left)
    : root_{root},
      out_{out},
      steps_left_{steps_left} {}

  void check(const value& schema, const value& v, const std::string& path, std::size_t depth) {
    if (steps_left_ == 0)
      return;
    --steps_left_;
    if (schema == value(false))
      return refuse(path, "No value is allowed");
    if (!schema.is_map() || depth > limits::value_depth_max)
      return;
    if (const auto& ref = schema["$ref"]; ref.is_string())
      check(referred_schema(root_, ref.as_string()), v, path, depth + 1);
    if (!check_type(schema["type"], v, path))
      return; // further errors would repeat this one
    check_choice(schema, v, path);
    check_number(schema, v, path);
    check_text(schema, v, path);
    check_object(schema, v, path, depth);
    check_list(schema, v, path, depth);
    check_parts(schema, v, path, depth);
  }

private:
  void refuse(const std::string& path, std::string message) {
    out_.push_back({path, std::move(message)});
  }

  bool fits(const value& schema, const value& v, std::size_t depth) const {
    std::vector<schema_violation> found;
    checking{root_, found, steps_left_}.check(schema, v, {}, depth + 1);
    return found.empty();
  }

  bool check_type(const value& type, const value& v, const std::string& path) {
    if (type.is_string()) {
      if (is_of_type(v, type.as_string()))
        return true;
      refuse(path, "Input should be a valid " + std::string{wanted(type.as_string())});
      return false;
    }
    if (!type.is_list() || std::ranges::any_of(type.items(), [&v](const value& t) {
          return t.is_string() && is_of_type(v, t.as_string());
        }))
      return true;
    refuse(path, "Input should be of one of the types " + spaced_json(type));
    return false;
  }

  void check_choice(const value& schema, const value& v, const std::string& path) {
    const auto& choices = schema["enum"];
    if (choices.is_list()
        && std::ranges::none_of(choices.items(), [&v](const value& c) { return same(c, v); })) {
      std::string text;
      for (std::size_t i = 0; i < choices.size(); ++i)
        text += (i == 0                    ? ""
                 : i + 1 == choices.size() ? " or "
                                           : ", ")
                + (choices[i].is_string() ? quoted_text(choices[i].as_string())
                                          : to_json(choices[i]));
      refuse(path, "Input should be " + text);
    }
    if (schema.contains("const") && !same(schema["const"], v))
      refuse(path, "Input should be " + to_json(schema["const"]));
  }

  void check_number(const value& schema, const value& v, const std::string& path) {
    if (!v.is_number())
      return;
    auto number = v.as_double();
    auto bound = [&](const char* keyword, auto holds, const char* text) {
      const auto& limit = schema[keyword];
      if (limit.is_number() && !holds(number, limit.as_double()))
        refuse(path, "Input should be " + std::string{text} + ' ' + number_text(limit));
    };
    bound("minimum", std::greater_equal<>{}, "greater than or equal to");
    bound("maximum", std::less_equal<>{}, "less than or equal to");
    bound("exclusiveMinimum", std::greater<>{}, "greater than");
    bound("exclusiveMaximum", std::less<>{}, "less than");
    bound(
      "multipleOf", [](double a, double b) { return b == 0 || std::remainder(a, b) == 0; },
      "a multiple of");
  }

  void check_size(const value& schema, const char* least, const char* most, std::size_t size,
                  const char* what, const std::string& path) {
    auto count = static_cast<std::int64_t>(size);
    if (const auto& n = schema[least]; n.is_int() && count < n.as_int())
      refuse(path, std::string{"Input should have at least "} + to_json(n) + ' ' + what);
    if (const auto& n = schema[most]; n.is_int() && count > n.as_int())
      refuse(path, std::string{"Input should have at most "} + to_json(n) + ' ' + what);
  }

  void check_text(const value& schema, const value& v, const std::string& path) {
    if (v.is_string() && (schema.contains("minLength") || schema.contains("maxLength")))
      check_size(schema, "minLength", "maxLength", character_count(v.as_string()), "characters",
                 path);
  }

  static std::string below(const std::string& path, std::string_view name) {
    return path.empty() ? std::string{name} : path + '.' + std::string{name};
  }

  void check_object(const value& schema, const value& v, const std::string& path,
                    std::size_t depth) {
    if (!v.is_map())
      return;
    const auto& properties = schema["properties"];
    for (const auto& p : properties.entries())
      if (v.contains(p.key()))
        check(p.val, v[p.key()], below(path, p.key()), depth + 1);
    for (const auto& name : schema["required"].items())
      if (name.is_string() && !v.contains(name.as_string()))
        refuse(below(path, name.as_string()), "Field required");
    const auto& others = schema["additionalProperties"];
    if (others.is_null())
      return;
    for (const auto& e : v.entries()) {
      if (properties.contains(e.key()))
        continue;
      if (others == value(false))
        refuse(below(path, e.key()), "Extra inputs are not permitted");
      else
        check(others, e.val, below(path, e.key()), depth + 1);
    }
  }

  void check_list(const value& schema, const value& v, const std::string& path, std::size_t depth) {
    if (!v.is_list())
      return;
    check_size(schema, "minItems", "maxItems", v.size(), "items", path);
    const auto& first = schema["prefixItems"];
    for (std::size_t i = 0; i < v.size(); ++i)
      check(i < first.size() ? first[i] : schema["items"], v[i], below(path, std::to_string(i)),
            depth + 1);
    if (schema["uniqueItems"] == value(true) && has_twins(v))
      refuse(path, "Input should have unique items");
  }

  static bool has_twins(const value& list) {
    std::unordered_multimap<std::uint64_t, const value*> seen;
    for (const auto& item : list.items()) {
      auto hash = item.is_number() ? value(item.as_double()).hash() : item.hash();
      for (auto [at, end] = seen.equal_range(hash); at != end; ++at)
        if (same(*at->second, item))
          return true;
      seen.emplace(hash, &item);
    }
    return false;
  }

  void check_parts(const value& schema, const value& v, const std::string& path,
                   std::size_t depth) {
    for (const auto& part : schema["allOf"].items())
      check(part, v, path, depth + 1);
    for (const auto* keyword : {"anyOf", "oneOf"}) {
      const auto& parts = schema[keyword];
      if (!parts.is_list())
        continue;
      auto fitting = std::ranges::count_if(parts.items(),
                                           [&](const value& part) { return fits(part, v, depth); });
      bool one = keyword == std::string_view{"oneOf"};
      if (fitting == 0 || (one && fitting > 1))
        refuse_parts(parts, fitting, v, path, depth);
    }
    if (schema.contains("not") && fits(schema["not"], v, depth))
      refuse(path, "Input should not be of the excluded form");
  }

  // For a choice between a schema and null, reports the errors of that schema.
  void refuse_parts(const value& parts, std::ptrdiff_t fitting, const value& v,
                    const std::string& path, std::size_t depth) {
    std::vector<value> real;
    for (const auto& part : parts.items())
      if (part["type"] != value("null"))
        real.push_back(part);
    if (fitting == 0 && real.size() == 1)
      return check(real[0], v, path, depth + 1);
    refuse(path, fitting == 0 ? "Input should be of one of the allowed forms"
                              : "Input should be of exactly one of the allowed forms");
  }

  const value& root_;
  std::vector<schema_violation>& out_;
  std::size_t& steps_left_;
};

std::vector<schema_violation> violations(const value& root, const value& part, const value& v) {
  std::vector<schema_violation> out;
  auto steps_left = limits::schema_check_steps_max;
  checking{root, out, steps_left}.check(part, v, {}, 0);
  if (steps_left == 0)
    out = {{{}, "Input takes too long to check"}};
  return out;
}

// ---- what is known --------------------------------------------------------------------------

constexpr std::array checked{std::string_view{"type"},
                             std::string_view{"enum"},
                             std::string_view{"const"},
                             std::string_view{"required"},
                             std::string_view{"minItems"},
                             std::string_view{"maxItems"},
                             std::string_view{"uniqueItems"},
                             std::string_view{"minLength"},
                             std::string_view{"maxLength"},
                             std::string_view{"minimum"},
                             std::string_view{"maximum"},
                             std::string_view{"exclusiveMinimum"},
                             std::string_view{"exclusiveMaximum"},
                             std::string_view{"multipleOf"},
                             std::string_view{"$ref"}};
constexpr std::array describing{std::string_view{"title"},    std::string_view{"description"},
                                std::string_view{"default"},  std::string_view{"examples"},
                                std::string_view{"example"},  std::string_view{"format"},
                                std::string_view{"$schema"},  std::string_view{"$id"},
                                std::string_view{"$comment"}, std::string_view{"deprecated"},
                                std::string_view{"readOnly"}, std::string_view{"writeOnly"},
                                std::string_view{"strict"}};
constexpr std::array one_schema{std::string_view{"items"}, std::string_view{"not"},
                                std::string_view{"additionalProperties"}};
constexpr std::array schema_lists{std::string_view{"anyOf"}, std::string_view{"oneOf"},
                                  std::string_view{"allOf"}, std::string_view{"prefixItems"}};
constexpr std::array schema_maps{std::string_view{"properties"}, std::string_view{"$defs"},
                                 std::string_view{"definitions"}};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

void require_known(const value& schema, const std::string& at) {
  if (schema.is_bool())
    return;
  if (!schema.is_map())
    throw error{errc::invalid_graph,
                "read a JSON Schema: not a schema at `" + at + "`: " + to_json(schema)};
  for (const auto& e : schema.entries()) {
    auto here = at + '/' + std::string{e.key()};
    if (holds(one_schema, e.key()))
      require_known(e.val, here);
    else if (holds(schema_lists, e.key()))
      for (const auto& part : e.val.items())
        require_known(part, here);
    else if (holds(schema_maps, e.key()))
      for (const auto& part : e.val.entries())
        require_known(part.val, here + '/' + std::string{part.key()});
    else if (e.key() == "$ref" && !(e.val.is_string() && e.val.as_string().starts_with('#')))
      throw error{errc::invalid_graph,
                  "read a JSON Schema: `" + here + "` is not a reference within the schema"};
    else if (!holds(checked, e.key()) && !holds(describing, e.key()))
      throw error{errc::invalid_graph, "read a JSON Schema: the keyword `" + here + "` is unknown"};
  }
}

} // namespace

const value& referred_schema(const value& root, std::string_view ref) noexcept {
  const value* at = &root;
  while (true) {
    auto slash = ref.find('/');
    if (slash == std::string_view::npos)
      return *at;
    ref.remove_prefix(slash + 1);
    at = &(*at)[ref.substr(0, ref.find('/'))];
  }
}

bool fits_schema(const value& root, const value& part, const value& v) {
  return violations(root, part, v).empty();
}

std::vector<schema_violation> check_schema(const value& schema, const value& v) {
  return violations(schema, schema, v);
}

result<void> require_known_schema(const value& schema) {
  try {
    require_known(schema, "#");
    return {};
  } catch (const error& e) {
    return e;
  }
}

} // namespace troupe
