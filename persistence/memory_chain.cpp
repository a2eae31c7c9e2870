// memory_chain: encoding and finding the records of a namespace in memory.
#include "persistence/memory_chain.hpp"

#include "graph/expects.hpp"
#include "persistence/record/checkpoint_record.hpp"
#include "persistence/record/keys.hpp"
#include "persistence/record/metadata_record.hpp"
#include "persistence/record/refill.hpp"
#include "persistence/record/saver_rules.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace troupe {

namespace {

static_assert(limits::checkpoint_id_bytes_max < 256); // the size of an id is one byte

// Payloads were encoded here, so they can be read.
template <class T> T readable(result<T> read) {
  expects(static_cast<bool>(read), "the saver in memory can read what it wrote");
  return std::move(*read);
}

// Metadata of a few bytes are encoded. Larger ones share parts with those of other checkpoints.
bool are_few(const value& metadata) {
  if (!metadata.is_map() || metadata.size() > 3)
    return false;
  const auto& parents = metadata["parents"];
  return parents.is_map() && parents.empty();
}

// The first run of a thread makes a few entries: they lie in one piece of memory.
template <class List> void reserve_few(List& list, std::size_t few = 4) {
  if (list.capacity() == 0)
    list.reserve(few);
}

template <class List, class F> std::size_t erase_those(List& list, const F& is_gone) {
  auto left = std::remove_if(list.begin(), list.end(), is_gone);
  auto count = static_cast<std::size_t>(list.end() - left);
  list.erase(left, list.end());
  return count;
}

// The first of `size` places that `is_before` is false of; it is true of all places before it.
// Cost: a few calls when the place is near `guess`.
template <class F> std::size_t place_near(std::size_t guess, std::size_t size, const F& is_before) {
  auto first = std::size_t{0}, last = size;
  if (guess < size && is_before(guess)) {
    first = guess + 1;
    for (std::size_t reach = 1; first + reach <= size; reach *= 2) {
      if (!is_before(first + reach - 1)) {
        last = first + reach - 1;
        break;
      }
      first += reach;
    }
  } else {
    last = std::min(guess, size);
    for (std::size_t reach = 1; reach <= last; reach *= 2) {
      if (is_before(last - reach)) {
        first = last - reach + 1;
        break;
      }
      last -= reach;
    }
  }
  while (first < last) {
    auto middle = first + (last - first) / 2;
    if (is_before(middle))
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

store_key task_key(std::string_view checkpoint_id, std::string_view task_id) {
  store_key key;
  key.append_id(checkpoint_id);
  key.append_id(task_id);
  return key;
}

// Where a thread makes its records, before each is copied without unused capacity.
std::string& empty_scratch() {
  thread_local std::string scratch;
  scratch.clear();
  return scratch;
}

} // namespace

// ---- checkpoints --------------------------------------------------------------------------------

std::size_t memory_chain::before(std::string_view id) const noexcept {
  if (checkpoints_.empty() || checkpoints_.back().id() < id) // usually
    return checkpoints_.size();
  auto at = std::ranges::lower_bound(checkpoints_, id, {}, &kept_checkpoint::id);
  return static_cast<std::size_t>(at - checkpoints_.begin());
}

std::optional<std::size_t> memory_chain::find(std::string_view id) const noexcept {
  if (newest() == id && !checkpoints_.empty())
    return checkpoints_.size() - 1;
  auto at = before(id);
  return at < checkpoints_.size() && checkpoints_[at].id() == id ? std::optional{at} : std::nullopt;
}

numbered_checkpoint memory_chain::numbers(const name_table& names, std::size_t at) const {
  numbered_checkpoint out;
  readable(read_checkpoint(checkpoints_[at].payload(), names.all().size(), out));
  return out;
}

value memory_chain::metadata(const name_table& names, std::size_t at) const {
  const auto& kept = checkpoints_[at];
  if (!kept.metadata.is_null())
    return kept.metadata;
  numbered_checkpoint stored;
  auto metadata = readable(read_checkpoint(kept.payload(), names.all().size(), stored));
  return metadata.empty() ? value{} : readable(read_metadata(metadata));
}

checkpoint_summary memory_chain::summary(const name_table& names, std::size_t at) const {
  auto stored = numbers(names, at);
  return {std::string{id(at)}, std::move(stored.parent_id), std::move(stored.ts),
          metadata(names, at)};
}

checkpoint_tuple memory_chain::read(const name_table& names, std::size_t at) const {
  const auto& kept = checkpoints_[at];
  auto stored = readable(read_checkpoint(kept.payload(), names.all()));
  checkpoint_tuple out{
    .ref = {{}, {}, std::string{kept.id()}},
    .checkpoint = std::move(stored.checkpoint),
    .metadata = stored.metadata.empty() ? kept.metadata : readable(read_metadata(stored.metadata)),
    .parent_id = std::move(stored.parent_id),
    .pending_writes = in_task_order(writes_of(names, kept.id(), first_task(at)))};
  out.checkpoint.id = kept.id();
  const auto& versions = out.checkpoint.channel_versions;
  for (std::size_t i = 0; i < versions.size(); ++i)
    if (const auto* val = find_value(versions[i].second, stored.channels[i]))
      out.checkpoint.channel_values.emplace_back(versions[i].first, *val);
  return out;
}

void memory_chain::read(const name_table& names, std::size_t at, numbered_tuple& out,
                        page_names& page) const {
  const auto& kept = checkpoints_[at];
  const auto& texts = names.all();
  out.id = std::string{kept.id()}; // its reader took the memory of the last one
  auto metadata = readable(read_checkpoint(kept.payload(), texts.size(), out.checkpoint));
  if (metadata.empty())
    out.metadata = kept.metadata;
  else
    out.metadata = readable(read_metadata(metadata));
  auto& versions = out.checkpoint.versions;
  out.values.resize(versions.size());
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (const auto* val = find_value(versions[i].at, versions[i].channel))
      out.values[i] = *val;
    else
      out.values[i].reset();
    versions[i].channel = page.number(versions[i].channel, texts[versions[i].channel]);
  }
  for (auto& of : out.checkpoint.seen)
    of.node = page.number(of.node, texts[of.node]);
  for (auto& of : out.checkpoint.seen_versions)
    of.channel = page.number(of.channel, texts[of.channel]);
  read_tasks(names, at, out.tasks, page);
}

bool memory_chain::stores(const name_table& names, std::size_t at,
                          const std::string& channel) const {
  auto stored = numbers(names, at);
  for (const auto& of : stored.versions)
    if (names.all()[of.channel] == channel)
      return find_value(of.at, of.channel) != nullptr;
  return false;
}

void memory_chain::store_checkpoint(const checkpoint_put& put, numbered_put& numbers) {
  const auto& cp = put.checkpoint;
  for (auto& [channel, at, val] : numbers.moved)
    store_value(at, channel, std::move(val));
  std::string metadata;
  auto encoded = are_few(put.metadata) && append_short_metadata(put.metadata, metadata);
  auto& record = empty_scratch();
  record.push_back(static_cast<char>(cp.id.size()));
  record.append(cp.id);
  append_checkpoint({cp.v, cp.ts, put.parent_id, metadata}, numbers.checkpoint, record);
  reserve_few(checkpoints_);
  kept_checkpoint kept{kept_bytes{record}, encoded ? value{} : put.metadata};
  auto at = before(cp.id);
  if (at < checkpoints_.size() && checkpoints_[at].id() == cp.id)
    checkpoints_[at] = std::move(kept);
  else
    checkpoints_.insert(checkpoints_.begin() + static_cast<std::ptrdiff_t>(at), std::move(kept));
}

void memory_chain::erase(const std::function<bool(std::string_view id)>& is_gone) {
  erase_those(checkpoints_, [&](const kept_checkpoint& kept) { return is_gone(kept.id()); });
  erase_those(tasks_, [&](const kept_task& task) {
    auto ids = task.record.view();
    return is_gone(take_id(ids).value_or(""));
  });
}

// ---- values -------------------------------------------------------------------------------------

// The versions of a steady thread have equal numbers of values.
std::size_t memory_chain::value_place(const version& at, std::uint32_t channel) const noexcept {
  auto place = values_.size();
  if (place > 0 && at.number > 0 && at.number < values_.back().at.number)
    place = (at.number - 1) * place / values_.back().at.number;
  return place_near(place, values_.size(), [&](std::size_t i) {
    return std::tie(values_[i].at, values_[i].channel) < std::tie(at, channel);
  });
}

const value* memory_chain::find_value(const version& at, std::uint32_t channel) const noexcept {
  auto place = value_place(at, channel);
  if (place == values_.size())
    return nullptr;
  const auto& found = values_[place];
  return found.at == at && found.channel == channel ? &found.val : nullptr;
}

// Without a value the channel is empty.
void memory_chain::store_value(const version& at, std::uint32_t channel, std::optional<value> val) {
  auto place = static_cast<std::ptrdiff_t>(value_place(at, channel));
  if (find_value(at, channel) == nullptr) {
    if (!val)
      return;
    reserve_few(values_); // before an iterator into it is made
    values_.insert(values_.begin() + place, {at, channel, std::move(*val)});
  } else if (val) {
    values_[static_cast<std::size_t>(place)].val = std::move(*val);
  } else {
    values_.erase(values_.begin() + place);
  }
}

std::size_t memory_chain::erase_unused_values(const name_table& names) {
  std::vector<std::pair<version, std::uint32_t>> used;
  for (std::size_t i = 0; i < checkpoints_.size(); ++i) {
    auto stored = numbers(names, i);
    for (const auto& of : stored.versions)
      used.emplace_back(of.at, of.channel);
  }
  std::ranges::sort(used);
  return erase_those(values_, [&used](const kept_value& v) {
    return !std::ranges::binary_search(used, std::pair{v.at, v.channel});
  });
}

// ---- writes -------------------------------------------------------------------------------------

std::vector<memory_chain::placed_write> memory_chain::read_task(const name_table& names,
                                                                const kept_task& task,
                                                                std::string_view payload) {
  auto heads = readable(read_writes(payload, names.all()));
  std::vector<placed_write> out;
  out.reserve(heads.size());
  for (std::size_t i = 0; i < heads.size(); ++i)
    out.push_back({heads[i].slot, heads[i].channel, heads[i].task_path, task.values[i]});
  return out;
}

std::size_t memory_chain::task_place(std::string_view key, std::size_t guess) const noexcept {
  return place_near(guess, tasks_.size(),
                    [&](std::size_t i) { return tasks_[i].record.view() < key; });
}

memory_chain::kept_task memory_chain::make_task(name_table& names, std::string_view key,
                                                std::span<const placed_write> writes) {
  boost::container::small_vector<stored_write, 8> heads;
  heads.reserve(writes.size());
  kept_task task;
  task.values.reserve(writes.size());
  for (const auto& write : writes) {
    heads.push_back({write.slot, write.channel, write.path, {}});
    task.values.push_back(write.val);
  }
  auto& record = empty_scratch();
  record.append(key);
  append_writes({heads.data(), heads.size()}, &names, record);
  task.record = kept_bytes{record};
  return task;
}

void memory_chain::store_writes(name_table& names, const std::string& checkpoint_id,
                                const task_writes& task) {
  if (task.writes.empty())
    return;
  auto key = task_key(checkpoint_id, task.task_id);
  auto place = task_place(key, tasks_.size());
  auto is_there = place < tasks_.size() && tasks_[place].record.view().starts_with(key.view());
  boost::container::small_vector<placed_write, 8> writes;
  writes.reserve(task.writes.size());
  for (std::size_t i = 0; i < task.writes.size(); ++i) {
    const auto& [channel, val] = task.writes[i];
    writes.push_back({write_slot(channel, i), names.number(channel), task.task_path, val});
  }
  auto in_order = std::ranges::adjacent_find(writes, std::ranges::greater_equal{},
                                             &placed_write::slot)
                  == writes.end();
  reserve_few(tasks_, 2); // before an iterator into it is made
  auto at = tasks_.begin() + static_cast<std::ptrdiff_t>(place);
  if (in_order && !is_there) {
    tasks_.insert(at, make_task(names, key, {writes.data(), writes.size()}));
    return;
  }
  std::vector<placed_write> all;
  if (is_there)
    all = read_task(names, *at, at->record.view().substr(key.view().size()));
  merge_writes(all, {writes.data(), writes.size()});
  auto made = make_task(names, key, all);
  if (is_there)
    *at = std::move(made);
  else
    tasks_.insert(at, std::move(made));
}

// The checkpoints of a steady thread have equal numbers of tasks.
std::size_t memory_chain::first_task(std::size_t at) const noexcept {
  return at * tasks_.size() / checkpoints_.size();
}

template <class F>
void memory_chain::each_task(std::string_view checkpoint_id, std::size_t guess, F&& take) const {
  if (tasks_.empty())
    return;
  store_key key;
  key.append_id(checkpoint_id);
  for (auto i = task_place(key, guess); i < tasks_.size(); ++i) {
    auto record = tasks_[i].record.view();
    if (!record.starts_with(key.view()))
      return;
    take(record.substr(key.view().size()), tasks_[i].values);
  }
}

std::vector<slotted_write> memory_chain::writes_of(const name_table& names,
                                                   std::string_view checkpoint_id,
                                                   std::size_t guess) const {
  std::vector<slotted_write> out;
  each_task(checkpoint_id, guess, [&](std::string_view record, const auto& values) {
    auto task_id = take_id(record).value_or("");
    auto heads = readable(read_writes(record, names.all()));
    for (std::size_t i = 0; i < heads.size(); ++i)
      out.push_back({heads[i].slot,
                     {task_id, std::string{names.all()[heads[i].channel]}, values[i],
                      std::string{heads[i].task_path}}});
  });
  return out;
}

void memory_chain::read_tasks(const name_table& names, std::size_t at,
                              std::vector<numbered_task>& out, page_names& page) const {
  thread_local std::vector<stored_write> heads; // views of a record
  refill<numbered_task> tasks{out, 0};
  each_task(id(at), first_task(at), [&](std::string_view record, const auto& values) {
    auto& task = tasks.next();
    expects(take_id(record, task.id) && read_writes(record, names.all(), heads),
            "the saver in memory can read what it wrote");
    task.writes.resize(heads.size());
    for (std::size_t i = 0; i < heads.size(); ++i) {
      auto& write = task.writes[i];
      write.channel = page.number(heads[i].channel, names.all()[heads[i].channel]);
      write.value = values[i];
      set_name(write.task_path, heads[i].task_path);
    }
    if (!std::ranges::is_sorted(task.writes, {}, &numbered_write::task_path))
      std::ranges::stable_sort(task.writes, {}, &numbered_write::task_path);
  });
}

void memory_chain::rewind_writes(name_table& names, const std::string& checkpoint_id,
                                 const std::vector<pending_write>& before) {
  auto left = rewound_writes(writes_of(names, checkpoint_id, tasks_.size()), before);
  std::ranges::sort(left, {}, [](const auto& w) { return std::tie(w.write.task_id, w.slot); });
  store_key key;
  key.append_id(checkpoint_id);
  erase_those(tasks_,
              [&key](const kept_task& task) { return task.record.view().starts_with(key.view()); });
  for (auto from = left.begin(); from != left.end();) {
    const auto& task_id = from->write.task_id;
    auto to = std::find_if(from, left.end(),
                           [&task_id](const auto& w) { return w.write.task_id != task_id; });
    std::vector<placed_write> writes;
    for (const auto& [slot, write] : std::span{from, to})
      writes.push_back({slot, names.number(write.channel), write.task_path, write.value});
    auto task = make_task(names, task_key(checkpoint_id, task_id), writes);
    auto place = static_cast<std::ptrdiff_t>(task_place(task.record.view(), tasks_.size()));
    tasks_.insert(tasks_.begin() + place, std::move(task));
    from = to;
  }
}

} // namespace troupe
