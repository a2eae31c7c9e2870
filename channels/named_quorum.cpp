// named_quorum: a join that waits for enough of its names rather than for all.
// A round begins with the first name. It ends when every name has arrived, or when a name arrives a
// second time, which begins the next round.
// Within a round the join is available once: when `need` names are there or, after its time-out,
// with the names that are there. Later arrivals of the round are absorbed.
// The cell's content is the ascending list of the names of the round. `finished`: the round was
// consumed. A null as the last element: the time-out has passed.
// Source: troupe.
#include "channels/kinds.hpp"

#include <algorithm>
#include <vector>

namespace troupe {
namespace {

struct round {
  std::vector<value> names;
  bool hurried = false; // the time-out has passed
  bool used = false;    // the round was consumed
};

round round_of(const channel_cell& cell) {
  round out;
  if (!cell.set)
    return out;
  for (const auto& v : cell.content.items())
    if (v.is_null())
      out.hurried = true;
    else
      out.names.push_back(v);
  out.used = cell.finished;
  return out;
}

void keep(channel_cell& cell, round r) {
  std::sort(r.names.begin(), r.names.end(),
            [](const value& a, const value& b) { return a.as_string() < b.as_string(); });
  if (r.hurried)
    r.names.emplace_back();
  cell.set = !r.names.empty();
  cell.finished = cell.set && r.used;
  cell.content = cell.set ? value::list(std::move(r.names)) : value{};
}

result<bool> update(const channel_spec& spec, std::string_view name, channel_cell& cell,
                    std::span<const value> writes) {
  if (writes.empty())
    return false;
  auto now = round_of(cell);
  for (const auto& w : writes) {
    if (!w.is_string()
        || std::find(spec.names.begin(), spec.names.end(), w.as_string()) == spec.names.end())
      return refused_update(name, "Value " + to_json(w) + " is not one of the names it waits for");
    bool again = std::find(now.names.begin(), now.names.end(), w) != now.names.end();
    if (again && !now.used)
      continue;
    if (again)
      now = {};
    now.names.push_back(w);
    if (now.used && now.names.size() == spec.names.size())
      now = {};
  }
  keep(cell, std::move(now));
  return true;
}

bool available(const channel_spec& spec, const channel_cell& cell) {
  if (!cell.set || cell.finished)
    return false;
  auto now = round_of(cell);
  return now.hurried || now.names.size() >= spec.need;
}

bool consume(const channel_spec& spec, channel_cell& cell) {
  if (!available(spec, cell))
    return false;
  auto now = round_of(cell);
  now.used = true;
  now.hurried = false;
  if (now.names.size() == spec.names.size())
    now = {};
  keep(cell, std::move(now));
  return true;
}

bool finish(const channel_spec& spec, channel_cell& cell) {
  if (spec.patience.count() == 0 || !cell.set || cell.finished || available(spec, cell))
    return false;
  auto now = round_of(cell);
  now.hurried = true;
  keep(cell, std::move(now));
  return true;
}

std::optional<channel_cell> load(const channel_spec&, const value& stored) {
  if (!stored.is_list() || stored.size() != 2 || !stored[0].is_list() || !stored[1].is_bool())
    return std::nullopt;
  channel_cell out;
  out.content = stored[0];
  out.set = !stored[0].empty();
  out.finished = out.set && stored[1].as_bool();
  for (const auto& v : stored[0].items())
    if (!v.is_string() && !v.is_null())
      return std::nullopt;
  return out;
}

} // namespace

const channel_rule named_quorum_rule{
  .update = update,
  .consume = consume,
  .finish = finish,
  .available = available,
  .store = [](const channel_cell& cell) -> std::optional<value> {
    return value::list({cell.set ? cell.content : value::list(), value(cell.finished)});
  },
  .load = load,
  .read = read_nothing,
};

} // namespace troupe
