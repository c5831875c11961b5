/* crc32c.h: the checksum of the records of an event file: CRC-32C (Castagnoli's polynomial, as in
 * iSCSI), masked. zlib has the other CRC-32 only. Internal to this folder. */
#ifndef TINCA_SESSION_TENSORBOARD_CRC32C_H
#define TINCA_SESSION_TENSORBOARD_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Tables that step over eight bytes at a time; table[k] is for a byte with k bytes after it. */
struct crc32c {
    uint32_t table[8][256];
};

/* Fills the tables. */
void crc32c_prepare(struct crc32c *crc);

/* Returns the CRC-32C of `count` bytes. */
uint32_t crc32c_of(const struct crc32c *crc, const void *bytes, size_t count);

/* Returns what a file stores for a CRC-32C: rotated right by 15 bits, plus a constant. A checksum
 * of data that contain checksums would otherwise be of little use. */
uint32_t crc32c_mask(uint32_t crc);

#endif
