// Values as LangGraph's JsonPlusSerializer reads them: the other direction of reference_values.
#include "tools/troupe/reference_values.hpp"

#include <troupe/control.hpp>
#include <troupe/message.hpp>
#include <troupe/policy.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>

namespace troupe::cli {
namespace {

enum extension_code : std::uint8_t { // langgraph/checkpoint/serde/jsonplus.py, EXT_…
  single_argument = 0,
  positions = 1,
  keywords = 2,
  method = 4,
  model = 5,
  snapshot = 7,
};

struct message_class {
  std::string_view role, type, module, name;
};
constexpr std::array<message_class, 4> message_classes{{
  {"user", "human", "langchain_core.messages.human", "HumanMessage"},
  {"assistant", "ai", "langchain_core.messages.ai", "AIMessage"},
  {"system", "system", "langchain_core.messages.system", "SystemMessage"},
  {"tool", "tool", "langchain_core.messages.tool", "ToolMessage"},
}};

// Microseconds since 1970 as Python's datetime.fromisoformat reads them.
std::string iso_time(std::int64_t us) {
  using namespace std::chrono;
  auto at = microseconds{us};
  auto day = floor<days>(at);
  year_month_day date{sys_days{day}};
  hh_mm_ss time{at - day};
  std::array<char, 64> out{};
  std::snprintf(out.data(), out.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06d+00:00",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
                static_cast<int>(time.subseconds().count()));
  return out.data();
}

class writer {
public:
  std::string out;

  void write(const value& v) {
    switch (v.kind()) {
      case value_kind::null: return put(0xc0);
      case value_kind::boolean: return put(v.as_bool() ? 0xc3 : 0xc2);
      case value_kind::integer: return number(v.as_int());
      case value_kind::floating:
        put(0xcb);
        return big_endian(std::bit_cast<std::uint64_t>(v.as_double()), 8);
      case value_kind::string: return text(v.as_string());
      case value_kind::bytes: return bytes(v.as_bytes());
      case value_kind::list:
        head(v.size(), 0x90, 15, 0xdc);
        for (const auto& item : v.items())
          write(item);
        return;
      case value_kind::map:
        head(v.size(), 0x80, 15, 0xde);
        for (const auto& e : v.entries()) {
          text(e.key());
          write(e.val);
        }
        return;
      default: return extension(v.kind(), v.payload());
    }
  }

  void set_of(const value& names) {
    object(single_argument, "builtins", "set", [&](writer& in) { in.write(names); });
  }

private:
  void extension(value_kind kind, const value& content) {
    switch (kind) {
      case value_kind::message: return message_of(content);
      case value_kind::remove_message: return removal_of(content);
      case value_kind::send: return send_of(content);
      case value_kind::interrupt:
        return object(keywords, "langgraph.types", "Interrupt",
                      [&](writer& in) { in.write(content); });
      case value_kind::overwrite:
        return object(keywords, "langgraph.types", "Overwrite", [&](writer& in) {
          in.write(value::map({{"value", content}}));
        });
      case value_kind::delta_snapshot: {
        writer in;
        in.write(content);
        return wrapped(snapshot, in.out);
      }
      case value_kind::timestamp:
        return object(
          method, "datetime", "datetime", [&](writer& in) { in.text(iso_time(content.as_int())); },
          "fromisoformat");
      case value_kind::error: return text(error_text(content));
      default:
        throw error{errc::invalid_value, "a value of kind " + std::string{to_string(kind)}
                                           + " has no counterpart in LangGraph"};
    }
  }

  // As Python's repr of an exception, which is what LangGraph stores.
  static std::string error_text(const value& content) {
    auto member = [&content](const char* name) {
      const auto& v = content[name];
      return v.is_string() ? std::string{v.as_string()} : to_json(v);
    };
    return member("type") + "(" + to_json(value(member("message"))) + ")";
  }

  void message_of(const value& content) {
    auto role = content["role"].is_string() ? content["role"].as_string() : std::string_view{};
    for (const auto& known : message_classes)
      if (known.role == role)
        return message_of(known, content);
    throw error{errc::invalid_value,
                "a message of role `" + std::string{role} + "` has no counterpart in LangGraph"};
  }

