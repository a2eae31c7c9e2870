// What a saver and a store are asked, and what they answer, as values: a worker has neither and
// asks its home.
#pragma once

#include <troupe/saver.hpp>
#include <troupe/store.hpp>

#include <string>
#include <vector>

namespace troupe::cluster {

// What is read back throws error{invalid_value} that names the field when it is not what was
// written.

/// Without the claim: that is the home's to make.
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
