// Comparing values member by member.
#include <troupe/diff.hpp>

#include <algorithm>

namespace troupe {

namespace {

class comparison {
public:
  std::vector<value_change> changes;

  void compare(const std::string& path, const value& a, const value& b) {
    if (a == b)
      return;
    if (a.is_map() && b.is_map())
      return compare_maps(path, a, b);
    if (a.is_list() && b.is_list())
      return compare_lists(path, a, b);
    changes.push_back({path, a, b});
  }

private:
  static std::string member(const std::string& path, std::string_view name) {
    std::string out = path + "/";
    for (char c : name) // RFC 6901
      out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return out;
  }

  void compare_maps(const std::string& path, const value& a, const value& b) {
    auto x = a.entries();
    auto y = b.entries();
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < x.size() || j < y.size()) { // both are ordered by key
      if (j == y.size() || (i < x.size() && x[i].key() < y[j].key())) {
        changes.push_back({member(path, x[i].key()), x[i].val, std::nullopt});
        ++i;
      } else if (i == x.size() || y[j].key() < x[i].key()) {
        changes.push_back({member(path, y[j].key()), std::nullopt, y[j].val});
        ++j;
      } else {
        compare(member(path, x[i].key()), x[i].val, y[j].val);
        ++i;
        ++j;
      }
    }
  }

  void compare_lists(const std::string& path, const value& a, const value& b) {
    auto common = std::min(a.size(), b.size());
    for (std::size_t i = 0; i < common; ++i)
      compare(path + "/" + std::to_string(i), a[i], b[i]);
    for (auto i = common; i < a.size(); ++i)
      changes.push_back({path + "/" + std::to_string(i), a[i], std::nullopt});
    for (auto i = common; i < b.size(); ++i)
      changes.push_back({path + "/" + std::to_string(i), std::nullopt, b[i]});
  }
};

std::vector<std::string> missing_in(const std::vector<std::string>& some,
                                    const std::vector<std::string>& others) {
  std::vector<std::string> out;
  for (const auto& s : some)
    if (std::find(others.begin(), others.end(), s) == others.end())
      out.push_back(s);
  return out;
}

std::int64_t step_of(const state_snapshot& s) {
  const auto& step = s.metadata["step"];
  return step.is_int() ? step.as_int() : -2; // before the first checkpoint
}

} // namespace

std::vector<value_change> diff_values(const value& before, const value& after) {
  comparison both;
  both.compare("", before, after);
  return std::move(both.changes);
}

state_diff diff_states(const state_snapshot& before, const state_snapshot& after) {
  return {diff_values(before.values, after.values), missing_in(before.next, after.next),
          missing_in(after.next, before.next), step_of(after) - step_of(before)};
}

} // namespace troupe
