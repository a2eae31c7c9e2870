// stored_items: requests to a saver or store, and their answers, as values. A worker has neither,
// and sends its requests to its home.
#pragma once

#include <troupe/saver.hpp>
#include <troupe/store.hpp>

#include <string>
#include <vector>

namespace troupe::cluster {

// A function that reads throws error{invalid_value}, which names the field that is wrong.

/// Leaves out the claim, which the home adds.
value to_value(const save_request& request);
save_request to_save_request(const value& v);

value to_value(const checkpoint_tuple& tuple);
checkpoint_tuple to_checkpoint_tuple(const value& v);

value to_value(const checkpoint_ref& ref);
checkpoint_ref to_checkpoint_ref(const value& v);

value to_value(const list_query& query);
list_query to_list_query(const value& v);

value to_value(const named<delta_history>& histories);
named<delta_history> to_delta_histories(const value& v);

value to_value(const std::vector<store_op>& ops);
std::vector<store_op> to_store_ops(const value& v);

value to_value(const std::vector<store_answer>& answers);
std::vector<store_answer> to_store_answers(const value& v);

} // namespace troupe::cluster
