// Personal data in a text: found by scanning, never by regular expressions, whose time and stack
// depend on the text.
#include "agents/pii.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <span>

namespace troupe {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_word(char c) {
  return is_digit(c) || is_letter(c) || c == '_';
}
bool is_one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

// ---- finding --------------------------------------------------------------------------------

pii_places find_emails(std::string_view text) {
  auto is_local = [](char c) { return is_word(c) || is_one_of(c, ".%+-"); };
  auto is_domain = [](char c) { return is_digit(c) || is_letter(c) || c == '.' || c == '-'; };
  pii_places out;
  std::size_t free = 0; // what was found ends here
  for (auto at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    auto begin = at;
    while (begin > free && is_local(text[begin - 1]))
      --begin;
    auto end = at + 1;
    while (end < text.size() && is_domain(text[end]))
      ++end;
    while (end > at + 1 && !is_letter(text[end - 1]))
      --end;
    auto domain = text.substr(at + 1, end - at - 1);
    auto dot = domain.rfind('.');
    bool has_label = dot != std::string_view::npos && dot > 0 && domain.size() - dot > 2
                     && std::ranges::all_of(domain.substr(dot + 1), is_letter);
    if (begin < at && has_label) {
      out.emplace_back(begin, end);
      free = end;
    }
  }
  return out;
}

bool fits_luhn(std::string_view digits) {
  int sum = 0;
  bool twice = false;
  for (auto at = digits.rbegin(); at != digits.rend(); ++at, twice = !twice) {
    int n = *at - '0';
    n *= twice ? 2 : 1;
    sum += n > 9 ? n - 9 : n;
  }
  return sum % 10 == 0;
}

// Sixteen digits, in groups of four with blanks or dashes between, or without.
pii_places find_cards(std::string_view text) {
  constexpr std::size_t card_digits = 16;
  pii_places out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i]) || (i > 0 && is_word(text[i - 1])))
      continue;
    std::string digits;
    auto end = i;
    while (end < text.size() && digits.size() < card_digits) {
      bool between = !digits.empty() && digits.size() % 4 == 0 && is_one_of(text[end], " -")
                     && is_digit(text[end - 1]);
      if (is_digit(text[end]))
        digits += text[end];
      else if (!between)
        break;
      ++end;
    }
    bool ends = end == text.size() || !is_word(text[end]);
    if (digits.size() == card_digits && ends && fits_luhn(digits)) {
      out.emplace_back(i, end);
      i = end;
    }
  }
  return out;
}

pii_places find_ips(std::string_view text) {
  pii_places out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i]) || (i > 0 && (is_word(text[i - 1]) || text[i - 1] == '.')))
      continue;
    int parts = 0;
    auto end = i;
    while (true) {
      int number = 0;
      auto begin = end;
      while (end < text.size() && is_digit(text[end]) && end - begin < 3)
        number = number * 10 + (text[end++] - '0');
      if (end == begin || number > 255)
        break;
      ++parts;
      if (parts == 4 || end == text.size() || text[end] != '.')
        break;
      ++end;
    }
    bool ends = end == text.size() || !is_word(text[end]);
    if (parts == 4 && ends) {
      out.emplace_back(i, end);
      i = end;
    }
  }
  return out;
}

pii_places find_macs(std::string_view text) {
  constexpr std::size_t mac_size = 17; // six pairs and what stands between
  pii_places out;
  for (std::size_t i = 0; i + mac_size <= text.size(); ++i) {
    if (i > 0 && is_word(text[i - 1]))
      continue;
    char between = text[i + 2];
    bool fits = between == ':' || between == '-';
    for (std::size_t k = 0; fits && k < mac_size; ++k)
      fits = k % 3 == 2 ? text[i + k] == between : is_hex(text[i + k]);
    if (fits && (i + mac_size == text.size() || !is_word(text[i + mac_size]))) {
      out.emplace_back(i, i + mac_size);
      i += mac_size - 1;
    }
  }
  return out;
}

pii_places find_urls(std::string_view text) {
  pii_places out;
  for (auto at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
    auto begin = at;
    while (begin > 0 && is_letter(text[begin - 1]))
      --begin;
    auto scheme = text.substr(begin, at - begin);
    if (scheme != "http" && scheme != "https")
      continue;
    auto end = at + 3;
    while (end < text.size() && !is_one_of(text[end], " \t\r\n<>\"{}|\\^`[]"))
      ++end;
    while (end > at + 3 && is_one_of(text[end - 1], ".,;:!?)"))
      --end;
    if (end > at + 3)
      out.emplace_back(begin, end);
  }
  return out;
}

// ---- hiding ---------------------------------------------------------------------------------

std::string upper(std::string text) {
  for (auto& c : text)
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string hash_of(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string out;
  for (auto byte : std::span{digest}.first(4)) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

std::string masked(const std::string& type, std::string_view text) {
  if (type == "email")
    return std::string{text.substr(0, text.find('@'))} + "@****"
           + std::string{text.substr(text.rfind('.'))};
  if (type == "ip")
    return "*.*.*" + std::string{text.substr(text.rfind('.'))};
  if (type == "mac_address")
    return "**:**:**:**:**:" + std::string{text.substr(text.size() - 2)};
  if (type == "url")
    return "[MASKED_URL]";
  auto end = std::string{text.substr(text.size() - std::min<std::size_t>(4, text.size()))};
  if (type == "credit_card") {
    char between = is_digit(text[4]) ? '\0' : text[4];
    if (between == '\0')
      return "************" + end;
    std::string group = std::string{"****"} + between;
    return group + group + group + end;
  }
  return text.size() > 4 ? "****" + end : "****";
}

} // namespace

pii_finder pii_finder_of(const std::string& type) {
  constexpr std::pair<std::string_view, pii_places (*)(std::string_view)> known[] = {
    {"email", find_emails},
    {"credit_card", find_cards},
    {"ip", find_ips},
    {"mac_address", find_macs},
    {"url", find_urls}};
  for (auto [name, find] : known)
    if (name == type)
      return find;
  throw error{errc::invalid_config,
              "Unknown PII type: " + type
                + ". Must be one of email, credit_card, ip, mac_address, url, or have a `find`"};
}

std::string pii_guard::hidden(std::string_view found) const {
  switch (options.strategy) {
    case pii_strategy::mask: return masked(type, found);
    case pii_strategy::hash: return '<' + type + "_hash:" + hash_of(found) + '>';
    default: return "[REDACTED_" + upper(type) + ']';
  }
}

std::optional<std::string> pii_guard::clean(std::string_view text) const {
  auto found = find(text);
  if (found.empty())
    return std::nullopt;
  if (options.strategy == pii_strategy::block)
    throw node_error{"PIIDetectionError", "Detected " + std::to_string(found.size())
                                            + " instance(s) of " + type + " in text content"};
  std::string out;
  std::size_t done = 0;
  for (auto [begin, end] : found) {
    out += text.substr(done, begin - done);
    out += hidden(text.substr(begin, end - begin));
    done = end;
  }
  out += text.substr(done);
  return out;
}

} // namespace troupe
