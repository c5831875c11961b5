#include "session/tensorboard/internal.h"

enum { BYTE_VALUES = 256 };
static const uint32_t polynomial = 0x82f63b78; /* reflected: the lowest bit is the highest power */

void crc32c_prepare(struct crc32c *crc)
{
    for (uint32_t byte = 0; byte < BYTE_VALUES; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++)
            rest = rest >> 1 ^ (rest & 1 ? polynomial : 0);
        crc->table[0][byte] = rest;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t byte = 0; byte < BYTE_VALUES; byte++) {
            const uint32_t rest = crc->table[k - 1][byte];
            crc->table[k][byte] = rest >> 8 ^ crc->table[0][rest & 255];
        }
}

uint32_t crc32c_of(const struct crc32c *crc, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    const uint32_t(*table)[BYTE_VALUES] = crc->table;
    uint32_t rest = UINT32_MAX;
    for (; count >= 8; count -= 8, at += 8) {
        rest ^=
            (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        rest = table[7][rest & 255] ^ table[6][rest >> 8 & 255] ^ table[5][rest >> 16 & 255] ^
               table[4][rest >> 24] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^
               table[0][at[7]];
    }
    for (; count > 0; count--)
        rest = rest >> 8 ^ table[0][(rest ^ *at++) & 255];
    return ~rest;
}

uint32_t crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}
