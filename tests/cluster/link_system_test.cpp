// link_system
