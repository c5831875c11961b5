/* journal.h: the events of a run, appended as they happen.
 *
 * The file `journal` of a run's folder has records of a fixed size with checksums, which
 * journal_record.h describes; its entries are read as lines (struct journal_line). Everything that
 * a view shows can be rebuilt from them. Iterations reach the file within 250 ms, events at once.
 * Runs of earlier versions have lines of JSON in journal.jsonl, which are read in the same way, and
 * converted when such a run goes on.
 *
 * A disk that refuses (it is full, read-only, unplugged) does not fail the run: records wait in
 * memory and are written with the next ones; beyond 16 MiB, newer entries are dropped and counted.
 * `trouble` says why the last attempt failed.
 *
 * A failed fdatasync may have dropped the file's dirty pages, and a second call would then succeed
 * without them. So every byte stays in memory until a sync has succeeded. After a failed sync the
 * file is reopened and rewritten from the last byte that is known to be on the disk. */
#ifndef TINCA_RUNS_FOLDER_JOURNAL_H
#define TINCA_RUNS_FOLDER_JOURNAL_H

#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"
#include "runs/values/finding.h"
#include "runs/values/scalars.h"
#include "runs/values/series.h"

#include <stddef.h>
#include <stdint.h>

#define JOURNAL_FILE "journal"
/* Earlier versions wrote lines of JSON, and a cache of their values. */
#define JOURNAL_TEXT_FILE    "journal.jsonl"
#define JOURNAL_COLUMNS_FILE "journal.columns"

/* A place in a journal, as a checkpoint or a summary has recorded it. */
struct journal_mark {
    bool is_text; /* it is a place in the lines of an earlier version */
    bool has_sum; /* false: an early version recorded it */
    uint64_t length;
    uint32_t sum; /* the checksum there; of lines, the CRC-32 of the bytes before */
};

/* The values of the last iteration or validation. Of the next one only the changes are written. */
struct journal_row {
    union {
        struct series_point point;
        struct series_validation validation;
    } values;
    double per_epoch; /* iterations; 0: unknown */
    bool known;       /* an entry that stands alone has been read or written */
    bool has_epoch;   /* the present entry says which it is */
};

/* The state between two records. Start with {0}. */
struct journal_codec {
    uint32_t sum; /* of the last record */
    struct journal_row point, validation;
    struct scalars names; /* of the series from JOURNAL_NAMED on; without values */
    unsigned since;       /* iterations since one that stands alone */
    struct text text;     /* of the present event */
    bool damaged;         /* a record of the present entry is damaged: the entry is skipped */
    uint64_t faults;      /* damaged records */
    uint64_t first_fault; /* offset of the first */
};

/* --- writing --- */

struct journal {
    int descriptor;       /* -1: it must be opened */
    char *path;           /* NULL: there is no journal */
    char *earlier;        /* a journal.jsonl that was converted, until no checkpoint needs it */
    unsigned checkpoints; /* since it was opened */
    struct journal_codec codec;
    struct text pending;  /* the records from `synced` on, which may not be on the disk */
    uint64_t synced;      /* bytes that are on the disk: whole entries */
    uint64_t written;     /* bytes in the file; those from `synced` on may get lost */
    uint32_t sum;         /* the checksum at `synced` */
    bool entered;         /* its folder was synced, so that the file's name is on the disk */
    bool distrusted;      /* a sync failed, and none has succeeded since */
    uint64_t flushed;     /* clock_nanoseconds of the last write */
    uint64_t lost;        /* entries dropped */
    struct error trouble; /* kind ERROR_NONE: none */
};

enum {
    JOURNAL_PENDING_MOST = 16 << 20, /* bytes */
    JOURNAL_UNSYNCED_MOST = 1 << 20, /* bytes after which the journal syncs without being asked */
};

/* Opens the journal of a folder for appending at a place (NULL: a new journal), and cuts off the
 * rest. A journal of an earlier version is converted. Syncs the file. Returns false with an error.
 */
bool journal_open(struct journal *journal, const char *directory, const struct journal_mark *keep,
                  struct error *error);

/* Tries a last time to write the waiting entries, cuts an incomplete one off, and closes the file.
 * Does nothing for {0}. Returns how many entries were lost. */
uint64_t journal_close(struct journal *journal);

/* Closes the file without writing, because it no longer belongs to this run. */
void journal_abandon(struct journal *journal);

/* Append an iteration (at the time `now`, nanoseconds), a validation, a finding. */
void journal_add_point(struct journal *journal, const struct series_point *point, uint64_t now);
void journal_add_validation(struct journal *journal, const struct series_validation *validation);
void journal_add_finding(struct journal *journal, const struct finding *finding);
/* Appends a value of the series with a name, at a step. */
void journal_add_scalar(struct journal *journal, const char *name,
                        const struct scalar_value *value);
/* Appends another event: `event`, an object with a member "event", which the function frees, or
 * NULL for an event with a name only. */