  void message_of(const message_class& known, const value& content) {
    std::vector<value::map_init> members{{"type", std::string{known.type}},
                                         {"additional_kwargs", value::map()},
                                         {"response_metadata", value::map()},
                                         {"name", nullptr},
                                         {"id", nullptr}};
    auto out_members = value::map(std::move(members));
    for (const auto& e : content.entries())
      if (e.key() != "role")
        out_members = out_members.with(e.key() == "usage" ? "usage_metadata" : std::string{e.key()},
                                       e.val);
    if (out_members["content"].is_null())
      out_members = out_members.with("content", "");
    object(
      model, known.module, known.name, [&](writer& in) { in.write(out_members); },
      "model_validate_json");
  }

  void removal_of(const value& id) {
    object(
      model, "langchain_core.messages.modifier", "RemoveMessage",
      [&](writer& in) {
        in.write(value::map({{"content", ""},
                             {"additional_kwargs", value::map()},
                             {"response_metadata", value::map()},
                             {"type", "remove"},
                             {"name", nullptr},
                             {"id", id}}));
      },
      "model_validate_json");
  }

  void send_of(const value& content) {
    auto order = value::extension(value_kind::send, content).as<send>();
    object(positions, "langgraph.types", "Send", [&](writer& in) {
      in.put(order.timeout ? 0x93 : 0x92);
      in.text(order.node);
      in.write(order.arg);
      if (order.timeout)
        in.timeout(*order.timeout);
    });
  }

  void timeout(const timeout_policy& of) {
    auto seconds = [](std::chrono::nanoseconds bound) {
      return bound.count() == 0 ? value{} : value(static_cast<double>(bound.count()) / 1e9);
    };
    auto by = of.refresh_on == refresh_on::heartbeat ? "heartbeat" : "auto";
    object(keywords, "langgraph.types", "TimeoutPolicy", [&](writer& in) {
      in.write(value::map({{"run_timeout", seconds(of.run_timeout)},
                           {"idle_timeout", seconds(of.idle_timeout)},
                           {"refresh_on", by}}));
    });
  }

  // [module, class, argument], and a method for some.
  template <class F>
  void object(extension_code code, std::string_view module, std::string_view name, F argument,
              std::string_view by = {}) {
    writer in;
    in.put(by.empty() ? 0x93 : 0x94);
    in.text(module);
    in.text(name);
    argument(in);
    if (!by.empty())
      in.text(by);
    wrapped(code, in.out);
  }

  void wrapped(extension_code code, const std::string& content) {
    auto size = content.size();
    int width = size < 1u << 8 ? 1 : size < 1u << 16 ? 2 : 4;
    put(width == 1 ? 0xc7 : width == 2 ? 0xc8 : 0xc9);
    big_endian(size, width);
    put(code);
    out += content;
  }

  void text(std::string_view v) {
    if (v.size() >= 32 && v.size() < 1u << 8) {
      put(0xd9);
      put(static_cast<std::uint8_t>(v.size()));
    } else {
      head(v.size(), 0xa0, 31, 0xda);
    }
    out += v;
  }

  void bytes(std::span<const std::byte> v) {
    int width = v.size() < 1u << 8 ? 1 : v.size() < 1u << 16 ? 2 : 4;
    put(width == 1 ? 0xc4 : width == 2 ? 0xc5 : 0xc6);
    big_endian(v.size(), width);
    out.append(reinterpret_cast<const char*>(v.data()), v.size());
  }

  void number(std::int64_t n) {
    if (n >= -32 && n < 128)
      return put(static_cast<std::uint8_t>(n));
    put(0xd3);
    big_endian(static_cast<std::uint64_t>(n), 8);
  }

  // A size: in the head byte, or after `longer` in two bytes, or after the next in four.
  void head(std::size_t size, std::uint8_t small, std::size_t small_max, std::uint8_t longer) {
    if (size <= small_max)
      return put(static_cast<std::uint8_t>(small | size));
    bool two = size < 1u << 16;
    put(two ? longer : static_cast<std::uint8_t>(longer + 1));
    big_endian(size, two ? 2 : 4);
  }

  void put(std::uint8_t byte) { out += static_cast<char>(byte); }
  void big_endian(std::uint64_t n, int width) {
    while (width-- > 0)
      put(static_cast<std::uint8_t>(n >> 8 * width));
  }
};

bool is_list_of_texts(const value& v) {
  if (!v.is_list())
    return false;
  for (const auto& item : v.items())
    if (!item.is_string())
      return false;
  return true;
}

} // namespace

std::string to_reference_msgpack(const value& v, bool is_join) {
  writer to;
  if (is_join && is_list_of_texts(v))
    to.set_of(v);
  else
    to.write(v);
  return std::move(to.out);
}

} // namespace troupe::cli
