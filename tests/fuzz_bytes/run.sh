#!/usr/bin/env bash
# Runs one fuzz target for TROUPE_FUZZ_SECONDS. Its corpus stays beside the program, and what broke a
# promise is kept there too: give the program that file as its argument to see it again.
# usage: run.sh PROGRAM [LIBFUZZER_FLAG…]
set -euo pipefail

program=$1
shift
corpus=$program.corpus
mkdir -p "$corpus"
exec "$program" "$corpus" -max_total_time="${TROUPE_FUZZ_SECONDS:-60}" -timeout=5 -rss_limit_mb=1024 \
  -artifact_prefix="$program." -print_final_stats=1 "$@"
