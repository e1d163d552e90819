/* motte.h alone is enough, in C and in C++, and its structs have the sizes and offsets that other languages assume. */
#include "motte.h"

#define MOTTE_CHECK_JOIN(a, b) a##b
#define MOTTE_CHECK_NAME(line) MOTTE_CHECK_JOIN(motte_check_, line)
#define CHECK(condition) typedef char MOTTE_CHECK_NAME(__LINE__)[(condition) ? 1 : -1]

CHECK(sizeof(motte_str) == 16);
CHECK(sizeof(motte_bytes) == 16);
CHECK(sizeof(motte_buf) == 16);
CHECK(sizeof(motte_timestamp) == 16);
CHECK(offsetof(motte_timestamp, nanoseconds) == 8);
CHECK(sizeof(motte_payload) == 16);
CHECK(sizeof(motte_value) == 24);
CHECK(offsetof(motte_value, type) == 0);
CHECK(offsetof(motte_value, aux) == 4);
CHECK(offsetof(motte_value, as) == 8);
CHECK(offsetof(motte_value, as.string.size) == 16);
CHECK(sizeof(motte_sort_key) == 24);
CHECK(sizeof(motte_column) == 32);

CHECK(sizeof(motte_error_details) == 80);
CHECK(sizeof(motte_prop_spec) == 64);
CHECK(sizeof(motte_class_details) == 56);
CHECK(sizeof(motte_prop_details) == 72);
CHECK(sizeof(motte_realm_details) == 72);
CHECK(sizeof(motte_counters) == 48);
CHECK(sizeof(motte_coll_details) == 32);
CHECK(sizeof(motte_changes_details) == 64);

/* struct_size comes first in every struct that may grow. */
CHECK(offsetof(motte_error_details, struct_size) == 0);
CHECK(offsetof(motte_prop_spec, struct_size) == 0);
CHECK(offsetof(motte_class_details, struct_size) == 0);
CHECK(offsetof(motte_prop_details, struct_size) == 0);
CHECK(offsetof(motte_realm_details, struct_size) == 0);
CHECK(offsetof(motte_counters, struct_size) == 0);
CHECK(offsetof(motte_coll_details, struct_size) == 0);
CHECK(offsetof(motte_changes_details, struct_size) == 0);

int main(void) { return 0; }
