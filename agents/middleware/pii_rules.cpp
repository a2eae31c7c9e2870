// pii_rules: finding personal data in a text by scanning. Regular expressions are not used, because
// their time and stack depend on the text.
#include "agents/middleware/pii.hpp"

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

// Whether a word begins or ends at this place: the `\b` of regular expressions.
bool is_word_edge(std::string_view text, std::size_t at) {
  bool before = at > 0 && is_word(text[at - 1]);
  bool after = at < text.size() && is_word(text[at]);
  return before != after;
}

// ---- finding --------------------------------------------------------------------------------

// The end of the domain of an email address that begins here: after its last label of two letters
// or more. 0 when no domain begins here.
std::size_t end_of_domain(std::string_view text, std::size_t begin) {
  auto is_domain = [](char c) { return is_digit(c) || is_letter(c) || c == '.' || c == '-'; };
  auto end = begin;
  while (end < text.size() && is_domain(text[end]))
    ++end;
  for (auto at = end; at > begin + 1; --at) {
    if (text[at - 1] != '.')
      continue;
    auto stop = at;
    while (stop < end && is_letter(text[stop]))
      ++stop;
    if (stop - at >= 2 && is_word_edge(text, stop))
      return stop;
  }
  return 0;
}

pii_places find_emails(std::string_view text) {
  auto is_local = [](char c) { return is_word(c) || is_one_of(c, ".%+-"); };
  pii_places out;
  std::size_t free = 0; // texts before this place are found already, or can't be part of an
                        // address
  for (auto at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    auto begin = at;
    while (begin > free && is_local(text[begin - 1]))
      --begin;
    while (begin < at && !is_word_edge(text, begin))
      ++begin;
    auto end = begin < at ? end_of_domain(text, at + 1) : 0;
    free = at + 1;
    if (end > 0) {
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

// Sixteen digits, in groups of four with a blank or a dash between, or without.
pii_places find_cards(std::string_view text) {
  constexpr std::size_t card_digits = 16;
  pii_places out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i]) || (i > 0 && is_word(text[i - 1])))
      continue;
    std::string digits;
    auto end = i;
    while (end < text.size() && digits.size() < card_digits) {
      bool between = !digits.empty() && digits.size() % 4 == 0
                     && is_one_of(text[end], " -\t\r\n\f\v") && is_digit(text[end - 1]);
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

// The end of a text of the form of an IPv4 address that begins here; 0 without one. `valid`:
// its numbers are valid. A number with a leading zero is not, since it may be octal.
std::size_t end_of_ip(std::string_view text, std::size_t begin, bool& valid) {
  valid = true;
  auto end = begin;
  for (int part = 1;; ++part) {
    int number = 0;
    auto first = end;
    for (; end < text.size() && is_digit(text[end]) && end - first < 3; ++end)
      number = number * 10 + (text[end] - '0');
    if (end == first)
      return 0;
    valid &= number <= 255 && (end - first == 1 || text[first] != '0');
    if (part == 4)
      return is_word_edge(text, end) ? end : 0;
    if (end == text.size() || text[end] != '.')
      return 0;
    ++end;
  }
}

pii_places find_ips(std::string_view text) {
  pii_places out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i]) || !is_word_edge(text, i))
      continue;
    bool valid = false;
    auto end = end_of_ip(text, i, valid);
    if (end == 0)
      continue;
    if (valid)
      out.emplace_back(i, end);
    i = end - 1;
  }
  return out;
}

pii_places find_macs(std::string_view text) {
  constexpr std::size_t mac_size = 17; // six pairs and the characters between
  pii_places out;
  for (std::size_t i = 0; i + mac_size <= text.size(); ++i) {
    bool fits = is_word_edge(text, i) && is_word_edge(text, i + mac_size);
    for (std::size_t k = 0; fits && k < mac_size; ++k)
      fits = k % 3 == 2 ? is_one_of(text[i + k], ":-") : is_hex(text[i + k]);
    if (fits) {
      out.emplace_back(i, i + mac_size);
      i += mac_size - 1;
    }
  }
  return out;
}

constexpr std::string_view white = " \t\r\n\f\v";

