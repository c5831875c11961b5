/* journal_columns_internal.h: what the two halves of journal_columns.h share: the lines of a
 * journal in memory, and their form in the file.
 *
 * The file has numbers of the machine's byte order:
 *
 *     magic   8 bytes
 *     header  HEADER_FIELDS numbers of 64 bits, and their CRC-32 as another one
 *     body    COLUMNS columns; the other lines; every MARK_POINTS-th iteration's end in the journal
 *
 * A column is its encoding (64 bits), then one value (COLUMN_SAME: all are equal; COLUMN_NEXT: each
 * is one more than the one before) or all values. Values have 64 bits (counts) or 32 (floats; NaN
 * is always the same pattern).
 */
#ifndef TINCA_SESSION_COLUMNS_JOURNAL_COLUMNS_INTERNAL_H
#define TINCA_SESSION_COLUMNS_JOURNAL_COLUMNS_INTERNAL_H

#include "session/columns/journal_columns.h"

#include <stddef.h>

enum header_field {
    HEADER_VERSION,
    HEADER_ORDER, /* HEADER_ORDER_VALUE in the machine's byte order */
    HEADER_JOURNAL_LENGTH,
    HEADER_JOURNAL_CRC32,
    HEADER_POINTS,
    HEADER_OTHERS,
    HEADER_BODY_LENGTH,
    HEADER_BODY_CRC32,
    HEADER_FIELDS
};

enum { COLUMNS = 11, MARK_POINTS = 1024, COLUMNS_VERSION = 1, MAGIC_SIZE = 8 };
enum { HEADER_SIZE = MAGIC_SIZE + (HEADER_FIELDS + 1) * 8 };
#define HEADER_ORDER_VALUE UINT64_C(0x0102030405060708)
enum column_encoding { COLUMN_ALL, COLUMN_SAME, COLUMN_NEXT };

extern const char columns_magic[MAGIC_SIZE];
struct column_place {
    size_t offset, size; /* of a member of struct series_point */
};
extern const struct column_place columns_places[COLUMNS];

/* A line that is no iteration. */
struct other_line {
    uint64_t points; /* iterations before it */
    uint64_t begin;  /* its offset in the journal */
    uint64_t length; /* without the newline */
};

/* The lines of a journal; starts as {0}. */
struct journal_lines {
    struct series_point *points;
    struct other_line *others;
    uint64_t *marks; /* where line MARK_POINTS, 2 MARK_POINTS, ... of the iterations ends */
    size_t point_count, point_capacity, other_count, other_capacity, mark_count, mark_capacity;
    uint64_t end;       /* offset after the last line */
    bool out_of_memory; /* lines are missing */
};

/* Adds a line. */
void journal_lines_add(struct journal_lines *lines, const struct journal_line *line);
void journal_lines_free(struct journal_lines *lines);

/* Returns the column file for the first `length` bytes of a journal with this CRC-32, owned by the
 * caller; NULL if out of memory. */
unsigned char *journal_lines_encode(const struct journal_lines *lines, uint64_t length,
                                    uint32_t crc32, size_t *size);

/* Returns what is wrong with a column file, untranslated; NULL: nothing, and *lines has its
 * contents, which the caller frees. Every count and offset is checked. */
const char *journal_lines_decode(const unsigned char *bytes, size_t size,
                                 struct journal_lines *lines, struct journal_sum *sum);

#endif
