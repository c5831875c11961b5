/* run_disk.h: the disk space that a stored run takes. Thread-safe. */
#ifndef TINCA_SESSION_STORAGE_RUN_DISK_H
#define TINCA_SESSION_STORAGE_RUN_DISK_H

#include <stdint.h>

/* Returns the sum of the sizes of the files in a run's folder, 0 if it cannot be read. */
uint64_t run_disk_bytes(const char *directory);

#endif
