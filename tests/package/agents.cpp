#include <troupe/agents.hpp>

#include <iostream>

int main() {
  std::cout << troupe::message_text(troupe::human_message("hello")) << "\n";
}
