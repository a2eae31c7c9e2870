// gbnf_forms: building the rules of lists and objects.
#include "agents/grammar/gbnf_forms.hpp"

#include <algorithm>
#include <utility>

namespace troupe::gbnf {
namespace {

way optional_rule(rules& into, way one) {
  auto rule = into.add("");
  into.allow(rule, std::move(one));
  return {rules::name(rule) + '?', {}, {rule}};
}

// The items after the first ones; `begins`: first ones are missing, so these begin the list.
way rest_of_list(rules& into, rule_id item, const bounds& size, bool begins) {
  auto more = into.add("");
  into.allow(more, {R"("," " "? )" + rules::name(item), {item}});
  if (!begins) {
    way out{repeated(rules::name(more), size), {}, {more}};
    if (size.least > 0)
      out.needs.push_back(item);
    return out;
  }
  bounds others{std::max<std::int64_t>(size.least - 1, 0), size.most};
  if (others.most)
    --*others.most;
  way out{rules::name(item) + ' ' + repeated(rules::name(more), others), {item}, {more}};
  return size.least == 0 ? optional_rule(into, std::move(out)) : out;
}

} // namespace

// Built from the end: an optional item is a rule that includes the items which may follow it.
way list_of(rules& into, const std::vector<rule_id>& items, std::optional<rule_id> rest,
            const bounds& size) {
  way out;
  auto count = std::ssize(items);
  if (rest && (!size.most || *size.most > count)) {
    bounds left{std::max<std::int64_t>(size.least - count, 0), size.most};
    if (left.most)
      *left.most -= count;
    out = rest_of_list(into, *rest, left, count == 0);
  }
  for (auto i = count; i-- > 0;) {
    auto item = items[static_cast<std::size_t>(i)];
    out.text = (i == 0 ? "" : R"("," " "? )") + rules::name(item) + ' ' + out.text;
    out.needs.push_back(item);
    if (i >= size.least)
      out = optional_rule(into, std::move(out));
  }
  out.text = R"("[" )" + out.text + R"( "]")";
  return out;
}

// Each optional member has one rule for the members that may follow it, so that the grammar's size
// is linear in their number.
way object_of(rules& into, const std::vector<member>& first, const std::vector<member>& others,
              const std::optional<member>& further) {
  constexpr std::string_view comma = R"("," " "? )";
  way out;
  for (const auto& one : first) {
    out.text += (out.text.empty() ? "" : ' ' + std::string{comma}) + one.text;
    out.needs.push_back(one.rule);
  }
  std::optional<rule_id> behind;
  way begins; // the members that may begin the object, when none is required
  auto begin_with = [&begins](const member& one, const std::string& rest,
                              std::optional<rule_id> rule) {
    begins.text = one.text + rest + (begins.text.empty() ? "" : " | ") + begins.text;
    begins.may_need.push_back(one.rule);
    if (rule)
      begins.may_need.push_back(*rule);
  };
  if (further) {
    behind = into.add("");
    into.allow(*behind, {'(' + std::string{comma} + further->text + ")*", {}, {further->rule}});
    begin_with(*further, ' ' + rules::name(*behind), behind);
  }
  for (auto i = others.size(); i-- > 0;) {
    const auto& one = others[i];
    auto rest = behind ? ' ' + rules::name(*behind) : std::string{};
    begin_with(one, rest, behind);
    way next{'(' + std::string{comma} + one.text + ")?" + rest, {}, {one.rule}};
    if (behind)
      next.may_need.push_back(*behind);
    behind = into.add("");
    into.allow(*behind, std::move(next));
  }
  if (!first.empty() && behind) {
    out.text += ' ' + rules::name(*behind);
    out.may_need.push_back(*behind);
  } else if (first.empty() && !begins.text.empty()) {
    out = {'(' + begins.text + ")?", {}, std::move(begins.may_need)};
  }
  out.text = R"("{" )" + out.text + R"( "}")";
  return out;
}

} // namespace troupe::gbnf