void journal_add_event(struct journal *journal, const char *name, struct json *event);

/* Writes the waiting entries to the file. Call it before something that takes long. */
void journal_flush(struct journal *journal);

/* Writes the waiting entries to the disk. Returns false if some still wait (`trouble`); otherwise
 * `synced` and `sum` describe the whole journal. */
bool journal_sync(struct journal *journal);

/* Notes that a checkpoint was written. After the second one no checkpoint belongs to a
 * journal.jsonl that was converted, which is then deleted; journal_forget_earlier does that at the
 * run's end. */
void journal_note_checkpoint(struct journal *journal);
void journal_forget_earlier(struct journal *journal);

/* --- reading --- */

enum { JOURNAL_LINE_MOST = 1 << 20 }; /* bytes of an event; longer ones are invalid */

/* A value of a series with a name. */
struct journal_scalar {
    const char *name;
    struct scalar_value at;
};

/* An entry of a journal: one of the first four is set. */
struct journal_line {
    const struct series_point *point;
    const struct series_validation *validation;
    const struct journal_scalar *scalar;
    const struct json *json; /* an event */
    const char *text;        /* the event's JSON, not terminated */
    size_t length;           /* of the text */
    uint64_t end;            /* offset in the file after the entry */
};

/* The state of a journal, as a reading has found it. */
struct journal_found {
    bool is_text;         /* of an earlier version: length and sum are 0 */
    uint64_t length;      /* bytes of the whole records */
    uint32_t sum;         /* of the last one */
    uint64_t faults;      /* damaged records, or lines */
    uint64_t first_fault; /* offset of the first */
};

/* Returns the path of a folder's journal, which the caller frees: `journal`, or journal.jsonl where
 * there is only that; sets *is_text, unless it is NULL. NULL with an error if out of memory. */
char *journal_path(const char *directory, bool *is_text, struct error *error);

/* Calls `visit` for each entry of the journal of a folder, up to a place (NULL: to its end), until
 * it returns false. Damaged entries are skipped, and after them up to JOURNAL_ALONE_EVERY
 * iterations that need them. Sets *found, unless it is NULL. A missing journal has no entries.
 * Returns false with an error if the file is not a regular file, cannot be read, or is of a later
 * version (ERROR_UNSUPPORTED). */
typedef bool journal_visit(void *context, const struct journal_line *line, struct error *error);
bool journal_read(const char *directory, const struct journal_mark *until, journal_visit *visit,
                  void *context, struct journal_found *found, struct error *error);

/* Does the same for one file, which must exist, and its first `limit` bytes. */
bool journal_read_file(const char *path, bool is_text, uint64_t limit, journal_visit *visit,
                       void *context, struct journal_found *found, struct error *error);

/* Returns the last iteration of a folder's journal, from its last records; 0 if there is none. */
uint64_t journal_last_iteration(const char *directory);

/* Sets *sum to the checksum at a place of the journal of a folder. Returns false with ERROR_INPUT
 * if the file is missing or shorter, with ERROR_SYSTEM if it cannot be read. */
bool journal_sum_at(const char *directory, bool is_text, uint64_t length, uint32_t *sum,
                    struct error *error);

/* Returns whether the journal of a folder is sound up to a place and has its checksum there;
 * otherwise false with an error, like journal_sum_at. */
bool journal_verify(const char *directory, const struct journal_mark *mark, struct error *error);

/* Reads a finding from an event. Returns false if it is another event. */
bool journal_read_finding(const struct json *event, struct finding *finding);

/* --- as JSON --- */

/* Appends an entry as one line of JSON, without a newline: that of tinca train --json. */
void journal_print_line(struct text *text, const struct journal_line *line);

/* --- a journal that grows --- */

/* Reads a journal piece by piece while another process writes it.
 *
 * Only whole records are read. A resumed run cuts its journal back to its checkpoint. To notice
 * that, even if the file has grown past that point since, the sum of the last record is compared.
 */

enum { JOURNAL_PIECE = 256 << 10 }; /* bytes that one call reads at most, so that it returns soon */

struct journal_tail { /* initialise it with {0} */
    uint64_t offset;  /* after the last record that was read */
    struct journal_codec codec;
    bool is_text;
    double written; /* time of modification, in seconds since 1970; 0: not read yet */
};

enum journal_tail_result {
    JOURNAL_FAILED,
    JOURNAL_SAME, /* nothing new, or no journal yet */
    JOURNAL_READ,
    JOURNAL_MORE, /* records were read, and there are more */
    JOURNAL_CUT,  /* the file was cut: it no longer has the records read before */
};

/* Calls `visit` for the entries of the next piece, like journal_read. Opens the file each time,
 * which shows its newest state on a network file system. */
enum journal_tail_result journal_tail_read(struct journal_tail *tail, const char *directory,
                                           journal_visit *visit, void *context,
                                           struct error *error);
void journal_tail_free(struct journal_tail *tail);

#endif
