/* checksum_cache.h: checksums of pictures that were read before, so that a large folder is read for
 * its fingerprint once and not at the start of every run. Internal to session/.
 *
 * $XDG_STATE_HOME/tinca/checksums/XXXXXXXX.txt, a file for each folder of pictures, has the CRC-32
 * of what follows, the folder, and a line for each picture: bytes, time of modification, time of
 * change, inode, CRC-32, name. A picture whose line is the same is not read again; renaming or
 * writing it changes the time of change. What cannot be read or written, or was damaged, only costs
 * time: no function fails. */
#ifndef TINCA_SESSION_FILES_CHECKSUM_CACHE_H
#define TINCA_SESSION_FILES_CHECKSUM_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct checksum_cache;

/* By what a file is known again; times in nanoseconds. */
struct checksum_stamp {
    uint64_t bytes, modified, changed, inode;
};

/* Fills *stamp from the file at `path`; false: there is none. */
bool checksum_stamp_read(struct checksum_stamp *stamp, const char *path);

/* Returns the cache of the pictures below the folder `root`; NULL when memory is out. */
struct checksum_cache *checksum_cache_open(const char *root);

/* Returns whether the file `name` is known with this stamp. Thread safe. NULL knows none. */
bool checksum_cache_find(const struct checksum_cache *cache, const char *name,
                         const struct checksum_stamp *stamp, uint32_t *crc32);

/* Notes a file, found or read. A file that changed within the last seconds is not kept: it could
 * change again within the resolution of its times. */
void checksum_cache_note(struct checksum_cache *cache, const char *name,
                         const struct checksum_stamp *stamp, uint32_t crc32);

/* Writes the cache if a file was noted that it did not know, and frees it. May be NULL. */
void checksum_cache_close(struct checksum_cache *cache);

#endif