// The end of an address without the punctuation of the sentence around it.
std::size_t without_punctuation(std::string_view text, std::size_t begin, std::size_t end) {
  while (end > begin && is_one_of(text[end - 1], ".,;:!?)"))
    --end;
  return end;
}

// Addresses with http:// or https:// before them.
pii_places find_full_urls(std::string_view text) {
  auto is_part = [](char c) { return !is_one_of(c, white) && !is_one_of(c, "<>\"{}|\\^`[]"); };
  pii_places out;
  for (auto at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
    auto before = text.substr(0, at);
    auto scheme = before.ends_with("https") ? 5U : before.ends_with("http") ? 4U : 0U;
    auto host = at + 3;
    bool within = !out.empty() && at < out.back().second;
    if (scheme == 0 || within || host == text.size() || is_one_of(text[host], "/?#"))
      continue;
    auto end = host;
    while (end < text.size() && is_part(text[end]))
      ++end;
    end = without_punctuation(text, host, end);
    if (end > host)
      out.emplace_back(at - scheme, end);
  }
  return out;
}

// The end of a label of a host's name that begins here; 0 when none does.
std::size_t end_of_label(std::string_view text, std::size_t begin) {
  constexpr std::size_t label_max = 63;
  auto is_label = [](char c) { return is_digit(c) || is_letter(c) || c == '-'; };
  auto end = begin;
  while (end < text.size() && is_label(text[end]) && end - begin <= label_max)
    ++end;
  while (end > begin && text[end - 1] == '-')
    --end;
  return end == begin || text[begin] == '-' || end - begin > label_max ? 0 : end;
}

// The end of a name of two or more labels that begins here; 0 when none does.
std::size_t end_of_host(std::string_view text, std::size_t begin) {
  auto end = end_of_label(text, begin);
  int labels = end > 0 ? 1 : 0;
  while (labels > 0 && end < text.size() && text[end] == '.') {
    auto next = end_of_label(text, end + 1);
    if (next == 0)
      break;
    end = next;
    ++labels;
  }
  return labels > 1 ? end : 0;
}

std::size_t end_of_port(std::string_view text, std::size_t host_end) {
  auto end = host_end;
  if (end + 1 >= text.size() || text[end] != ':' || !is_digit(text[end + 1]))
    return host_end;
  for (++end; end < text.size() && is_digit(text[end]);)
    ++end;
  return end;
}

// Addresses without a scheme that begin with www. or have a path. A bare name may be prose.
pii_places find_bare_urls(std::string_view text) {
  pii_places out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!(is_digit(text[i]) || is_letter(text[i])) || !is_word_edge(text, i))
      continue;
    auto host = end_of_host(text, i);
    if (host == 0)
      continue;
    auto end = end_of_port(text, host);
    bool has_path = end < text.size() && text[end] == '/';
    if (!has_path && !text.substr(i).starts_with("www.")) {
      i = host - 1;
      continue;
    }
    if (end < text.size() && is_one_of(text[end], "/?#"))
      while (end < text.size() && !is_one_of(text[end], white))
        ++end;
    end = without_punctuation(text, host, end);
    out.emplace_back(i, end);
    i = end - 1;
  }
  return out;
}

pii_places find_urls(std::string_view text) {
  auto out = find_full_urls(text);
  auto bare = find_bare_urls(text);
  std::erase_if(bare, [at = out.begin(), &out](const auto& place) mutable {
    while (at != out.end() && at->second <= place.first)
      ++at;
    return at != out.end() && at->first < place.second;
  });
  auto full = static_cast<std::ptrdiff_t>(out.size());
  out.insert(out.end(), bare.begin(), bare.end());
  std::inplace_merge(out.begin(), out.begin() + full, out.end());
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
  if (type == "mac_address") {
    std::string out;
    for (int pair = 0; pair < 5; ++pair)
      out += text.find(':') == std::string_view::npos ? "**-" : "**:";
    return out + std::string{text.substr(text.size() - 2)};
  }
  if (type == "url")
    return "[MASKED_URL]";
  auto end = std::string{text.substr(text.size() - std::min<std::size_t>(4, text.size()))};
  if (type == "credit_card") {
    std::string group = "****";
    for (char between : {'-', ' '})
      if (group.size() == 4 && text.find(between) != std::string_view::npos)
        group += between;
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
