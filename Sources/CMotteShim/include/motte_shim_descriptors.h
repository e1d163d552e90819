/* Descriptors of files and sockets. Everything that this library opens is opened here (tidy holds that):
 *
 * - never as one of the standard descriptors 0, 1 and 2, also where a program has closed those: what it printed would
 *   go into the file, and what it read would come from there;
 * - closed in programs that are executed.
 *
 * All of these answer -1 and set errno where they fail. */
#ifndef MOTTE_SHIM_DESCRIPTORS_H
#define MOTTE_SHIM_DESCRIPTORS_H
#include <dirent.h>
#include <stdio.h>

/* open(2), with O_CLOEXEC. */
int motte_shim_open(const char *path, int flags, unsigned mode);
/* The same of a plain file only, without waiting for anybody: nothing is read from a FIFO or a device in its place.
 * Those are EISDIR, ENXIO or ENODEV. */
int motte_shim_open_plain(const char *path, int flags);
/* A file with a new name for the six X at the end of `pattern`, for its owner alone. */
int motte_shim_open_temporary(char *pattern);
/* Another descriptor of what is open. */
int motte_shim_duplicate(int descriptor);
/* A counter that can be waited for (eventfd). */
int motte_shim_open_counter(void);
/* NULL where it fails. */
DIR *motte_shim_open_folder(const char *path);
FILE *motte_shim_open_text(const char *path);

/* Descriptors that carry locks, or that others are connected to. A forked child does not keep them: open file
 * descriptions with their locks live as long as any copy, and so a child that never uses the library would keep what
 * its dead parent had locked. A fork waits while one of these is being opened or closed. EMFILE also where there are
 * thousands already. */
int motte_shim_open_own(const char *path, int flags, unsigned mode);
int motte_shim_open_own_socket(int domain, int type);
int motte_shim_accept_own(int listening);
/* Ends its locks first, which a program that another thread is just starting may have a copy of. Does nothing in a
 * child that inherited it, where it is closed already. */
void motte_shim_close_own(int descriptor);

#endif
