// The saver interface: the members that a saver need not implement.
#include <troupe/saver.hpp>

namespace troupe {

result<std::uint64_t> saver::thread_owner(const std::string&) {
  return std::uint64_t{0};
}

result<std::vector<owned_thread>> saver::owners() {
  auto all = threads();
  if (!all)
    return all.error();
  std::vector<owned_thread> out;
  for (auto& thread : *all) {
    auto owner = thread_owner(thread.thread_id);
    if (!owner)
      return owner.error();
    out.push_back({std::move(thread.thread_id), *owner});
  }
  return out;
}

result<std::optional<checkpoint_tuple>> saver::get_tuple_of(const checkpoint_ref& ref,
                                                            const std::vector<std::string>&) {
  return get_tuple(ref);
}

result<std::shared_ptr<void>> saver::announce(std::uint32_t) {
  return std::shared_ptr<void>{};
}

result<std::optional<bool>> saver::is_there(std::uint32_t) {
  return std::optional<bool>{};
}

namespace {

error cannot(const char* what) {
  return {errc::invalid_config, std::string{"this saver can't "} + what};
}

result<void> store_at_once(saver& to, const save_request& request) {
  for (const auto& task : request.writes)
    if (auto stored = to.put_writes(request.ref, task); !stored)
      return stored;
  if (!request.put)
    return {};
  if (auto stored = to.put(request.ref, *request.put); !stored || !request.put->drops_older)
    return stored;
  auto pruned = to.prune({request.ref.thread_id}, retention{});
  return pruned ? result<void>{} : pruned.error();
}

} // namespace

result<prune_report> saver::prune(const std::vector<std::string>&, const retention&) {
  return cannot("prune threads");
}

result<void> saver::copy_thread(const std::string&, const std::string&, const std::string&) {
  return cannot("copy a thread");
}

result<prune_report> saver::delete_for_runs(const std::vector<std::string>&,
                                            const std::vector<std::string>&) {
  return cannot("delete by run");
}

result<void> saver::rewind(const std::string&, const rewind_point&) {
  return cannot("undo a run");
}

void saver::submit(save_request request, save_ack, std::function<void(result<void>)> done) {
  done(store_at_once(*this, request));
}

} // namespace troupe
