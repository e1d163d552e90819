/* Mappings of files whose bytes may go away under them: somebody cuts the file short, or the file system finds no room
 * for a page that is written. Touching such a page is a signal (SIGBUS), which ends the process. Of these mappings it
 * does not: memory of zeros takes their place, and the owner finds that they are lost. Other faults go to whoever
 * handled the signal before.
 *
 * A forked child has zeros in their place: a mapping keeps the locks of the descriptor that it was made through, and
 * the child has no use for one. */
#ifndef MOTTE_SHIM_MAPPINGS_H
#define MOTTE_SHIM_MAPPINGS_H
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* Shared, for reading and writing; NULL and errno. */
void *motte_shim_map(int descriptor, int64_t offset, size_t size);
/* The same of a file that nobody else can open and whose values nothing checks again: zeros would be taken for them, so
 * that a page that cannot be read ends the process. */
void *motte_shim_map_scratch(int descriptor, int64_t offset, size_t size);
/* A private view of a file from its beginning, for reading. */
void *motte_shim_map_to_read(int descriptor, size_t size);
/* Of what these answered. */
void motte_shim_unmap(void *start, size_t size);
/* Whether zeros are in its place. */
int motte_shim_is_lost(const void *start);

/* For threads of this library, which begin with the mask of who starts them: the program's signals are not for them,
 * but their own faults are. The mask from before comes back by the second. */
void motte_shim_block_signals(sigset_t *out_before);
void motte_shim_restore_signals(const sigset_t *before);

#endif
