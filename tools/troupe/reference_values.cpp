#include "tools/troupe/reference_values.hpp"

#include <troupe/limits.hpp>
#include <troupe/message.hpp>

#include <algorithm>
#include <bit>
#include <span>

namespace troupe::cli {

namespace {

[[noreturn]] void fail(const std::string& why) {
  throw error{errc::invalid_value, why};
}

// ---- classes ------------------------------------------------------------------------------------

/// The content of an extension: the class, and its arguments.
struct instance {
  std::string module;
  std::string name;
  value arguments;

  std::string label() const { return module + "." + name; }
};

instance read_instance(const value& parts) {
  if (!parts.is_list() || parts.size() < 3 || !parts[0].is_string() || !parts[1].is_string())
    fail("an extension does not name a class");
  return {std::string{parts[0].as_string()}, std::string{parts[1].as_string()}, parts[2]};
}

std::string_view role_of(std::string_view name) {
  if (name.ends_with("Chunk"))
    name.remove_suffix(5);
  if (name == "HumanMessage")
    return "user";
  if (name == "AIMessage")
    return "assistant";
  if (name == "SystemMessage")
    return "system";
  if (name == "ToolMessage")
    return "tool";
  return {};
}

bool says_nothing(const value& v) {
  return v.is_null() || ((v.is_list() || v.is_map()) && v.empty());
}

// Members that are there for every message, whether they say something or not, are left out.
value message_of(std::string_view role, const value& members) {
  std::vector<value::map_init> more;
  for (const auto& e : members.entries()) {
    auto name = e.key();
    if (name == "content" || name == "id" || name == "type" || says_nothing(e.val))
      continue;
    more.emplace_back(name == "usage_metadata" ? "usage" : std::string{name}, e.val);
  }
  return value_traits<message>::to(
    {.role = std::string{role},
     .content = members["content"],
     .id = members["id"].is_null() ? std::string{} : members["id"].as<std::string>(),
     .more = value::map(std::move(more))});
}

value of_model(const instance& i) {
  if (i.module.starts_with("langchain_core.messages.") && i.arguments.is_map()) {
    if (i.name == "RemoveMessage")
      return value::extension(value_kind::remove_message, i.arguments["id"]);
    if (auto role = role_of(i.name); !role.empty())
      return message_of(role, i.arguments);
  }
  fail("a value of class " + i.label() + " has no counterpart");
}

value of_keywords(const instance& i) {
  if (i.module == "langgraph.types" && i.arguments.is_map()) {
    if (i.name == "Interrupt" && i.arguments.contains("value") && i.arguments["id"].is_string())
      return value::extension(value_kind::interrupt, i.arguments);
    if (i.name == "Overwrite" && i.arguments.contains("value"))
      return value::extension(value_kind::overwrite, i.arguments["value"]);
  }
  fail("a value of class " + i.label() + " has no counterpart");
}

value of_positions(const instance& i) {
  if (i.module != "langgraph.types" || i.name != "Send")
    fail("a value of class " + i.label() + " has no counterpart");
  if (!i.arguments.is_list() || i.arguments.size() != 2)
    fail("a Send with a time-out has no counterpart");
  return value::extension(value_kind::send, i.arguments);
}

bool is_set(const instance& i) {
  return i.module == "builtins" && (i.name == "set" || i.name == "frozenset")
         && i.arguments.is_list();
}

value ascending(const value& list) {
  std::vector<value> items{list.items().begin(), list.items().end()};
  for (const auto& item : items)
    if (!item.is_string())
      fail("a set of values other than texts");
  std::sort(items.begin(), items.end(),
            [](const value& a, const value& b) { return a.as_string() < b.as_string(); });
  return value::list(std::move(items));
}

// ---- msgpack ------------------------------------------------------------------------------------

/// Reads values off the front of bytes that nobody vouches for.
class reader {
public:
  explicit reader(std::string_view data, bool sets = false) : rest_{data}, sets_{sets} {}

