// name_lookup: asks the system for addresses, on threads of its own.
#include "cluster/links/name_lookup.hpp"

#include <netdb.h>

#include <array>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace troupe::cluster {

namespace {

std::vector<std::string> of_family(const addrinfo* all, int family) {
  std::vector<std::string> out;
  for (const auto* one = all; one; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (one->ai_family == family
        && getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0,
                       NI_NUMERICHOST)
             == 0)
      out.emplace_back(text.data());
  }
  return out;
}

} // namespace

looked_up system_addresses(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (auto failed = getaddrinfo(host.c_str(), nullptr, &hints, &found); failed != 0)
    return error{errc::worker_lost, "look up `" + host + "`: " + gai_strerror(failed)};
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all{found, &freeaddrinfo};
  auto four = of_family(found, AF_INET);
  return four.empty() ? of_family(found, AF_INET6) : four;
}

// Shared with the threads, which may outlive their name_lookup, since a running lookup can't be
// stopped.
struct name_lookup::shared {
  resolver how;
  std::mutex mutex{};
  std::deque<std::string> waiting{};
  std::vector<answer> answers{};
  std::size_t threads = 0;
  bool over = false;

  std::optional<std::string> next() {
    std::lock_guard lock{mutex};
    if (over || waiting.empty()) {
      --threads;
      return std::nullopt;
    }
    auto host = std::move(waiting.front());
    waiting.pop_front();
    return host;
  }
  void work() {
    while (auto host = next()) {
      auto addresses = how(*host);
      std::lock_guard lock{mutex};
      answers.push_back({std::move(*host), std::move(addresses)});
    }
  }
};

name_lookup::name_lookup(resolver how) : shared_{std::make_shared<shared>(std::move(how))} {}

name_lookup::~name_lookup() {
  std::lock_guard lock{shared_->mutex};
  shared_->over = true;
}

void name_lookup::ask(std::string host) {
  std::lock_guard lock{shared_->mutex};
  shared_->waiting.push_back(std::move(host));
  if (shared_->threads == limits::peer_lookups_max)
    return;
  try {
    std::thread{[shared = shared_] { shared->work(); }}.detach();
    ++shared_->threads;
  } catch (const std::system_error& none) {
    if (shared_->threads > 0)
      return; // a running thread takes it
    shared_->answers.push_back(
      {std::move(shared_->waiting.back()),
       error{errc::worker_lost, std::string{"look up names: "} + none.what()}});
    shared_->waiting.pop_back();
  }
}

std::vector<name_lookup::answer> name_lookup::answers() {
  std::lock_guard lock{shared_->mutex};
  return std::exchange(shared_->answers, {});
}

} // namespace troupe::cluster
