// computer_screen: checking and replacing screenshots.
#include "agents/computer/computer_screen.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <vector>

namespace troupe {
namespace {

constexpr const char* older_screenshot = "[An older screenshot was here.]";

bool is_screenshot(const value& block) {
  return block["type"] == value("image");
}

bool is_of_computer(const value& message) {
  return message_role(message) == "tool" && message_member(message, "name") == value("computer");
}

std::size_t screenshots_in(const value& message) {
  if (!is_of_computer(message))
    return 0;
  return static_cast<std::size_t>(
    std::ranges::count_if(message_member(message, "content").items(), is_screenshot));
}

std::string base64_of(std::string_view data) {
  std::string out(4 * ((data.size() + 2) / 3) + 1, '\0'); // one more for OpenSSL's final NUL
  auto written = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(data.data()),
                                   static_cast<int>(data.size()));
  out.resize(static_cast<std::size_t>(written));
  return out;
}

std::string in_pixels(const screen_size& size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height);
}

} // namespace

std::optional<screen_size> png_size(std::string_view png) noexcept {
  constexpr std::string_view begin{"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16};
  if (!png.starts_with(begin) || png.size() < begin.size() + 8)
    return std::nullopt;
  auto number = [&png](std::size_t at) {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < 4; ++i)
      out = out << 8 | static_cast<unsigned char>(png[at + i]);
    return static_cast<int>(std::min<std::uint32_t>(out, limits::computer_display_edge_max + 1));
  };
  return screen_size{number(begin.size()), number(begin.size() + 4)};
}

value screenshot_block(std::string_view png, const std::optional<screen_size>& expected) {
  auto refuse = [](const std::string& why) {
    throw node_error{"ToolError", "The screenshot can't be shown: " + why};
  };
  auto size = png_size(png);
  if (!size)
    refuse("not a PNG image");
  if (expected && *size != *expected)
    refuse("it has " + in_pixels(*size) + " pixels, but the display has " + in_pixels(*expected));
  if (png.size() > limits::computer_screenshot_bytes_max)
    refuse("it has " + std::to_string(png.size()) + " bytes, more than "
           + std::to_string(limits::computer_screenshot_bytes_max));
  return value::map({{"type", "image"}, {"base64", base64_of(png)}, {"mime_type", "image/png"}});
}

value with_recent_screenshots(const value& messages, std::size_t most) {
  std::size_t all = 0;
  for (const auto& m : messages.items())
    all += screenshots_in(m);
  if (all <= most)
    return messages;
  auto at_a_time = std::max<std::size_t>(1, most / 2);
  auto goes = (all - most + at_a_time - 1) / at_a_time * at_a_time;
  std::vector<value> out;
  for (const auto& m : messages.items()) {
    if (goes == 0 || screenshots_in(m) == 0) {
      out.push_back(m);
      continue;
    }
    std::vector<value> blocks;
    for (const auto& block : message_member(m, "content").items())
      if (goes > 0 && is_screenshot(block)) {
        --goes;
        blocks.push_back(value::map({{"type", "text"}, {"text", older_screenshot}}));
      } else {
        blocks.push_back(block);
      }
    out.push_back(value::extension(value_kind::message,
                                   m.payload().with("content", value::list(std::move(blocks)))));
  }
  return value::list(std::move(out));
}

} // namespace troupe
