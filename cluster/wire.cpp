// One table says which fields a message has, for writing and for reading.
#include "cluster/wire.hpp"

#include "cluster/wire_reader.hpp"

#include <troupe/limits.hpp>

#include <msgpack/pack.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <limits>
#include <utility>

namespace troupe::cluster {

namespace {

using namespace std::string_view_literals;

namespace most = troupe::limits;

// ---- the table ----------------------------------------------------------------------------------

// A number of the variant is a kind on the wire: a new message comes last.
static_assert(std::variant_size_v<message> == 26);
constexpr std::array names{
  "hello"sv,        "welcome"sv,     "refusal"sv,       "heartbeat"sv,      "run_opened"sv,
  "run_closed"sv,   "task_order"sv,  "task_stop"sv,     "task_outcome"sv,   "task_refused"sv,
  "save_order"sv,   "save_answer"sv, "call_order"sv,    "call_answer"sv,    "task_part"sv,
  "part_credit"sv,  "task_sign"sv,   "draining"sv,      "status_request"sv, "drain_request"sv,
  "status_reply"sv, "task_drain"sv,  "task_withdraw"sv, "task_kept"sv,      "step_opened"sv,
  "graph_refused"sv};
static_assert(names.size() == std::variant_size_v<message>);

/// A text that is for people: a longer one is cut.
struct cut_text {
  std::size_t bytes_max;
};
constexpr cut_text for_people{most::cluster_text_bytes_max};

/// The id of a task: the 16 bytes of a UUID, or another text.
struct id_text {
  std::size_t bytes_max;
};
constexpr std::size_t uuid_bytes = 16, uuid_digits = 36;

constexpr bool is_dash_before(std::size_t byte) {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

std::string uuid_text(std::span<const std::uint8_t> id) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(uuid_digits);
  for (std::size_t i = 0; i < id.size(); ++i) {
    if (is_dash_before(i))
      out += '-';
    out += digits[id[i] >> 4U];
    out += digits[id[i] & 0xfU];
  }
  return out;
}

/// None when the text is not what uuid_text() makes of them.
std::optional<std::array<std::uint8_t, uuid_bytes>> uuid_in(std::string_view text) {
  if (text.size() != uuid_digits)
    return std::nullopt;
  std::array<std::uint8_t, uuid_bytes> out{};
  const char* at = text.data();
  for (std::size_t i = 0; i < uuid_bytes; ++i, at += 2) {
    at += is_dash_before(i) ? 1 : 0;
    if (std::from_chars(at, at + 2, out[i], 16).ptr != at + 2)
      return std::nullopt;
  }
  if (uuid_text(out) != text)
    return std::nullopt;
  return out;
}

/// M is Of or const Of: one function describes a message that is written and one that is read.
template <class M, class Of>
concept one = std::same_as<std::remove_const_t<M>, Of>;

// Each calls `at(name of the field, field, its limit)`.

void fields(auto& at, one<graph_offer> auto& m) {
  at("name", m.name, most::node_name_bytes_max);
  at("hash", m.hash, most::cluster_hash_bytes_max);
}
void fields(auto& at, one<hello> auto& m) {
  at("protocol", m.protocol);
  at("name", m.name, most::worker_name_bytes_max);
  at("incarnation", m.incarnation, most::worker_name_bytes_max);
  at("labels", m.labels, most::worker_labels_max);
  at("capacity", m.capacity);
  at("graphs", m.graphs, most::worker_graphs_max);
}
void fields(auto& at, one<welcome> auto& m) {
  at("session", m.session);
  at("home", m.home, most::worker_name_bytes_max);
  at("lease", m.lease);
  at("heartbeat", m.heartbeat);
}
void fields(auto& at, one<refusal> auto& m) {
  at("code", m.code);
  at("why", m.why, for_people);
}
void fields(auto& at, one<heartbeat> auto& m) {
  at("number", m.number);
  at("answers", m.answers);
  at("foreign", m.foreign);
  at("held", m.held);
}
void fields(auto& at, one<run_opened> auto& m) {
  at("run", m.run);
  at("graph", m.graph, most::cluster_hash_bytes_max);
  at("facts", m.facts);
}
void fields(auto& at, one<run_closed> auto& m) {
  at("run", m.run);
}
void fields(auto& at, one<graph_refused> auto& m) {
  at("name", m.name, most::node_name_bytes_max);
  at("hash", m.hash, most::cluster_hash_bytes_max);
}
void fields(auto& at, one<step_opened> auto& m) {
  at("run", m.run);
  at("facts", m.facts);
}
void fields(auto& at, one<task_order> auto& m) {
  at("issue", m.issue);
  at("run", m.run);
  at("task_id", m.task_id, id_text{most::task_id_bytes_max});
  at("node", m.node, most::node_name_bytes_max);
  at("task", m.task);
  at("again", m.again);
  at("ahead", m.ahead);
}
void fields(auto& at, one<task_withdraw> auto& m) {
  at("issue", m.issue);
}
void fields(auto& at, one<task_kept> auto& m) {
  at("issue", m.issue);
}
void fields(auto& at, one<task_stop> auto& m) {
  at("issue", m.issue);
}
void fields(auto& at, one<task_drain> auto& m) {
  at("issue", m.issue);
  at("why", m.why, for_people);
}
void fields(auto& at, one<task_outcome> auto& m) {
  at("issue", m.issue);
  at("outcome", m.outcome);
  at("took_us", m.took_us);
}
void fields(auto& at, one<task_refused> auto& m) {
  at("issue", m.issue);
  at("code", m.code);
  at("why", m.why, for_people);
}
void fields(auto& at, one<save_order> auto& m) {
  at("issue", m.issue);
  at("ticket", m.ticket);
  at("durable", m.durable);
  at("request", m.request);
}
void fields(auto& at, one<save_answer> auto& m) {
  at("issue", m.issue);
  at("ticket", m.ticket);
  at("failure", m.failure);
}
void fields(auto& at, one<call_order> auto& m) {
  at("issue", m.issue);
  at("ticket", m.ticket);
  at("call", m.call);
}
void fields(auto& at, one<call_answer> auto& m) {
  at("issue", m.issue);
  at("ticket", m.ticket);
  at("failure", m.failure);
  at("answer", m.answer);
}
void fields(auto& at, one<task_part> auto& m) {
  at("issue", m.issue);
  at("part", m.part);
  at("from_body", m.from_body);
}
void fields(auto& at, one<part_credit> auto& m) {
  at("issue", m.issue);
  at("parts", m.parts);
}
void fields(auto& at, one<task_sign> auto& m) {
  at("issue", m.issue);
}
void fields(auto& at, one<draining> auto& m) {
  at("why", m.why, for_people);
}
void fields(auto&, one<status_request> auto&) {}
void fields(auto& at, one<drain_request> auto& m) {
  at("why", m.why, for_people);
  at("patience", m.patience, most::worker_drain_max);
  at("worker", m.worker, most::worker_name_bytes_max);
}
void fields(auto& at, one<status_reply> auto& m) {
  at("json", m.json, most::cluster_status_bytes_max);
}

template <class M> std::size_t count_fields(const M& m) {
  std::size_t n = 0;
  auto count = [&n](auto&&...) { ++n; };
  fields(count, m);
  return n;
}

// ---- failures -----------------------------------------------------------------------------------

/// What is wrong, without the place.
struct flaw {
  errc code;
  std::string what;
};

flaw mismatch(std::string_view what) {
  return {errc::protocol_mismatch, std::string{what}};
}
flaw too_large(std::size_t size, std::size_t size_max, std::string_view of) {
  return {errc::invalid_value, std::to_string(size) + " " + std::string{of} + ", at most "
                                 + std::to_string(size_max) + " are allowed"};
}

error frame_error(std::string_view doing, std::string_view where, const flaw& why) {
  std::string text{doing};
  text.append(" a cluster frame: ").append(where).append(where.empty() ? "" : ": ");
  return {why.code, text.append(why.what)};
}

// At most so many bytes, and no half character at the end.
std::string_view cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max)
    return text;
  auto end = bytes_max;
  while (end > 0 && bytes_max - end < 3 && (static_cast<std::uint8_t>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.substr(0, end);
}

// ---- writing ------------------------------------------------------------------------------------

struct bytes_sink {
  bytes& out;
  void write(const char* data, std::size_t size) { out.insert(out.end(), data, data + size); }
};

/// Appends messages to a frame. After the first flaw it appends no more.
class frame_writer {
public:
  explicit frame_writer(bytes& out) : sink_{out}, pack_{sink_} {}

  void begin(std::size_t messages) { array(messages); }

  template <class M> void append(std::size_t kind, const M& m) {
    where_ = names[kind];
    array(1 + count_fields(m));
    pack_.pack_uint64(kind);
    fields(*this, m);
    if (!flaw_ && sink_.out.size() > most::cluster_frame_bytes_max)
      fail(too_large(sink_.out.size(), most::cluster_frame_bytes_max, "bytes"));
  }

  void operator()(const char* name, const auto& field, auto... bound) {
    if (flaw_)
      return;
    auto outside = where_.size();
    where_.append(".").append(name);
    put(field, bound...);
    if (!flaw_)
      where_.resize(outside);
  }

  result<void> finish() const {
    if (flaw_)
      return frame_error("write", where_, *flaw_);
    return {};
  }
  bool failed() const { return flaw_.has_value(); }

private:
  void fail(flaw why) { flaw_ = std::move(why); }
  void array(std::size_t n) { pack_.pack_array(static_cast<std::uint32_t>(n)); }

  void put(std::uint64_t n) { pack_.pack_uint64(n); }
  void put(std::uint32_t n) { pack_.pack_uint64(n); }
  void put(bool yes) { yes ? pack_.pack_true() : pack_.pack_false(); }
  void put(errc code) {
    if (code == errc::ok)
      return fail({errc::invalid_value, "ok is no failure"});
    pack_.pack_uint64(static_cast<std::uint64_t>(code));
  }
  template <class Rep, class Period>
  void put(std::chrono::duration<Rep, Period> time,
           std::chrono::milliseconds time_max = most::worker_lease_max) {
    if (time.count() < 0 || time > time_max)
      return fail({errc::invalid_value, "the duration is negative or too long"});
    pack_.pack_uint64(static_cast<std::uint64_t>(time.count()));
  }

  void put(const std::string& text, std::size_t bytes_max) {
    if (text.size() > bytes_max)
      return fail(too_large(text.size(), bytes_max, "bytes"));
    put_text(text);
  }
  void put(const std::string& text, cut_text at) { put_text(cut(text, at.bytes_max)); }
  void put(const std::string& text, id_text at) {
    auto id = uuid_in(text);
    if (!id)
      return put(text, at.bytes_max);
    pack_.pack_bin(uuid_bytes);
    pack_.pack_bin_body(reinterpret_cast<const char*>(id->data()), uuid_bytes);
  }
  void put_text(std::string_view text) {
    pack_.pack_str(static_cast<std::uint32_t>(text.size()));
    pack_.pack_str_body(text.data(), static_cast<std::uint32_t>(text.size()));
  }

  void put(const bytes& blob) {
    if (blob.size() > most::cluster_frame_bytes_max)
      return fail(too_large(blob.size(), most::cluster_frame_bytes_max, "bytes"));
    auto size = static_cast<std::uint32_t>(blob.size());
    pack_.pack_bin(size);
    pack_.pack_bin_body(reinterpret_cast<const char*>(blob.data()), size);
  }

  void put(const std::optional<error>& failure) {
    if (!failure) {
      pack_.pack_nil();
      return;
    }
    array(4);
    put(failure->code());
    put(failure->message(), for_people);
    put(failure->type(), for_people);
    // The text is the message where nothing else was said.
    put(failure->text() == failure->message() ? std::string{} : failure->text(), for_people);
  }

  template <class Item> void put(const std::vector<Item>& list, std::size_t count_max) {
    if (list.size() > count_max)
      return fail(too_large(list.size(), count_max, "elements"));
    array(list.size());
    for (const auto& item : list)
      put_item(item);
  }
  void put_item(const std::string& text) {
    if (!flaw_)
      put(text, most::worker_label_bytes_max);
  }
  void put_item(const graph_offer& graph) {
    array(count_fields(graph));
    fields(*this, graph);
  }

  bytes_sink sink_;
  msgpack::packer<bytes_sink> pack_;
  std::string where_; // the message, and while one is written, the field
  std::optional<flaw> flaw_;
};

// ---- reading ------------------------------------------------------------------------------------

/// Takes messages off a frame. After the first flaw it takes no more.
class frame_reader {
public:
  explicit frame_reader(std::span<const std::uint8_t> frame) : in_{frame} {}

  result<void> read(const std::function<void(message&&)>& sink) {
    auto count = in_.array();
    if (!count)
      return frame_error("read", "", mismatch("it is no array, or shorter than it says"));
    for (std::size_t i = 0; i < *count; ++i) {
      auto m = next();
      if (flaw_)
        return frame_error("read", where_, *flaw_);
      sink(std::move(m));
    }
    if (!in_.at_end())
      return frame_error("read", "", mismatch("there are bytes behind its messages"));
    return {};
  }

  void operator()(const char* name, auto& field, auto... bound) {
    if (flaw_)
      return;
    auto outside = where_.size();
    where_.append(".").append(name);
    take(field, bound...);
    if (!flaw_)
      where_.resize(outside);
  }

private:
  void fail(flaw why) { flaw_ = std::move(why); }

  message next() {
    where_ = "a message";
    auto size = in_.array();
    auto kind = size && *size > 0 ? in_.number() : std::nullopt;
    if (!kind) {
      fail(mismatch("it is no array that begins with a kind, or shorter than it says"));
      return {};
    }
    return of_kind(*kind, *size - 1, std::make_index_sequence<std::variant_size_v<message>>{});
  }

  template <std::size_t... Kinds>
  message of_kind(std::uint64_t kind, std::size_t size, std::index_sequence<Kinds...>) {
    using reading = message (frame_reader::*)(std::size_t);
    static constexpr std::array<reading, sizeof...(Kinds)> readings{&frame_reader::body<Kinds>...};
    if (kind >= readings.size()) {
      fail(mismatch("of an unknown kind, " + std::to_string(kind)));
      return {};
    }
    where_ = names[kind];
    return (this->*readings[kind])(size);
  }

  template <std::size_t Kind> message body(std::size_t size) {
    std::variant_alternative_t<Kind, message> m;
    if (auto known = count_fields(m); size != known)
      fail(other_size(size, known, Kind == 0));
    fields(*this, m);
    return m;
  }

  // A worker of another version says so in its first field, however it goes on.
  flaw other_size(std::size_t size, std::size_t known, bool is_hello) {
    auto protocol = is_hello && size > 0 ? in_.number() : std::nullopt;
    if (protocol && *protocol != protocol_version)
      return mismatch("the peer speaks protocol " + std::to_string(*protocol) + ", this one "
                      + std::to_string(protocol_version));
    return mismatch(std::to_string(size) + " fields instead of " + std::to_string(known));
  }

  std::uint64_t number(std::uint64_t largest) {
    auto n = in_.number();
    if (!n)
      fail(mismatch("no number that is 0 or more"));
    else if (*n > largest)
      fail({errc::invalid_value, "the number is too large"});
    return flaw_ ? 0 : *n;
  }

  void take(std::uint64_t& out) { out = number(std::numeric_limits<std::uint64_t>::max()); }
  void take(std::uint32_t& out) {
    out = static_cast<std::uint32_t>(number(std::numeric_limits<std::uint32_t>::max()));
  }
  void take(bool& out) {
    if (auto yes = in_.boolean())
      out = *yes;
    else
      fail(mismatch("neither true nor false"));
  }
  // One that is not known here stays the number it is: codes are append only.
  void take(errc& out) {
    out = static_cast<errc>(number(std::numeric_limits<std::uint8_t>::max()));
    if (!flaw_ && out == errc::ok)
      fail({errc::invalid_value, "ok is no failure"});
  }
  template <class Rep, class Period>
  void take(std::chrono::duration<Rep, Period>& out,
            std::chrono::milliseconds time_max = most::worker_lease_max) {
    using duration = std::chrono::duration<Rep, Period>;
    auto most_of_it = duration{time_max}.count();
    out = duration{number(static_cast<std::uint64_t>(most_of_it))};
  }

  void take(std::string& out, std::size_t bytes_max) {
    auto text = in_.text();
    if (!text)
      fail(mismatch("no text, or shorter than it says"));
    else if (text->size() > bytes_max)
      fail(too_large(text->size(), bytes_max, "bytes"));
    else
      out = *text;
  }
  void take(std::string& out, cut_text at) { take(out, at.bytes_max); }
  void take(std::string& out, id_text at) {
    auto id = in_.blob();
    if (!id)
      return take(out, at.bytes_max);
    if (id->size() != uuid_bytes)
      return fail(mismatch("neither the 16 bytes of an id nor a text"));
    out = uuid_text(*id);
  }

  void take(bytes& out) {
    if (auto blob = in_.blob())
      out.assign(blob->begin(), blob->end());
    else
      fail(mismatch("no bytes, or fewer than it says"));
  }

  void take(std::optional<error>& out) {
    if (in_.nil())
      return;
    if (in_.array() != std::size_t{4})
      return fail(mismatch("neither nil nor an error of four fields"));
    errc code{};
    std::string what, type, text;
    take(code);
    for (auto* part : {&what, &type, &text})
      if (!flaw_)
        take(*part, for_people);
    if (!flaw_)
      out.emplace(code, std::move(what), std::move(type), std::move(text));
  }

  // Nothing is reserved: a list grows with what has come.
  template <class Item> void take(std::vector<Item>& out, std::size_t count_max) {
    auto count = in_.array();
    if (!count)
      return fail(mismatch("no array, or shorter than it says"));
    if (*count > count_max)
      return fail(too_large(*count, count_max, "elements"));
    for (std::size_t i = 0; i < *count && !flaw_; ++i)
      take_item(out.emplace_back());
  }
  void take_item(std::string& out) { take(out, most::worker_label_bytes_max); }
  void take_item(graph_offer& out) {
    if (in_.array() != count_fields(out))
      return fail(mismatch("a graph has a name and a hash"));
    fields(*this, out);
  }

  wire_reader in_;
  std::string where_;
  std::optional<flaw> flaw_;
};

} // namespace

lane lane_of(const message& m) noexcept {
  auto is_control = []<class M>(const M&) {
    return one<
             M,
             hello> || one<M, welcome> || one<M, refusal> || one<M, heartbeat> || one<M, part_credit> || one<M, task_sign> || one<M, draining> || one<M, status_request> || one<M, drain_request>;
  };
  return std::visit(is_control, m) ? lane::control : lane::bulk;
}

result<bytes> encode_frame(std::span<const message> messages) {
  bytes frame;
  frame_writer out{frame};
  out.begin(messages.size());
  for (const auto& m : messages) {
    std::visit([&out, &m](const auto& body) { out.append(m.index(), body); }, m);
    if (out.failed())
      break;
  }
  if (auto ok = out.finish(); !ok)
    return ok.error();
  return frame;
}

result<bytes> encode_frame(const message& m) {
  return encode_frame(std::span{&m, 1});
}

result<void> decode_frame(std::span<const std::uint8_t> frame,
                          const std::function<void(message&&)>& sink) {
  return frame_reader{frame}.read(sink);
}

} // namespace troupe::cluster
