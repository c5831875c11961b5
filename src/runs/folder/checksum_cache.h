/* checksum_cache.h: a cache of checksums of picture files, so that a large folder is read once for
 * its fingerprint and not at the start of every run.
 *
 * $XDG_STATE_HOME/tinca/checksums/XXXXXXXX.txt, one file per folder of pictures, has a CRC-32 of
 * the rest of the file, the folder, and a line per picture: bytes, time of modification, time of
 * change, inode, CRC-32, name. A picture whose line still agrees is not read; renaming or writing a
 * file changes its time of change. A cache that is unreadable or damaged only costs time: no
 * function fails. */
#ifndef TINCA_RUNS_FOLDER_CHECKSUM_CACHE_H
#define TINCA_RUNS_FOLDER_CHECKSUM_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct checksum_cache;

/* Identifies the state of a file; times in nanoseconds. */
struct checksum_stamp {
    uint64_t bytes, modified, changed, inode;
};

/* Fills *stamp from the file at `path`. Returns false if there is none. */
bool checksum_stamp_read(struct checksum_stamp *stamp, const char *path);

/* Returns the cache for the pictures below the folder `root`; NULL if out of memory.
 */
struct checksum_cache *checksum_cache_open(const char *root);

/* Sets *crc32 if the cache has the file `name` with this stamp; returns whether it does. Thread
 * safe. `cache` may be NULL. */
bool checksum_cache_find(const struct checksum_cache *cache, const char *name,
                         const struct checksum_stamp *stamp, uint32_t *crc32);

/* Adds a file, whether it was found or read. A file that changed within the last seconds is left
 * out, because it could change once more within the resolution of its times. */
void checksum_cache_add(struct checksum_cache *cache, const char *name,
                        const struct checksum_stamp *stamp, uint32_t crc32);

/* Writes the cache if a file is new in it, and frees it. `cache` may be NULL. */
void checksum_cache_close(struct checksum_cache *cache);

#endif
