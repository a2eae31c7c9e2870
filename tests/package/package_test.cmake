# Installs troupe into a prefix of its own, moves that elsewhere, and builds and runs programs against
# it. A program of the core library must not load what only other libraries need. Arguments:
# -D build=FOLDER -D cxx=COMPILER.

set(work "${build}/package_test")
file(REMOVE_RECURSE "${work}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${code}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install "${build}" --prefix "${work}/staged")
file(RENAME "${work}/staged" "${work}/prefix")

run(${CMAKE_COMMAND} -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}" -B "${work}/build"
    "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_CXX_COMPILER=${cxx}")
run(${CMAKE_COMMAND} --build "${work}/build")
foreach(program IN ITEMS program whole)
  run("${work}/build/${program}")
  if(NOT out STREQUAL "1\n")
    message(FATAL_ERROR "${program} printed \"${out}\", not 1")
  endif()
endforeach()
run("${work}/build/chat")
if(NOT out STREQUAL "hello\n")
  message(FATAL_ERROR "chat printed \"${out}\", not hello")
endif()
run("${work}/build/checks")
if(NOT out MATCHES " passed, 0 failed, 0 not supported\n[0-9]+ passed, 0 failed, 0 not supported\n$")
  message(FATAL_ERROR "checks printed \"${out}\"")
endif()

# The libraries that a program loads, by its ELF dependencies and theirs.
function(expect_not_loaded program pattern)
  run(ldd "${program}")
  if(NOT out MATCHES "libtroupe\\.so")
    message(FATAL_ERROR "${program} does not load libtroupe: ${out}")
  endif()
  if(out MATCHES "lib(${pattern})[-.]")
    message(FATAL_ERROR "${program} loads ${CMAKE_MATCH_0}: ${out}")
  endif()
endfunction()
set(beyond_core "curl|pq|ssl|re2|caf_io|caf_openssl|troupe_[a-z]+")
expect_not_loaded("${work}/build/program" "${beyond_core}")
expect_not_loaded("${work}/build/checks" "curl|pq|ssl|re2|caf_io|troupe_(agents|cluster|postgres)|boost_[a-z_]+")
expect_not_loaded("${work}/build/chat" "pq|caf_io|caf_openssl|troupe_postgres|troupe_cluster")

# The command line is a program of the core, and finds its parts (tests/process/parts_test.py).
set(troupe "${work}/prefix/bin/troupe")
expect_not_loaded("${troupe}" "${beyond_core}|sqlite3|edit")
run("${troupe}" --help)
run("${troupe}" chat --help)
run("${troupe}" worker --help)

# A new project builds, passes its test, and is served with the file that it brings.
run("${troupe}" new "${work}/demo")
run(${CMAKE_COMMAND} -G Ninja -S "${work}/demo" -B "${work}/demo/build"
    "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_CXX_COMPILER=${cxx}")
run(${CMAKE_COMMAND} --build "${work}/demo/build")
run(${CMAKE_CTEST_COMMAND} --test-dir "${work}/demo/build" --output-on-failure)
run("${troupe}" run "${work}/demo/build/libagent.so:agent"
    --input [[{"messages": [{"role": "user", "content": "Hello"}]}]])
file(WRITE "${work}/serve.sh" [[
timeout --foreground 60 "$1" serve --in-memory --listen 127.0.0.1:0 > served &
tries=0
until grep -q '^  state ' served
do
  tries=$((tries + 1))
  [ $tries -lt 300 ] || exit 1
  sleep 0.1
done
kill -TERM $! && wait $!
]])
run(${CMAKE_COMMAND} -E chdir "${work}/demo" sh "${work}/serve.sh" "${troupe}")
