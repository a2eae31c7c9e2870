"""The compared workloads, in the order of the table, and the lines of the README."""

SECTIONS = {
    "Engine": ["single_step_none", "chain3_invoke", "counter_loop_1000_none", "fanout_join_10", "fanout_join_100",
               "send_fanout_100", "send_fanout_1000", "sequential_10", "sequential_1000",
               "sequential_1000_compilation", "stream_custom_10000", "concurrent_64_chain3",
               "fanout_to_subgraph_10x", "react_agent_10x", "react_agent_100x", "wide_dict_25x300",
               "wide_dict_9x1200"],
    "Durability": ["single_step_memory", "single_step_file", "counter_loop_1000_memory_sync",
                   "counter_loop_1000_file_sync", "counter_loop_1000_file_sync_bytes", "append_loop_1000_memory",
                   "append_loop_100_file", "append_loop_1000_file_bytes", "interrupt_resume_memory",
                   "interrupt_resume_file", "concurrent_64x10_file"],
    "Reading": ["get_state_counter1000_memory", "get_state_counter1000_file",
                "get_state_history_counter1000_memory", "get_state_history_counter1000_file"],
    "Codec": ["serde_encode_100x25", "serde_decode_100x25"],
    "Process": ["startup_first_invoke", "startup_peak_rss", "mem_idle_thread_memory"],
}
COMPARED = [name for names in SECTIONS.values() for name in names]

# The most telling ones: workload -> how the README calls it.
README = {
    "chain3_invoke": "a run of three nodes",
    "counter_loop_1000_none": "a loop of 1,000 steps",
    "send_fanout_1000": "a step of 1,000 tasks",
    "react_agent_100x": "an agent that calls a tool 100 times",
    "counter_loop_1000_memory_sync": "1,000 steps, each stored in memory",
    "counter_loop_1000_file_sync": "1,000 steps, each on the disk before the next",
    "append_loop_1000_file_bytes": "bytes on disk of 1,000 steps that append 100 characters",
    "get_state_counter1000_file": "the state of a thread of 1,000 steps, from disk",
    "startup_first_invoke": "a process that runs three nodes",
    "mem_idle_thread_memory": "memory of a thread that waits",
}
