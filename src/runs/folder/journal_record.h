/* journal_record.h: the records of a journal, and their translation from and to lines.
 *
 * A journal is a sequence of records of JOURNAL_RECORD bytes, all numbers in little-endian order:
 *
 *     step     8 bytes   the iteration
 *     time     8 bytes   float64: seconds since the run began, without pauses
 *     value    8 bytes   float64
 *     series   4 bytes   the number of the series (enum journal_series), and flags
 *     sum      4 bytes   the checksum of the 28 bytes before it and of the sum of the record before
 *
 * The sums form a chain: a record that is changed, missing, inserted or moved does not fit its
 * neighbours, and the sum of a record stands for all bytes up to its end. That is why a checkpoint
 * records the journal's length and the sum at that place, and nothing has to read a file twice.
 *
 * An entry is one or more records, of which the last has JOURNAL_LAST: an iteration (its values
 * that differ from those of the iteration before), a validation, a value of another series, or an
 * event, whose JSON text fills the first 24 bytes of its records. JOURNAL_ALONE marks the first
 * record of an entry that needs no earlier one: values that it does not have are absent. Every
 * JOURNAL_ALONE_EVERY-th iteration is such an entry, so that a damaged record costs few others. The
 * epoch is not written where it follows from the iteration and JOURNAL_PER_EPOCH.
 *
 * The first record is the header: the text of the format's name and version. It keeps its form in
 * later versions, so that earlier ones can refuse them by name. */
#ifndef TINCA_RUNS_FOLDER_JOURNAL_RECORD_H
#define TINCA_RUNS_FOLDER_JOURNAL_RECORD_H

#include "base/number.h"
#include "runs/folder/journal.h"

#include <math.h>
#include <string.h>

enum { JOURNAL_RECORD = 32, JOURNAL_TEXT_BYTES = 24, JOURNAL_ALONE_EVERY = 64 };
#define JOURNAL_LAST  UINT32_C(0x80000000)
#define JOURNAL_ALONE UINT32_C(0x40000000)

/* The numbers of series, which are part of the format: new ones are added, and none is used for
 * another series. The numbers of the values of iterations and validations follow the tables in
 * journal_text.c. */
enum journal_series {
    JOURNAL_TEXT = 0,        /* an event, and the header */
    JOURNAL_POINT = 1,       /* the first one of iterations */
    JOURNAL_VALIDATION = 32, /* the first one of validations */
    JOURNAL_NAMED = 64,      /* the first one whose name an event "series" gives */
};

/* --- the values of an iteration or a validation --- */

enum journal_kind {
    JOURNAL_RATIO,    /* the iterations of an epoch, from which epochs follow; it has no name */
    JOURNAL_FLOAT,    /* unknown if it is not finite */
    JOURNAL_OPTIONAL, /* a float that only some networks have; NaN: it does not exist */
    JOURNAL_TIME,     /* the seconds, which every record has */
    JOURNAL_COUNT,
    JOURNAL_OPTIONAL_COUNT /* 0: it does not exist */
};

struct journal_column {
    const char *name; /* in JSON */
    enum journal_kind kind;
    size_t offset; /* in struct series_point or struct series_validation */
};

/* Column i has the number `series` + i. The last value of an entry is the loss. */
struct journal_table {
    uint32_t series, count;
    size_t iteration, seconds; /* offsets */
    const struct journal_column *columns;
};
extern const struct journal_table journal_points, journal_validations;
enum { JOURNAL_PER_EPOCH, JOURNAL_EPOCH, JOURNAL_LOSS }; /* the first columns of both tables */

/* Returns a value; NaN, of one pattern, if it is unknown or does not exist. */
static inline double journal_value(const struct journal_column *column, const void *values)
{
    float value;
    uint64_t count;
    const char *at = (const char *)values + column->offset;
    if (column->kind >= JOURNAL_COUNT) {
        memcpy(&count, at, sizeof count);
        return (double)count;
    }
    memcpy(&value, at, sizeof value);
    const bool known = column->kind == JOURNAL_OPTIONAL ? !isnan(value) : isfinite(value);
    return known ? (double)value : (double)NAN;
}

/* Sets a value; a count that is NaN becomes 0. */
static inline void journal_set_value(const struct journal_column *column, void *values,
                                     double value)
{
    char *at = (char *)values + column->offset;
    if (column->kind >= JOURNAL_COUNT)
        memcpy(at, &(uint64_t){number_to_uint64(value)}, sizeof(uint64_t));
    else
        memcpy(at, &(float){(float)value}, sizeof(float));
}

/* --- the state between two records --- */

/* Frees what the state holds. */
void journal_codec_free(struct journal_codec *codec);

/* --- writing --- */

/* Append the records of the header, an iteration, a validation, an event (its JSON on one line), a
 * value of a named series. */
void journal_put_header(struct journal_codec *codec, struct text *to);
void journal_put_point(struct journal_codec *codec, struct text *to,
                       const struct series_point *point);
void journal_put_validation(struct journal_codec *codec, struct text *to,
                            const struct series_validation *validation);
/* Precedes the first value of a series by the event that names it. Returns false if it is left out,
 * as there are too many names, or memory is out. */
bool journal_put_scalar(struct journal_codec *codec, struct text *to, const char *name,
                        const struct scalar_value *value);
void journal_put_text(struct journal_codec *codec, struct text *to, const char *json,
                      size_t length);

/* Returns the sum of a record that follows one with the sum `before`. */
uint32_t journal_record_compute(const unsigned char *record, uint32_t before);

/* Returns the stored sum of a record. */
uint32_t journal_record_sum(const unsigned char *record);

/* Returns whether this version reads the journal that begins with a record; otherwise, if the
 * record is the sound header of a later version, false with ERROR_UNSUPPORTED. A damaged header is
 * a damaged record like any other. */
bool journal_record_check_version(const unsigned char *record, const char *path,
                                  struct error *error);

/* Returns whether an entry ends with a record. */
bool journal_record_is_last(const unsigned char *record);

/* Returns the iteration whose entry ends with a record; 0: it is none. */
uint64_t journal_record_iteration(const unsigned char *record);

/* --- reading --- */

/* Takes a record, which ends at byte `end` of the file, and visits the line that it completes.
 * Damaged records are counted. Returns false if the visitor did. */
bool journal_take_record(struct journal_codec *codec, const unsigned char *record, uint64_t end,
                         const char *path, journal_visit *visit, void *context,
                         struct error *error);

/* --- journals of earlier versions --- */

/* Writes the lines within the first `limit` bytes of the journal `from` of an earlier version as
 * the journal `to`, as a whole. Returns false with an error. */
bool journal_text_convert(const char *from, const char *to, uint64_t limit, struct error *error);

/* --- lines of JSON (journal_text.c) --- */

/* Reads journal.jsonl of earlier versions, which has a line of JSON for each iteration and each
 * event, and visits the lines that end within the first `limit` bytes. Lines that are not JSON are
 * skipped and counted in *found; lines longer than JOURNAL_LINE_MOST are skipped. */
bool journal_text_read(const char *path, uint64_t limit, journal_visit *visit, void *context,
                       struct journal_found *found, struct error *error);

/* Visits the entry that a line of JSON stands for. Returns what the visitor did; true, with
 * *is_json false, if the line is not JSON. */
bool journal_visit_text(const char *json, size_t length, uint64_t end, const char *path,
                        journal_visit *visit, void *context, bool *is_json, struct error *error);

#endif
