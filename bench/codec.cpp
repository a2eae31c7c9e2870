// codec (section D): the checkpoint codec, and as a floor its library alone.

#include "bench/graphs.hpp"

#include <msgpack.hpp>

namespace troupe::bench {

namespace {

constexpr int copies = 100;
constexpr int keys = 5; // on both levels

/// A list of 62,500 leaves. No copy shares memory with another.
value copies_of_map() {
  std::vector<value> all;
  all.reserve(copies);
  for (int i = 0; i < copies; ++i)
    all.push_back(nested_map(keys, keys));
  return value::list(std::move(all));
}

figure encode(const sampler& sample) {
  auto v = copies_of_map();
  std::string bytes;
  auto figure = sample.batches([&] { bytes = to_msgpack(v).value(); });
  expect(from_msgpack(bytes).value() == v, "the value read back");
  note_state(bytes);
  return figure;
}

figure decode(const sampler& sample) {
  auto original = copies_of_map();
  auto bytes = to_msgpack(original).value();
  return sample.each([&] {
    value v;
    auto us = time_us([&] { v = from_msgpack(bytes).value(); });
    expect(v == original, "the value");
    note_result(v);
    return us;
  });
}

void pack_copies(msgpack::sbuffer& out) {
  static const std::string digits[keys] = {"0000000000", "1111111111", "2222222222", "3333333333",
                                           "4444444444"};
  static const std::string text = "hi?hi?hi?hi?hi?hi?hi?hi?hi?hi?";
  msgpack::packer<msgpack::sbuffer> packer{out};
  packer.pack_array(copies);
  for (int i = 0; i < copies; ++i) {
    packer.pack_map(keys);
    for (const auto& outer : digits) {
      packer.pack(outer);
      packer.pack_map(keys);
      for (const auto& inner : digits) {
        packer.pack(inner);
        packer.pack_array(25);
        for (int k = 0; k < 5; ++k)
          packer.pack(text).pack_true().pack(1).pack(std::int64_t{6327816386138}).pack_nil();
      }
    }
  }
}

figure pack_alone(const sampler& sample) {
  msgpack::sbuffer out;
  auto figure = sample.batches([&] {
    out.clear();
    pack_copies(out);
  });
  expect(std::string_view(out.data(), out.size()) == to_msgpack(copies_of_map()).value(),
         "the bytes");
  return figure;
}

figure unpack_alone(const sampler& sample) {
  msgpack::sbuffer bytes;
  pack_copies(bytes);
  return sample.each([&] {
    msgpack::object_handle objects;
    auto us = time_us([&] { objects = msgpack::unpack(bytes.data(), bytes.size()); });
    expect(objects->type == msgpack::type::ARRAY && objects->via.array.size == copies, "the list");
    return us;
  });
}

} // namespace

void add_codec(workloads& all) {
  all.push_back({"serde_encode_100x25", encode});
  all.push_back({"serde_decode_100x25", decode});
  all.push_back({"floor_msgpack_encode_100x25", pack_alone});
  all.push_back({"floor_msgpack_decode_100x25", unpack_alone});
}

} // namespace troupe::bench
