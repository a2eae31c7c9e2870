// large_texts: finding the large texts of a request, and compressing payloads around them.
#include "persistence/record/large_texts.hpp"

#include "persistence/record/compression.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace troupe {

namespace {

constexpr std::size_t needle_bytes = 64; // of a text; equal ones are compared as a whole
constexpr int candidates_max = 8;        // in a payload, for one text
constexpr std::size_t kept_frame_bytes_max = 1 << 20; // of memory between requests

std::optional<std::size_t> find_text(std::string_view payload, std::string_view text,
                                     std::size_t from) {
  for (int i = 0; i < candidates_max && payload.size() - from >= text.size(); ++i) {
    auto* found = static_cast<const char*>(
      memmem(payload.data() + from, payload.size() - from, text.data(), needle_bytes));
    if (!found)
      return std::nullopt;
    auto at = static_cast<std::size_t>(found - payload.data());
    if (payload.substr(at).starts_with(text))
      return at;
    from = at + 1;
  }
  return std::nullopt;
}

} // namespace

void large_texts::find_in(const std::vector<task_writes>& writes) {
  clear();
  auto values_left = values_max;
  for (const auto& task : writes)
    for (const auto& write : task.writes)
      look_into(write.second, values_left);
}

void large_texts::look_into(const value& v, std::size_t& values_left) {
  if (values_left == 0)
    return;
  --values_left;
  switch (v.kind()) {
    case value_kind::null:
    case value_kind::boolean:
    case value_kind::integer:
    case value_kind::floating: return;
    case value_kind::string: return add(v.as_string());
    case value_kind::bytes: {
      auto bytes = v.as_bytes();
      return add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    case value_kind::list:
      for (const auto& item : v.items())
        look_into(item, values_left);
      return;
    case value_kind::map:
      for (const auto& entry : v.entries())
        look_into(entry.val, values_left);
      return;
    default: look_into(v.payload(), values_left);
  }
}

void large_texts::add(std::string_view text) {
  if (text.size() < bytes_min || count_ == texts_max)
    return;
  if (count_ == texts_.size())
    texts_.emplace_back();
  auto& next = texts_[count_++];
  bytes_ += text.size();
  next.text = text;
  if (next.frame.capacity() > kept_frame_bytes_max)
    next.frame = {};
  next.frame.clear();
}

// Texts mostly stand in the order of the writes, so that the payload is searched once for all.
void large_texts::find_places(std::string_view payload) {
  places_.clear();
  if (payload.size() / payload_per_text_max > bytes_)
    return;
  std::size_t after = 0; // the text before
  for (std::size_t i = 0; i < count_; ++i) {
    auto text = texts_[i].text;
    auto at = find_text(payload, text, after);
    if (!at && after > 0)
      at = find_text(payload, text, 0);
    if (!at)
      continue;
    places_.push_back({*at, &texts_[i]});
    after = *at + text.size();
  }
  std::ranges::sort(places_, {}, &place::at);
}

bool large_texts::append(large_text& text, std::size_t bytes_max, std::string& out) {
  if (text.frame.empty()
      && !troupe::compress(text.text, compressed_bytes_max(text.text.size()), text.frame))
    return false;
  out.append(text.frame);
  return text.frame.size() <= bytes_max;
}

std::size_t large_texts::compress(std::string_view payload, std::size_t bytes_max,
                                  std::string& out) {
  find_places(payload);
  auto begin = out.size();
  std::size_t done = 0; // of the payload
  std::size_t frames = 0;
  auto left = [&] { return bytes_max - (out.size() - begin); };
  auto append_until = [&](std::size_t end) {
    auto part = payload.substr(done, end - done);
    done = end;
    if (part.empty())
      return true;
    ++frames;
    if (part.size() > uncompressed_text_bytes_max)
      return troupe::compress(part, left(), out);
    auto room = left();
    append_uncompressed(part, out);
    return part.size() + uncompressed_overhead_bytes <= room;
  };
  auto good = true;
  for (const auto& [at, what] : places_) {
    if (at < done) // within the text before
      continue;
    good = append_until(at) && append(*what, left(), out);
    if (!good)
      break;
    ++frames;
    done = at + what->text.size();
  }
  good = good && append_until(payload.size());
  if (good)
    return frames;
  out.resize(begin);
  return 0;
}

} // namespace troupe
