#include "tests/conformance/labels.hpp"

#include <algorithm>
#include <functional>
#include <regex>

namespace troupe::conformance {
namespace {

// No text of a case begins with it.
constexpr std::string_view mark = "\x01id:";
constexpr char ns_letter = 'n';
constexpr std::string_view null_task = "00000000-0000-0000-0000-000000000000";

std::string with_mark(char letter, std::string_view id) {
  std::string out{mark};
  out += letter;
  out += id;
  return out;
}

// `ns` with the part after each segment's colon replaced.
std::string map_task_ids(std::string_view ns,
                         const std::function<std::string(const std::string&)>& replace) {
  std::string out;
  while (true) {
    auto end = std::min(ns.find('|'), ns.size());
    auto segment = ns.substr(0, end);
    auto colon = segment.find(':');
    out += segment.substr(0, colon);
    if (colon != segment.npos)
      out.append(1, ':').append(replace(std::string{segment.substr(colon + 1)}));
    if (end == ns.size())
      return out;
    out += '|';
    ns.remove_prefix(end + 1);
  }
}

} // namespace

std::string marked(label_kind kind, std::string_view id) {
  return with_mark(static_cast<char>(kind), id);
}

std::string marked_ns(std::string_view ns) {
  return with_mark(ns_letter, ns);
}

answer_json label_book::apply(const answer_json& answer) {
  if (answer.is_string())
    return unmarked(answer.get_ref<const std::string&>());
  if (answer.is_array()) {
    auto out = answer_json::array();
    for (const auto& item : answer)
      out.push_back(apply(item));
    return out;
  }
  if (!answer.is_object())
    return answer;
  auto out = answer_json::object();
  for (const auto& [key, member] : answer.items()) {
    auto name = unmarked(key); // before the member: labels are given in this order
    out[name] = apply(member);
  }
  return out;
}

const std::string& label_book::id(std::string_view label) const {
  auto found = ids_.find(label);
  if (found == ids_.end())
    throw unknown_label{"no identifier has the label " + std::string{label}};
  return found->second;
}

std::string label_book::ns(std::string_view labelled) const {
  return map_task_ids(labelled, [this](const std::string& label) { return id(label); });
}

std::string label_book::label(label_kind kind, const std::string& id) {
  if (kind == label_kind::task && id == null_task)
    return "t0";
  auto letter = static_cast<char>(kind);
  auto& label = labels_[letter + id];
  if (label.empty()) {
    label = letter + std::to_string(++counts_[kind]);
    ids_[label] = id;
  }
  return label;
}

std::string label_book::labelled_ns(std::string_view ns) {
  return map_task_ids(ns, [this](const std::string& id) { return label(label_kind::task, id); });
}

std::string label_book::unmarked(const std::string& text) {
  if (!text.starts_with(mark))
    return text;
  auto letter = text.at(mark.size());
  auto id = text.substr(mark.size() + 1);
  if (letter == ns_letter)
    return labelled_ns(id);
  auto kind = static_cast<label_kind>(letter);
  if (kind == label_kind::message && !generated(id))
    return id;
  return label(kind, id);
}

bool label_book::generated(const std::string& message_id) const {
  static const std::regex uuid{"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"};
  return std::regex_search(message_id, uuid) && given_.find(message_id) == given_.npos;
}

} // namespace troupe::conformance
