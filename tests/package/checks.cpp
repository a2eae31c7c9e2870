#include <troupe/testing/saver_conformance.hpp>
#include <troupe/testing/store_conformance.hpp>

#include <iostream>

int main() {
  auto failed = troupe::report_saver_conformance(std::cout, troupe::make_memory_saver);
  failed += troupe::report_store_conformance(std::cout, troupe::make_memory_store);
  return failed == 0 ? 0 : 1;
}
