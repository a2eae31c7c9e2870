// gbnf_numbers: the text of a range.
#include "agents/grammar/gbnf_numbers.hpp"

#include <algorithm>
#include <string_view>

namespace troupe::gbnf {
namespace {

void add_way(std::string& to, const std::string& one) {
  to += (to.empty() ? "" : " | ") + one;
}

std::string digit(char low, char high) {
  return low == high ? std::string{'"', low, '"'} : std::string{'[', low, '-', high, ']'};
}

std::string any_digits(std::size_t count) {
  return count == 0 ? "" : " [0-9]{" + std::to_string(count) + '}';
}

// Digits from `a` to `b`, which have the same length.
std::string digits_between(std::string_view a, std::string_view b) {
  if (a.size() == 1)
    return digit(a[0], b[0]);
  auto rest = a.size() - 1;
  auto behind = [](char first, std::string_view from, std::string_view to) {
    return digit(first, first) + " (" + digits_between(from, to) + ')';
  };
  if (a[0] == b[0])
    return behind(a[0], a.substr(1), b.substr(1));
  const std::string zeros(rest, '0');
  const std::string nines(rest, '9');
  char low = a[0];
  char high = b[0];
  std::string out;
  if (a.substr(1) != zeros)
    add_way(out, behind(low++, a.substr(1), nines));
  bool ends_early = b.substr(1) != nines;
  if (ends_early)
    --high;
  if (low <= high)
    add_way(out, digit(low, high) + any_digits(rest));
  if (ends_early)
    add_way(out, behind(b[0], zeros, b.substr(1)));
  return out;
}

// Numbers from 0.
std::string naturals_between(std::int64_t least, std::int64_t most) {
  std::string out;
  if (least == 0)
    add_way(out, R"("0")");
  least = std::max<std::int64_t>(least, 1);
  while (least <= most) { // one length at a time
    auto from = std::to_string(least);
    auto longest = std::stoll(std::string(from.size(), '9'));
    auto to = std::min<std::int64_t>(longest, most);
    add_way(out, digits_between(from, std::to_string(to)));
    least = to + 1;
  }
  return out;
}

} // namespace

std::string between(const whole_numbers& range) {
  std::string out;
  if (range.most >= 0)
    out = naturals_between(std::max<std::int64_t>(range.least, 0), range.most);
  if (range.least < 0)
    if (auto below = naturals_between(std::max<std::int64_t>(-range.most, 1), -range.least);
        !below.empty())
      add_way(out, R"("-" ()" + below + ')');
  return out;
}

} // namespace troupe::gbnf
