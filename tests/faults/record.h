/* record.h: what a program does to the files below a folder, as a log for crash_states.py.
 *
 * RECORD=LOG and RECORD_ROOT=FOLDER (an absolute path) append to LOG, a line each, paths relative
 * to FOLDER, in the order in which the calls returned:
 *
 *   create PATH       a file that was not there
 *   write PATH OFFSET LENGTH, and LENGTH bytes behind the line
 *   content PATH LENGTH, and LENGTH bytes: what stdio had written by now
 *   cut PATH SIZE     ftruncate
 *   sync PATH         fsync or fdatasync of a file that succeeded
 *   failed PATH       one that did not
 *   folder PATH       fsync of a folder that succeeded
 *   rename PATH, and the new path on a line of its own
 *   unlink PATH (also of an empty folder), mkdir PATH
 *   exit              the process ended by itself
 *
 * Threads and processes may share a log: each entry is appended by one call. */
#ifndef TINCA_TESTS_RECORD_H
#define TINCA_TESTS_RECORD_H

#include <sys/types.h>

/* Returns whether a log is written. */
int record_on(void);

void record_created(const char *path);
void record_written(int descriptor, const void *bytes, ssize_t count, off_t offset);
void record_cut(int descriptor, off_t size);
void record_synced(int descriptor, int succeeded);
void record_renamed(const char *from, const char *to);
void record_unlinked(const char *path);
void record_made(const char *path);
/* Logs the contents of a file, before it is renamed or synced. */
void record_content(const char *path);

#endif
