// spawn_orders: the attributes with which a program is started.
#pragma once

#include <signal.h>
#include <spawn.h>

namespace troupe {

/// The arguments of posix_spawn: a process group of its own, and default signal handling.
class spawn_orders {
public:
  spawn_orders() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK
                                              | POSIX_SPAWN_SETSIGDEF);
  }
  ~spawn_orders() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  spawn_orders(const spawn_orders&) = delete;
  spawn_orders& operator=(const spawn_orders&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

} // namespace troupe
