// wire: writes and reads frames by the table of wire_fields.hpp.
#include "cluster/wire/wire.hpp"

#include "cluster/wire/wire_fields.hpp"
#include "cluster/wire/wire_reader.hpp"
#include "graph/cut_utf8.hpp"
#include "graph/uuid_text.hpp"

#include <troupe/limits.hpp>

#include <msgpack/pack.hpp>

#include <limits>
#include <utility>

namespace troupe::cluster {

namespace {

// ---- failures -----------------------------------------------------------------------------------

/// An error without its place.
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
    where_ = message_names[kind];
    array(1 + count_fields(m));
    pack_.pack_uint64(kind);
    fields(*this, m);
    if (!flaw_ && sink_.out.size() > limits::cluster_frame_bytes_max)
      fail(too_large(sink_.out.size(), limits::cluster_frame_bytes_max, "bytes"));
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
      return fail({errc::invalid_value, "ok is not a failure"});
    pack_.pack_uint64(static_cast<std::uint64_t>(code));
  }
  template <class Rep, class Period>
  void put(std::chrono::duration<Rep, Period> time,
           std::chrono::milliseconds time_max = limits::worker_lease_max) {
    if (time.count() < 0 || time > time_max)
      return fail({errc::invalid_value, "the duration is negative or too long"});
    pack_.pack_uint64(static_cast<std::uint64_t>(time.count()));
  }

  void put(const std::string& text, std::size_t bytes_max) {
    if (text.size() > bytes_max)
      return fail(too_large(text.size(), bytes_max, "bytes"));
    put_text(text);
  }
  void put(const std::string& text, cut_text at) { put_text(cut_utf8(text, at.bytes_max)); }
  void put(const std::string& text, id_text at) {
    uuid_bytes id;
    if (!parse_uuid_text(text, id))
      return put(text, at.bytes_max);
    pack_.pack_bin(static_cast<std::uint32_t>(id.size()));
    pack_.pack_bin_body(reinterpret_cast<const char*>(id.data()),
                        static_cast<std::uint32_t>(id.size()));
  }
  void put_text(std::string_view text) {
    pack_.pack_str(static_cast<std::uint32_t>(text.size()));
    pack_.pack_str_body(text.data(), static_cast<std::uint32_t>(text.size()));
  }

  void put(const bytes& blob) {
    if (blob.size() > limits::cluster_frame_bytes_max)
      return fail(too_large(blob.size(), limits::cluster_frame_bytes_max, "bytes"));
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
    // The text is left out when it equals the message.
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
      put(text, limits::worker_label_bytes_max);
  }
  void put_item(const graph_offer& graph) {
    array(count_fields(graph));
    fields(*this, graph);
  }

  bytes_sink sink_;
  msgpack::packer<bytes_sink> pack_;
  std::string where_; // the message; while a field is written, the field, too
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
      return frame_error("read", "", mismatch("not an array, or shorter than its length"));
    for (std::size_t i = 0; i < *count; ++i) {
      auto m = next();
      if (flaw_)
        return frame_error("read", where_, *flaw_);
      sink(std::move(m));
    }
    if (!in_.at_end())
      return frame_error("read", "", mismatch("bytes follow after its messages"));
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
      fail(mismatch("not an array that begins with a kind, or shorter than its length"));
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
    where_ = message_names[kind];
    return (this->*readings[kind])(size);
  }

  template <std::size_t Kind> message body(std::size_t size) {
    std::variant_alternative_t<Kind, message> m;
    if (auto known = count_fields(m); size != known)
      fail(other_size(size, known, Kind == 0));
    fields(*this, m);
    return m;
  }

  // A hello of another version still has the protocol number as its first field.
  flaw other_size(std::size_t size, std::size_t known, bool is_hello) {
    auto protocol = is_hello && size > 0 ? in_.number() : std::nullopt;
    if (protocol && *protocol != protocol_version)
      return mismatch("the peer speaks protocol " + std::to_string(*protocol) + ", this process "
                      + std::to_string(protocol_version));
    return mismatch(std::to_string(size) + " fields instead of " + std::to_string(known));
  }

  std::uint64_t number(std::uint64_t largest) {
    auto n = in_.number();
    if (!n)
      fail(mismatch("not a number of 0 or more"));
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
  // A code that this version does not know stays as its number: codes are append only.
  void take(errc& out) {
    out = static_cast<errc>(number(std::numeric_limits<std::uint8_t>::max()));
    if (!flaw_ && out == errc::ok)
      fail({errc::invalid_value, "ok is not a failure"});
  }
  template <class Rep, class Period>
  void take(std::chrono::duration<Rep, Period>& out,
            std::chrono::milliseconds time_max = limits::worker_lease_max) {
    using duration = std::chrono::duration<Rep, Period>;
    auto most_of_it = duration{time_max}.count();
    out = duration{number(static_cast<std::uint64_t>(most_of_it))};
  }

  void take(std::string& out, std::size_t bytes_max) {
    auto text = in_.text();
    if (!text)
      fail(mismatch("not a text, or shorter than its length"));
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
    if (id->size() != uuid_bytes{}.size())
      return fail(mismatch("neither the 16 bytes of an id nor a text"));
    out = uuid_text(id->first<16>());
  }

  void take(bytes& out) {
    if (auto blob = in_.blob())
      out.assign(blob->begin(), blob->end());
    else
      fail(mismatch("not bytes, or fewer than their length"));
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

  // Reserves nothing: a list grows with the elements that have come.
  template <class Item> void take(std::vector<Item>& out, std::size_t count_max) {
    auto count = in_.array();
    if (!count)
      return fail(mismatch("not an array, or shorter than its length"));
    if (*count > count_max)
      return fail(too_large(*count, count_max, "elements"));
    for (std::size_t i = 0; i < *count && !flaw_; ++i)
      take_item(out.emplace_back());
  }
  void take_item(std::string& out) { take(out, limits::worker_label_bytes_max); }
  void take_item(graph_offer& out) {
    if (in_.array() != count_fields(out))
      return fail(mismatch("a graph must have a name, a hash, a build and a version"));
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
