# Installs troupe into a prefix of its own, moves that elsewhere, and builds and runs a program
# against it. Arguments: -D build=FOLDER -D cxx=COMPILER.

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
run("${work}/build/program")
if(NOT out STREQUAL "1\n")
  message(FATAL_ERROR "the program printed \"${out}\", not 1")
endif()

run("${work}/prefix/bin/troupe" --help)
