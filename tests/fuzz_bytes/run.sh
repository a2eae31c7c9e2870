#!/usr/bin/env bash
# Runs one fuzz target for TROUPE_FUZZ_SECONDS, else for SECONDS. It begins with TROUPE_FUZZ_SEED, else with 1, so that
# of two runs from nothing the second tries what the first did (0: something else each time). Its corpus stays beside
# the program, and what broke a promise is kept there too: give the program that file as its argument to see it again.
# usage: run.sh PROGRAM SECONDS [LIBFUZZER_FLAG…]
set -euo pipefail

program=$1 seconds=$2
shift 2
corpus=$program.corpus
mkdir -p "$corpus"
exec "$program" "$corpus" -max_total_time="${TROUPE_FUZZ_SECONDS:-$seconds}" -seed="${TROUPE_FUZZ_SEED:-1}" \
  -timeout=5 -rss_limit_mb=1024 -artifact_prefix="$program." -print_final_stats=1 "$@"
