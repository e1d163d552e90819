/* What fork.c calls of its neighbours before and after a fork. */
#ifndef MOTTE_SHIM_AT_FORK_H
#define MOTTE_SHIM_AT_FORK_H

void motte_shim_descriptors_before_fork(void);
void motte_shim_descriptors_after_fork(int is_child);
void motte_shim_mappings_before_fork(void);
void motte_shim_mappings_after_fork(int is_child);

#endif
