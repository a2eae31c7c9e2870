// stored_items: requests to a saver or store, and their answers, as values.
#include "cluster/stored_items.hpp"

#include "cluster/wire/fields.hpp"

namespace troupe::cluster {

namespace {

value word(std::uint64_t bits) {
  return value(static_cast<std::int64_t>(bits));
}

template <class T> value maybe(const std::optional<T>& x) {
  return x ? value(*x) : value{};
}

template <class T, class F> value of_named(const named<T>& all, F&& write) {
  return list_of(all, [&write](const auto& e) {
    return value::list({value(e.first), write(e.second)});
  });
}

template <class F> auto to_named(const value& pair, F&& read) {
  fields in{pair, 2, "a named value"};
  auto name = in.text();
  return std::pair{std::move(name), read(in.any())};
}

value of_version(const version& v) {
  return value::list({word(v.number), word(v.tag)});
}

version to_version(const value& v) {
  fields in{v, 2, "a version"};
  auto number = in.word();
  return {number, in.word()};
}

value of_versions(const named<version>& versions) {
  return of_named(versions, of_version);
}

named<version> to_versions(const value& v) {
  fields in{value::list({v}), 1, "versions"};
  return in.each([](const value& e) { return to_named(e, to_version); });
}

value of_checkpoint(const checkpoint& c) {
  return value::list({value(c.v), value(c.id), value(c.ts),
                      of_named(c.channel_values, [](const value& v) { return v; }),
                      of_versions(c.channel_versions), of_named(c.versions_seen, of_versions),
                      c.updated_channels ? list_of(*c.updated_channels) : value{}});
}

checkpoint to_checkpoint(const value& v) {
  fields in{v, 7, "a checkpoint"};
  checkpoint out;
  out.v = in.number();
  out.id = in.text();
  out.ts = in.text();
  out.channel_values =
    in.each([](const value& e) { return to_named(e, [](const value& x) { return x; }); });
  out.channel_versions = in.each([](const value& e) { return to_named(e, to_version); });
  out.versions_seen = in.each([](const value& e) { return to_named(e, to_versions); });
  out.updated_channels = in.maybe([](fields& f) { return f.texts(); });
  return out;
}

value of_task_writes(const task_writes& task) {
  return value::list({value(task.task_id), value(task.task_path),
                      of_named(task.writes, [](const value& v) { return v; })});
}

task_writes to_task_writes(const value& v) {
  fields in{v, 3, "writes of a task"};
  task_writes out;
  out.task_id = in.text();
  out.task_path = in.text();
  out.writes =
    in.each([](const value& e) { return to_named(e, [](const value& x) { return x; }); });
  return out;
}

value of_pending(const pending_write& write) {
  return value::list(
    {value(write.task_id), value(write.channel), write.value, value(write.task_path)});
}

pending_write to_pending(const value& v) {
  fields in{v, 4, "a pending write"};
  pending_write out;
  out.task_id = in.text();
  out.channel = in.text();
  out.value = in.any();
  out.task_path = in.text();
  return out;
}

value of_put(const checkpoint_put& put) {
  return value::list({value(put.parent_id), of_checkpoint(put.checkpoint), put.metadata,
                      list_of(put.new_versions), value(put.drops_older)});
}

checkpoint_put to_put(const value& v) {
  fields in{v, 5, "a checkpoint to store"};
  checkpoint_put out;
  out.parent_id = in.text();
  out.checkpoint = to_checkpoint(in.any());
  out.metadata = in.any();
  out.new_versions = in.texts();
  out.drops_older = in.flag();
  return out;
}

} // namespace

value to_value(const checkpoint_ref& ref) {
  return value::list({value(ref.thread_id), value(ref.checkpoint_ns), value(ref.checkpoint_id)});
}

checkpoint_ref to_checkpoint_ref(const value& v) {
  fields in{v, 3, "the place of a checkpoint"};
  checkpoint_ref out;
  out.thread_id = in.text();
  out.checkpoint_ns = in.text();
  out.checkpoint_id = in.text();
  return out;
}

value to_value(const save_request& request) {
  return value::list({to_value(request.ref), list_of(request.writes, of_task_writes),
                      request.put ? of_put(*request.put) : value{}});
}

save_request to_save_request(const value& v) {
  fields in{v, 3, "a save request"};
  save_request out;
  out.ref = to_checkpoint_ref(in.any());
  out.writes = in.each(to_task_writes);
  out.put = in.maybe([](fields& f) { return to_put(f.any()); });
  return out;
}

value to_value(const checkpoint_tuple& tuple) {
  return value::list({to_value(tuple.ref), of_checkpoint(tuple.checkpoint), tuple.metadata,
                      value(tuple.parent_id), list_of(tuple.pending_writes, of_pending)});
}

checkpoint_tuple to_checkpoint_tuple(const value& v) {
  fields in{v, 5, "a stored checkpoint"};
  checkpoint_tuple out;
  out.ref = to_checkpoint_ref(in.any());
  out.checkpoint = to_checkpoint(in.any());
  out.metadata = in.any();
  out.parent_id = in.text();
  out.pending_writes = in.each(to_pending);
  return out;
}

value to_value(const list_query& query) {
  return value::list({maybe(query.thread_id), maybe(query.checkpoint_ns),
                      maybe(query.checkpoint_id), query.filter, maybe(query.before),
                      query.limit ? word(*query.limit) : value{}});
}

list_query to_list_query(const value& v) {
  fields in{v, 6, "a query of checkpoints"};
  auto text = [](fields& f) { return f.text(); };
  list_query out;
  out.thread_id = in.maybe(text);
  out.checkpoint_ns = in.maybe(text);
  out.checkpoint_id = in.maybe(text);
  out.filter = in.any();
  out.before = in.maybe(text);
  out.limit = in.maybe([](fields& f) { return static_cast<std::size_t>(f.word()); });
  return out;
}

value to_value(const named<delta_history>& histories) {
  return of_named(histories, [](const delta_history& h) {
    return value::list(
      {list_of(h.writes, of_pending), value(h.seed.has_value()), h.seed.value_or(value{})});
  });
}

named<delta_history> to_delta_histories(const value& v) {
  fields in{value::list({v}), 1, "histories of channels"};
  return in.each([](const value& e) {
    return to_named(e, [](const value& x) {
      fields f{x, 3, "the history of a channel"};
      delta_history out;
      out.writes = f.each(to_pending);
      bool seeded = f.flag();
      if (const auto& seed = f.any(); seeded)
        out.seed = seed;
      return out;
    });
  });
}

// -- the store

namespace {

value of_op(const store_get& op) {
  return value::list({value(0), list_of(op.space), value(op.key), maybe(op.refresh_ttl)});
}

value of_op(const store_put& op) {
  return value::list({value(1), list_of(op.space), value(op.key), op.value,
                      op.index ? list_of(*op.index) : value{},
                      op.ttl ? value(static_cast<std::int64_t>(op.ttl->count())) : value{}});
}

value of_op(const store_query& op) {
  return value::list({value(2), list_of(op.prefix), op.filter, word(op.limit), word(op.offset),
                      value(op.query), maybe(op.refresh_ttl)});
}

value of_op(const namespace_query& op) {
  return value::list({value(3), list_of(op.prefix), list_of(op.suffix),
                      op.max_depth ? word(*op.max_depth) : value{}, word(op.limit),
                      word(op.offset)});
}

constexpr std::size_t op_fields[] = {4, 6, 7, 6};

store_op to_op(const value& v) {
  if (!v[0].is_int() || v[0].as_int() < 0 || v[0].as_int() > 3)
    throw error{errc::invalid_value, "read a store operation: unknown kind"};
  auto kind = static_cast<std::size_t>(v[0].as_int());
  fields in{v, op_fields[kind], "a store operation"};
  in.any();
  auto flag = [](fields& f) { return f.flag(); };
  if (kind == 0) {
    store_get out;
    out.space = in.texts();
    out.key = in.text();
    out.refresh_ttl = in.maybe(flag);
    return out;
  }
  if (kind == 1) {
    store_put out;
    out.space = in.texts();
    out.key = in.text();
    out.value = in.any();
    out.index = in.maybe([](fields& f) { return f.texts(); });
    out.ttl = in.maybe([](fields& f) { return store_ttl{f.number()}; });
    return out;
  }
  if (kind == 2) {
    store_query out;
    out.prefix = in.texts();
    out.filter = in.any();
    out.limit = in.word();
    out.offset = in.word();
    out.query = in.text();
    out.refresh_ttl = in.maybe(flag);
    return out;
  }
  namespace_query out;
  out.prefix = in.texts();
  out.suffix = in.texts();
  out.max_depth = in.maybe([](fields& f) { return static_cast<std::size_t>(f.word()); });
  out.limit = in.word();
  out.offset = in.word();
  return out;
}

value of_item(const store_item& item) {
  return value::list({list_of(item.space), value(item.key), item.value, value(item.created_at),
                      value(item.updated_at), maybe(item.score)});
}

store_item to_item(const value& v) {
  fields in{v, 6, "a store item"};
  store_item out;
  out.space = in.texts();
  out.key = in.text();
  out.value = in.any();
  out.created_at = in.text();
  out.updated_at = in.text();
  out.score = in.maybe([](fields& f) { return f.any().as_double(); });
  return out;
}

value of_answer(const std::optional<store_item>& item) {
  return value::list({value(0), item ? of_item(*item) : value{}});
}

value of_answer(std::monostate) {
  return value::list({value(1), value{}});
}

value of_answer(const std::vector<store_item>& items) {
  return value::list({value(2), list_of(items, of_item)});
}

value of_answer(const std::vector<store_namespace>& spaces) {
  return value::list(
    {value(3), list_of(spaces, [](const store_namespace& space) { return list_of(space); })});
}

store_answer to_answer(const value& v) {
  fields in{v, 2, "the answer of a store"};
  switch (in.upto(3)) {
    case 0: return in.maybe([](fields& f) { return to_item(f.any()); });
    case 1: return std::monostate{};
    case 2: return in.each(to_item);
    default:
      return in.each([](const value& space) {
        fields names{value::list({space}), 1, "a namespace"};
        return names.texts();
      });
  }
}

} // namespace

value to_value(const std::vector<store_op>& ops) {
  return list_of(ops, [](const store_op& op) {
    return std::visit([](const auto& x) { return of_op(x); }, op);
  });
}

std::vector<store_op> to_store_ops(const value& v) {
  fields in{value::list({v}), 1, "store operations"};
  return in.each(to_op);
}

value to_value(const std::vector<store_answer>& answers) {
  return list_of(answers, [](const store_answer& answer) {
    return std::visit([](const auto& x) { return of_answer(x); }, answer);
  });
}

std::vector<store_answer> to_store_answers(const value& v) {
  fields in{value::list({v}), 1, "answers of a store"};
  return in.each(to_answer);
}

} // namespace troupe::cluster
