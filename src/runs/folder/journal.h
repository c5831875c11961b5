/* journal.h: the events of a run, one line of JSON each, appended as they happen.
 *
 * A line without "event" is an iteration. Everything that a view shows can be rebuilt from these
 * lines. Lines reach the file within 250 ms, events at once.
 *
 * A disk that refuses (it is full, read-only, unplugged) does not fail the run: lines wait in
 * memory and are written with the next ones; beyond 16 MiB, newer lines are dropped and counted.
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
#include "runs/values/series.h"

#include <stddef.h>
#include <stdint.h>

struct journal {
    int descriptor;       /* -1: it must be opened */
    char *path;           /* NULL: there is no journal */
    struct text pending;  /* the bytes from `synced` on, which may not be on the disk */
    uint64_t synced;      /* bytes that are on the disk: whole lines */
    uint64_t written;     /* bytes in the file; those from `synced` on may get lost */
    uint32_t crc32;       /* zlib's CRC-32 of the first `synced` bytes */
    bool entered;         /* its folder was synced, so that the file's name is on the disk */
    bool distrusted;      /* a sync failed, and none has succeeded since */
    uint64_t flushed;     /* clock_nanoseconds of the last write */
    uint64_t lost;        /* lines dropped */
    struct error trouble; /* kind ERROR_NONE: none */
};

enum {
    JOURNAL_PENDING_MOST = 16 << 20, /* bytes */
    JOURNAL_UNSYNCED_MOST = 1 << 20, /* bytes after which the journal syncs without being asked */
};

/* Opens directory/journal.jsonl for appending after its first `keep` bytes. The rest is cut off, as
 * is a line that a crash left incomplete; UINT64_MAX keeps all whole lines. Syncs the file and
 * computes its CRC-32. Returns false with an error. */
bool journal_open(struct journal *journal, const char *directory, uint64_t keep,
                  struct error *error);

/* Tries a last time to write the waiting lines, cuts an incomplete line off, and closes the file.
 * Does nothing for {0}. Returns how many lines were lost. */
uint64_t journal_close(struct journal *journal);

/* Closes the file without writing, because it no longer belongs to this run. */
void journal_abandon(struct journal *journal);

/* Append an iteration (at the time `now`, nanoseconds), a validation, a finding. */
void journal_add_point(struct journal *journal, const struct series_point *point, uint64_t now);
void journal_add_validation(struct journal *journal, const struct series_validation *validation);
void journal_add_finding(struct journal *journal, const struct finding *finding);
/* Appends another event: `event`, an object with a member "event", which the function frees, or
 * NULL for an event with a name only. */
void journal_add_event(struct journal *journal, const char *name, struct json *event);

/* Writes the waiting lines to the file. Call it before something that takes long. */
void journal_flush(struct journal *journal);

/* Writes the waiting lines to the disk. Returns false if some still wait (`trouble`); otherwise
 * `synced` and `crc32` describe the whole journal. */
bool journal_sync(struct journal *journal);

/* Computes the CRC-32 of the first `length` bytes of a journal file. Returns false with ERROR_INPUT
 * if the file is missing or shorter, with ERROR_SYSTEM if it cannot be read. */
bool journal_checksum(const char *path, uint64_t length, uint32_t *sum, struct error *error);

enum { JOURNAL_LINE_MOST = 1 << 20 }; /* bytes; longer lines are invalid */

/* A line of a journal: an iteration, or anything else, of which `json` is the tree. */
struct journal_line {
    const struct series_point *point; /* NULL: no iteration */
    const struct json *json;          /* NULL: an iteration */
    uint64_t end;  /* offset in the file after its newline; 0 if it comes from a column file */
    size_t length; /* bytes, without the newline */
};

/* Calls `visit` for each line of a journal file until it returns false. Lines that are not JSON
 * (torn by a crash) or longer than JOURNAL_LINE_MOST are skipped. Returns false with an error if
 * the file is not a regular file or cannot be read. */
typedef bool journal_visit(void *context, const struct journal_line *line, struct error *error);
bool journal_read(const char *path, journal_visit *visit, void *context, struct error *error);

/* Does the same for the lines that end within the first `limit` bytes. */
bool journal_read_first(const char *path, uint64_t limit, journal_visit *visit, void *context,
                        struct error *error);

/* Does the same for the lines from byte `offset` on, where a line begins. */
bool journal_read_range(const char *path, uint64_t offset, uint64_t limit, journal_visit *visit,
                        void *context, struct error *error);

/* Visits one line of `length` bytes, unless it is not JSON; `end` is its end in the file. Returns
 * what `visit` returned. */
bool journal_visit_line(const char *line, size_t length, uint64_t end, const char *path,
                        journal_visit *visit, void *context, struct error *error);

/* Parses the line of an iteration of the form that journal_add_point writes. Returns false if it
 * has another form, which may still be that of an iteration (journal_read_point); `point` is then
 * undefined. Both give the same values. */
bool journal_parse_point(const char *line, size_t length, struct series_point *point);

/* Parse a line. Return false if it is of another kind. Null is read as NaN. */
bool journal_read_point(const struct json *line, struct series_point *point);
bool journal_read_validation(const struct json *line, struct series_validation *validation);
bool journal_read_finding(const struct json *line, struct finding *finding);

/* --- a journal that grows --- */

/* Reads a journal piece by piece while another process writes it.
 *
 * Only whole lines are read; a torn line waits until the rest of it is written. A resumed run cuts
 * its journal back to its checkpoint. To notice that, even if the file has grown past that point
 * since, the last bytes before the present offset are remembered and compared. */

enum { JOURNAL_PIECE = 256 << 10 }; /* bytes that one call reads at most, so that it returns soon */

struct journal_tail { /* initialise it with {0} */
    uint64_t offset;  /* after the last line that was read */
    char before[64];  /* the bytes before the offset */
    size_t before_length;
    double written; /* time of modification, in seconds since 1970; 0: not read yet */
};

enum journal_tail_result {
    JOURNAL_FAILED,
    JOURNAL_SAME, /* nothing new, or no journal yet */
    JOURNAL_READ,
    JOURNAL_MORE, /* lines were read, and there are more */
    JOURNAL_CUT,  /* the file was cut: it no longer has the lines read before */
};

/* Calls `visit` for the whole lines of the next piece, like journal_read. Opens the file each time,
 * which shows its newest state on a network file system. */
enum journal_tail_result journal_tail_read(struct journal_tail *tail, const char *path,
                                           journal_visit *visit, void *context,
                                           struct error *error);

#endif