  value read(std::size_t depth) {
    if (depth > limits::value_depth_max)
      fail("a value is nested too deep");
    auto head = number(1);
    if (head <= 0x7f || head >= 0xe0)
      return static_cast<std::int8_t>(head);
    if (head <= 0x8f)
      return map(head & 0x0f, depth);
    if (head <= 0x9f)
      return list(head & 0x0f, depth);
    if (head <= 0xbf)
      return text(head & 0x1f);
    switch (head) {
      case 0xc0: return nullptr;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: return bytes(number(1));
      case 0xc5: return bytes(number(2));
      case 0xc6: return bytes(number(4));
      case 0xc7: return extension(number(1), depth);
      case 0xc8: return extension(number(2), depth);
      case 0xc9: return extension(number(4), depth);
      case 0xca: return std::bit_cast<float>(static_cast<std::uint32_t>(number(4))) + 0.0;
      case 0xcb: return std::bit_cast<double>(number(8));
      case 0xcc: return number(1);
      case 0xcd: return number(2);
      case 0xce: return number(4);
      case 0xcf: return unsigned_number(number(8));
      case 0xd0: return static_cast<std::int8_t>(number(1));
      case 0xd1: return static_cast<std::int16_t>(number(2));
      case 0xd2: return static_cast<std::int32_t>(number(4));
      case 0xd3: return static_cast<std::int64_t>(number(8));
      case 0xd9: return text(number(1));
      case 0xda: return text(number(2));
      case 0xdb: return text(number(4));
      case 0xdc: return list(number(2), depth);
      case 0xdd: return list(number(4), depth);
      case 0xde: return map(number(2), depth);
      case 0xdf: return map(number(4), depth);
      default:
        if (head >= 0xd4 && head <= 0xd8)
          return extension(std::uint64_t{1} << (head - 0xd4), depth);
        fail("a byte that does not begin a value");
    }
  }

  value read_channel(const std::string& channel) {
    try {
      sets_ = channel.starts_with("join:"); // the names of nodes that a join has seen
      auto out = read(3);
      sets_ = false;
      return out;
    } catch (const error& why) {
      fail("channel `" + channel + "`: " + why.message());
    }
  }

  value read_checkpoint() {
    return read_members([this](const std::string& name) {
      if (name != "channel_values")
        return read(2);
      return read_members([this](const std::string& channel) { return read_channel(channel); });
    });
  }

  bool at_end() const noexcept { return rest_.empty(); }

private:
  template <class F> value read_members(F read_member) {
    auto head = number(1);
    auto count = head == 0xdf ? number(4) : head == 0xde ? number(2) : head & 0x0f;
    if (head < 0xde && (head & 0xf0) != 0x80)
      fail("not a map");
    std::vector<value::map_init> entries;
    for (; count > 0; --count) {
      auto name = read(2);
      if (!name.is_string())
        fail("a map with a key that is not a text");
      std::string text{name.as_string()};
      entries.emplace_back(text, read_member(text));
    }
    return value::map(std::move(entries));
  }

  std::string_view take(std::uint64_t count) {
    if (count > rest_.size())
      fail("a value is cut short");
    auto out = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return out;
  }

  std::uint64_t number(std::size_t bytes) {
    std::uint64_t out = 0;
    for (auto c : take(bytes))
      out = out << 8 | static_cast<unsigned char>(c);
    return out;
  }

  static value unsigned_number(std::uint64_t n) {
    if (n > std::uint64_t{INT64_MAX})
      fail("a number beyond 64 bits");
    return n;
  }

  value text(std::uint64_t size) { return take(size); }
  value bytes(std::uint64_t size) { return value::bytes(std::as_bytes(std::span{take(size)})); }

  // Without reserve: a declared count is only believed item by item.
  value list(std::uint64_t count, std::size_t depth) {
    std::vector<value> items;
    for (; count > 0; --count)
      items.push_back(read(depth + 1));
    return value::list(std::move(items));
  }

  value map(std::uint64_t count, std::size_t depth) {
    std::vector<value::map_init> entries;
    for (; count > 0; --count) {
      auto key = read(depth + 1);
      if (!key.is_string())
        fail("a map with a key that is not a text");
      entries.emplace_back(key.as_string(), read(depth + 1));
    }
    return value::map(std::move(entries));
  }

  value extension(std::uint64_t size, std::size_t depth) {
    auto code = number(1);
    reader inner{take(size), sets_};
    auto content = inner.read(depth + 1);
    if (!inner.at_end())
      fail("an extension holds more than one value");
    if (code == 7)
      return value::extension(value_kind::delta_snapshot, std::move(content));
    auto what = read_instance(content);
    if (code == 0 && sets_ && is_set(what))
      return ascending(what.arguments);
    if (code == 1)
      return of_positions(what);
    if (code == 2)
      return of_keywords(what);
    if (code == 5)
      return of_model(what);
    fail("a value of class " + what.label() + " has no counterpart");
  }

  std::string_view rest_;
  bool sets_; // are lists; else they are an error
};

template <class F> value read_all(std::string_view data, F read) {
  if (data.size() > limits::value_size_bytes_max)
    fail("a value of more than " + std::to_string(limits::value_size_bytes_max) + " bytes");
  reader in{data};
  auto out = read(in);
  if (!in.at_end())
    fail("more than one value");
  return out;
}

} // namespace

value from_reference_msgpack(std::string_view data) {
  return read_all(data, [](reader& in) { return in.read(1); });
}

value from_reference_channel(const std::string& channel, std::string_view data) {
  return read_all(data, [&channel](reader& in) { return in.read_channel(channel); });
}

value from_reference_checkpoint(std::string_view data) {
  return read_all(data, [](reader& in) { return in.read_checkpoint(); });
}

} // namespace troupe::cli
