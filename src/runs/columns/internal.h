/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_RUNS_COLUMNS_INTERNAL_H
#define TINCA_RUNS_COLUMNS_INTERNAL_H

#include "runs/columns/journal_columns.h"

#include <stddef.h>

/* --- the file of columns --- */

/* The lines of a journal in memory, and their form in the column file (journal_columns_form.c).
 *
 * The file has numbers of the machine's byte order:
 *
 *     magic   8 bytes
 *     header  HEADER_FIELDS numbers of 64 bits, and their CRC-32 as another one
 *     body    COLUMNS columns; the other lines; every MARK_POINTS-th iteration's end in the journal
 *
 * A column is its encoding (64 bits), then one value (COLUMN_SAME: all are equal; COLUMN_NEXT: each
 * is one more than the one before) or all values. Values have 64 bits (counts) or 32 (floats; NaN
 * is always the same pattern). */

enum header_field {
    HEADER_VERSION,
    HEADER_ORDER, /* HEADER_ORDER_VALUE in the machine's byte order */
    HEADER_JOURNAL_LENGTH,
    HEADER_JOURNAL_CRC32,
    HEADER_POINTS,
    HEADER_OTHERS,
    HEADER_BODY_LENGTH,
    HEADER_BODY_CRC32,
    HEADER_STAMP, /* STAMP_FIELDS fields */
    HEADER_FIELDS = HEADER_STAMP + 6
};

enum { COLUMNS = 14, MARK_POINTS = 1024, COLUMNS_VERSION = 4, MAGIC_SIZE = 8 };
enum { HEADER_SIZE = MAGIC_SIZE + (HEADER_FIELDS + 1) * 8 };
#define HEADER_ORDER_VALUE UINT64_C(0x0102030405060708)
enum column_encoding { COLUMN_ALL, COLUMN_SAME, COLUMN_NEXT };

extern const char columns_magic[MAGIC_SIZE];
struct column_place {
    size_t offset, size; /* of a member of struct series_point */
};
extern const struct column_place columns_places[COLUMNS];

/* Identifies the state of a journal (journal_columns.h). Size 0: nothing is known. */
struct journal_stamp {
    uint64_t device, inode, size;
    uint64_t modified, changed; /* nanoseconds */
    uint64_t ends;              /* CRC-32 of the first and the last 4 KiB */
};
enum { STAMP_FIELDS = HEADER_FIELDS - HEADER_STAMP };
#define JOURNAL_STAMP_SETTLES UINT64_C(2500000000) /* nanoseconds */

/* Fills *stamp from the journal at `path`, whose every byte is on the disk; returns false, with the
 * size 0, if there is none, or it has holes, so that only its text is to be read. */
bool journal_stamp_take(struct journal_stamp *stamp, const char *path);

bool journal_stamp_same(const struct journal_stamp *a, const struct journal_stamp *b);

/* Returns whether at `now` (nanoseconds since 1970) the journal's times lie so far behind that any
 * later change gives it other ones. */
bool journal_stamp_is_settled(const struct journal_stamp *stamp, uint64_t now);

/* Returns the time of the file system, in nanoseconds since 1970, at which a file of the name
 * `path` would now be created; 0: none can be. */
uint64_t journal_stamp_clock(const char *path);

/* A line that is no iteration. */
struct other_line {
    uint64_t points; /* iterations before it */
    uint64_t begin;  /* its offset in the journal */
    uint64_t length; /* without the newline */
};

/* A column in the bytes of a column file. */
struct column_view {
    const unsigned char *values;
    enum column_encoding encoding;
};

/* The lines of a journal; starts as {0}. Those from a column file have `views` into its bytes, and
 * no points: these are read block by block (journal_lines_block). */
struct journal_lines {
    struct series_point *points;
    struct column_view views[COLUMNS];
    struct other_line *others;
    uint64_t *marks; /* where line MARK_POINTS, 2 MARK_POINTS, ... of the iterations ends */
    size_t point_count, point_capacity, other_count, other_capacity, mark_count, mark_capacity;
    uint64_t end;       /* offset after the last line */
    bool out_of_memory; /* lines are missing */
};

/* Writes the points from `first` on, `count` of them, to `points`. */
void journal_lines_block(const struct journal_lines *lines, size_t first, size_t count,
                         struct series_point *points);

/* Adds a line. */
void journal_lines_add(struct journal_lines *lines, const struct journal_line *line);
void journal_lines_free(struct journal_lines *lines);

/* Returns the column file for the first bytes of a journal (*sum), owned by the caller; NULL if out
 * of memory. */
unsigned char *journal_lines_encode(const struct journal_lines *lines,
                                    const struct journal_sum *sum,
                                    const struct journal_stamp *stamp, size_t *size);

/* Puts another stamp into the header of a column file, of at least HEADER_SIZE bytes. */
void journal_lines_stamp(unsigned char *bytes, const struct journal_stamp *stamp);

/* The journal that a column file was made of, as the file describes it. */
struct journal_origin {
    struct journal_sum sum;
    struct journal_stamp stamp;
};

/* Returns what is wrong with a column file, untranslated; NULL: nothing, and *lines has its
 * contents, which the caller frees, and which need the bytes. Every count and offset is checked. */
const char *journal_lines_decode(const unsigned char *bytes, size_t size,
                                 struct journal_lines *lines, struct journal_origin *origin);

/* Returns whether the bytes are the beginning of a column file of an earlier version. */
bool journal_lines_are_old(const unsigned char *bytes, size_t size);

#endif
