/* half_written.h: the temporary files of this process that are not renamed yet (file.h), for
 * handlers of signals that end it: a command that is interrupted leaves none. The list belongs to
 * the process. Thread-safe. */
#ifndef TINCA_BASE_FILES_HALF_WRITTEN_H
#define TINCA_BASE_FILES_HALF_WRITTEN_H

/* Adds a path, which the caller keeps until half_written_remove. If the list is full, the file is
 * left to the next writer of its name. */
void half_written_add(const char *path);

/* Removes a path that was added; does nothing with others. */
void half_written_remove(const char *path);

/* Deletes the files. Async-signal-safe. */
void half_written_delete(void);

#endif
