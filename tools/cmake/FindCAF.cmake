# Finds CAF 0.17, whose Debian package has neither a CMake config nor a pkg-config file.
#
#   find_package(CAF 0.17.6 REQUIRED COMPONENTS core io openssl)
#
# gives the imported targets CAF::core, CAF::io and CAF::openssl, as far as they were asked for.
# openssl links io, and io links core: name what comes below, too.

find_package(Threads QUIET REQUIRED)

find_path(CAF_INCLUDE_DIR caf/config.hpp)
mark_as_advanced(CAF_INCLUDE_DIR)
if(CAF_INCLUDE_DIR)
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" caf_version REGEX "#define CAF_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+" caf_version "${caf_version}") # 1706 stands for 0.17.6
  if(caf_version)
    math(EXPR caf_major "${caf_version} / 10000")
    math(EXPR caf_minor "${caf_version} / 100 % 100")
    math(EXPR caf_patch "${caf_version} % 100")
    set(CAF_VERSION "${caf_major}.${caf_minor}.${caf_patch}")
  endif()
endif()

set(caf_required CAF_INCLUDE_DIR)
foreach(component IN LISTS CAF_FIND_COMPONENTS)
  find_library(CAF_${component}_LIBRARY caf_${component})
  mark_as_advanced(CAF_${component}_LIBRARY)
  if(CAF_${component}_LIBRARY)
    set(CAF_${component}_FOUND TRUE)
  endif()
  list(APPEND caf_required CAF_${component}_LIBRARY)
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CAF
  REQUIRED_VARS ${caf_required} VERSION_VAR CAF_VERSION HANDLE_COMPONENTS)

if(CAF_FOUND)
  foreach(component IN LISTS CAF_FIND_COMPONENTS)
    if(TARGET CAF::${component})
      continue()
    endif()
    add_library(CAF::${component} SHARED IMPORTED)
    set_target_properties(CAF::${component} PROPERTIES
      IMPORTED_LOCATION "${CAF_${component}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}")
    if(component STREQUAL "core")
      target_link_libraries(CAF::core INTERFACE Threads::Threads)
    elseif(component STREQUAL "io")
      target_link_libraries(CAF::io INTERFACE CAF::core)
    elseif(component STREQUAL "openssl")
      target_link_libraries(CAF::openssl INTERFACE CAF::io)
    endif()
  endforeach()
endif()
