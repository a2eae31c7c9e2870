// Identities: XXH3-128 for tasks and interrupts, uuid5 for updates, uuid6 for checkpoints.
#include "graph/task_id.hpp"

#include "graph/uuid_text.hpp"

#include <troupe/error.hpp>

#include <boost/uuid/name_generator_sha1.hpp>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

namespace troupe {
namespace {

uuid_bytes big_endian(std::uint64_t high, std::uint64_t low) {
  high = __builtin_bswap64(high);
  low = __builtin_bswap64(low);
  uuid_bytes out;
  std::memcpy(out.data(), &high, sizeof high);
  std::memcpy(out.data() + sizeof high, &low, sizeof low);
  return out;
}

constexpr unsigned no_digit = 16;

constexpr std::array<std::uint8_t, 256> hex_values = [] {
  std::array<std::uint8_t, 256> out{};
  out.fill(no_digit);
  for (unsigned i = 0; i < 16; ++i)
    for (char c : {"0123456789abcdef"[i], "0123456789ABCDEF"[i]})
      out[static_cast<unsigned char>(c)] = static_cast<std::uint8_t>(i);
  return out;
}();

unsigned hex_value(char c) {
  return hex_values[static_cast<unsigned char>(c)];
}

error no_uuid(std::string_view text) {
  return {errc::invalid_value, "make an id: not a UUID: " + std::string{text}};
}

// The 16 bytes of a UUID; the dashes may stand anywhere or be missing.
uuid_bytes parse_uuid(std::string_view text) {
  uuid_bytes out{};
  if (parse_uuid_text(text, out))
    return out;
  out = {};
  std::size_t digits = 0;
  for (char c : text) {
    if (c == '-')
      continue;
    auto digit = hex_value(c);
    if (digit == no_digit || digits == 32)
      throw no_uuid(text);
    out[digits / 2] = static_cast<unsigned char>(out[digits / 2] << 4 | digit);
    ++digits;
  }
  if (digits != 32)
    throw no_uuid(text);
  return out;
}

// The digits of a number, without an allocation.
class decimal {
public:
  explicit decimal(std::int64_t n)
    : size_{static_cast<std::size_t>(std::to_chars(text_, std::end(text_), n).ptr - text_)} {}
  operator std::string_view() const { return {text_, size_}; }

private:
  char text_[20]; // the longest int64, with its sign
  std::size_t size_;
};

// ---- hashing --------------------------------------------------------------------------------

// XXH3-128 of text that comes in parts. Short text is gathered on the stack, longer text is
// streamed.
class hasher {
public:
  void add(std::string_view part) {
    if (part.size() > sizeof buffer_ - used_) {
      spill();
      if (part.size() > sizeof buffer_) {
        XXH3_128bits_update(&state_, part.data(), part.size());
        return;
      }
    }
    std::copy_n(part.data(), part.size(), buffer_ + used_);
    used_ += part.size();
  }

  uuid_bytes digest() {
    if (spilled_)
      spill();
    auto hash = spilled_ ? XXH3_128bits_digest(&state_) : XXH3_128bits(buffer_, used_);
    return big_endian(hash.high64, hash.low64);
  }

private:
  void spill() {
    if (!spilled_)
      XXH3_128bits_reset(&state_);
    spilled_ = true;
    XXH3_128bits_update(&state_, buffer_, used_);
    used_ = 0;
  }

