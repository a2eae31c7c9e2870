# Configures a project that contains troupe, which must change nothing of that project.
# Arguments: -D build=FOLDER -D source=FOLDER -D cxx=COMPILER.

set(work "${build}/subproject_test")
file(REMOVE_RECURSE "${work}")

# A program named ccache stands on the path, as on the machines of many users.
find_program(env env REQUIRED)
file(MAKE_DIRECTORY "${work}/path")
file(CREATE_LINK "${env}" "${work}/path/ccache" SYMBOLIC)
set(ENV{PATH} "${work}/path:$ENV{PATH}")

execute_process(
  COMMAND ${CMAKE_COMMAND} -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}/subproject" -B "${work}/build"
          "-Dtroupe_source=${source}" "-DCMAKE_CXX_COMPILER=${cxx}"
  RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "a project that contains troupe can't be configured: ${code}\n${out}")
endif()
