# order_text(TARGET LIST): in the library TARGET, the functions of the file LIST stand side by side.
#
# LIST has a symbol a line, as tests/bench/first_run_test.py --update writes it. A name that is not
# there any more does no harm. The kernel maps 64 KiB around each page that a process touches, so
# code that runs together takes less memory when it stands together.
#
# GNU ld takes the order of sections from a whole linker script alone (from 2.43 on, also from a list).
# So this gives it the script that it would use, with the names before other code. With another linker,
# and in other configurations than Release, nothing changes.
function(order_text target list)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR TROUPE_SANITIZE)
    return()
  endif()
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS}")
  execute_process(
    COMMAND "${CMAKE_CXX_COMPILER}" ${flags} -shared -Wl,--verbose -x c++ /dev/null
            -o "${CMAKE_CURRENT_BINARY_DIR}/${target}_text_order.so"
    OUTPUT_VARIABLE script ERROR_QUIET)
  set(before "*(.text.hot .text.hot.*)")
  string(FIND "${script}" "${before}" found)
  if(found EQUAL -1)
    return()
  endif()
  string(REGEX REPLACE "^.*\n=====+\n(.*)\n=====+\n.*$" "\\1" script "${script}")
  file(STRINGS "${list}" names)
  list(TRANSFORM names REPLACE "(.+)" "*(.text.\\1)")
  list(JOIN names "\n    " names)
  string(REPLACE "${before}" "${names}\n    ${before}" script "${script}")
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_text_order.ld")
  file(CONFIGURE OUTPUT "${file}" CONTENT "@script@" @ONLY) # the same content keeps its time
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${file}")
  target_compile_options(${target} PRIVATE -ffunction-sections)
  target_link_options(${target} PRIVATE "LINKER:-T,${file}")
endfunction()