  char buffer_[512];
  std::size_t used_ = 0;
  bool spilled_ = false;
  XXH3_state_t state_; // used only once spilled
};

void add_checkpoint(hasher& h, std::string_view checkpoint_id) {
  auto bytes = parse_uuid(checkpoint_id);
  h.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

constexpr std::string_view pull = "__pregel_pull";
constexpr char path_mark = '~';
constexpr std::string_view part_separator = ", ";
constexpr std::string_view push = "__pregel_push";

} // namespace

// ---- tasks ----------------------------------------------------------------------------------

std::string xxh3_128_hex(std::string_view bytes) {
  auto hash = XXH3_128bits(bytes.data(), bytes.size());
  return hex_text(big_endian(hash.high64, hash.low64));
}

std::string task_id(std::string_view checkpoint_id, std::span<const std::string_view> parts) {
  hasher h;
  add_checkpoint(h, checkpoint_id);
  for (auto part : parts)
    h.add(part);
  return uuid_text(h.digest());
}

std::string node_task_id(const plan_context& at, std::string_view node,
                         std::span<const std::string_view> suffix) {
  hasher h;
  add_checkpoint(h, at.checkpoint_id);
  if (!at.checkpoint_ns.empty()) {
    h.add(at.checkpoint_ns);
    h.add("|");
  }
  h.add(node);
  h.add(decimal{at.step});
  for (auto part : suffix)
    h.add(part);
  return uuid_text(h.digest());
}

std::string sent_task_id(const plan_context& at, std::string_view node, std::uint32_t index) {
  const decimal number{index};
  const std::string_view suffix[] = {node, push, number};
  return node_task_id(at, node, suffix);
}

std::string interrupt_id(std::string_view task_ns, std::size_t answers) {
  hasher h;
  h.add(task_ns);
  if (answers > 0) {
    h.add("|");
    h.add(decimal{static_cast<std::int64_t>(answers)});
  }
  return hex_text(h.digest());
}

// ---- paths ----------------------------------------------------------------------------------

namespace {

// Padded as Python's `:010`: the sign counts.
void append_padded(std::string& out, std::int64_t n) {
  constexpr std::size_t width = 10;
  decimal number{n};
  std::string_view digits = number;
  if (n < 0) {
    out += '-';
    digits.remove_prefix(1);
  }
  auto used = digits.size() + (n < 0);
  out.append(used < width ? width - used : 0, '0');
  out += digits;
}

void append_path(std::string& out, const task_path& path);

struct part_writer {
  std::string& out;
  void operator()(const std::string& text) const { out += text; }
  void operator()(std::int64_t n) const { append_padded(out, n); }
  void operator()(bool b) const { append_padded(out, b); }
  void operator()(const task_path& nested) const { append_path(out, nested); }
};

void append_path(std::string& out, const task_path& path) {
  out += path_mark;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i > 0)
      out += part_separator;
    std::visit(part_writer{out}, path[i].part);
  }
}

} // namespace

task_path pull_path(std::string_view node) {
  return {{std::string{pull}}, {std::string{node}}};
}

task_path push_path(std::int64_t index) {
  return {{std::string{push}}, {index}, {false}};
}

std::string task_path_str(const task_path& path) {
  std::string out;
  out.reserve(48);
  append_path(out, path);
  return out;
}

std::string pull_path_str(std::string_view node) {
  std::string out;
  pull_path_str(node, out);
  return out;
}

void pull_path_str(std::string_view node, std::string& into) {
  into.clear();
  into.reserve(1 + pull.size() + part_separator.size() + node.size());
  into.append(1, path_mark).append(pull).append(part_separator).append(node);
}

// ---- UUIDs ----------------------------------------------------------------------------------

namespace {

constexpr std::uint64_t variant_bits = 0x8000'0000'0000'0000;

constexpr std::uint64_t with_version(std::uint64_t high, std::uint64_t version) {
  return (high & ~std::uint64_t{0xf000}) | version << 12;
}

} // namespace

std::string uuid5(std::string_view namespace_uuid, std::string_view name) {
  boost::uuids::uuid space{};
  std::ranges::copy(parse_uuid(namespace_uuid), space.begin());
  auto made = boost::uuids::name_generator_sha1{space}(name.data(), name.size());
  uuid_bytes bytes{};
  std::ranges::copy(made, bytes.begin());
  return uuid_text(bytes);
}

std::string uuid4(std::uint64_t high, std::uint64_t low) {
  return uuid_text(big_endian(with_version(high, 4), variant_bits | low >> 2));
}

std::uint64_t id_ticks(std::string_view checkpoint_id) {
  uuid_bytes bytes{};
  if (!parse_uuid_text(checkpoint_id, bytes) || bytes[6] >> 4 != 6)
    return 0;
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < 8; ++i)
    high = high << 8 | bytes[i];
  auto ticks = (high >> 16) << 12 | (high & 0xfff);
  return ticks <= id_ticks_max ? ticks : 0;
}

std::uint64_t checkpoint_id_clock::next_ticks(std::uint64_t now_ns, std::uint64_t above) noexcept {
  constexpr std::uint64_t ticks_1582_to_1970 = 0x01B2'1DD2'1381'4000;
  last_ = std::max(now_ns / 100 + ticks_1582_to_1970, last_ + 1);
  return std::max(last_, above + 1);
}

void checkpoint_id(std::uint64_t ticks, std::int64_t step, std::uint64_t random,
                   std::string& into) {
  auto sequence = static_cast<std::uint64_t>(step) & 0x3fff;
  auto high = with_version((ticks >> 12) << 16 | (ticks & 0xfff), 6);
  auto low = variant_bits | sequence << 48 | (random & 0xffff'ffff'ffff);
  uuid_text(big_endian(high, low), into);
}

} // namespace troupe
