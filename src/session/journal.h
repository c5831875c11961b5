/* journal.h: a run's events, a line of JSON each, appended as they happen. Internal to session/.
 *
 * A line without "event" is an iteration. Everything that a view shows of a run can be rebuilt
 * from these lines. Lines reach the file within 250 ms, events at once.
 *
 * Writing never fails a run: what the disk does not take (it is full, read-only, gone) waits in
 * memory and is tried again with what comes next, and after 16 MiB of that the newer lines are
 * dropped and counted. `trouble` says why the last attempt failed. */
#ifndef TINCA_SESSION_JOURNAL_H
#define TINCA_SESSION_JOURNAL_H

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "session/finding.h"
#include "session/series.h"

#include <stdint.h>

struct journal {
    int descriptor;       /* -1: to be opened (again) */
    char *path;           /* NULL: there is no journal */
    struct text pending;  /* what is not in the file yet; a line may be there in part */
    uint64_t written;     /* bytes in the file, of this journal's and before */
    uint64_t whole;       /* of these, up to the end of the last whole line */
    uint64_t flushed;     /* when: clock_nanoseconds */
    uint64_t lost;        /* lines dropped */
    struct error trouble; /* kind ERROR_NONE: all is well */
};

enum { JOURNAL_PENDING_MOST = 16 << 20 }; /* bytes */

/* Opens directory/journal.jsonl for appending behind its first `keep` bytes; the rest, and a line
 * that a crash left half written, is cut off. UINT64_MAX keeps all whole lines. */
bool journal_open(struct journal *journal, const char *directory, uint64_t keep,
                  struct error *error);

/* Tries a last time to write what waits; a line that is in the file in part is cut off. May be {0},
 * and does nothing then. Returns how many lines were lost in all. */
uint64_t journal_close(struct journal *journal);

void journal_add_point(struct journal *journal, const struct series_point *point, uint64_t now);
void journal_add_validation(struct journal *journal, const struct series_validation *validation);
void journal_add_finding(struct journal *journal, const struct finding *finding);
/* An event of other kinds: takes over `event`, an object with a member "event", or NULL for one
 * that consists of its name alone. */
void journal_add_event(struct journal *journal, const char *name, struct json *event);

/* What is still buffered reaches the file: before something that takes long. */
void journal_flush(struct journal *journal);

/* The same, and the disk: false when something still waits (`trouble`). */
bool journal_sync(struct journal *journal);

enum { JOURNAL_LINE_MOST = 1 << 20 }; /* bytes; a longer line is no journal's */

/* Gives each line of a journal file to `visit`, until that returns false. Lines that are no JSON
 * (torn by a crash) or longer than JOURNAL_LINE_MOST are left out. Returns false, with an error,
 * when the file is not a regular one or cannot be read. */
typedef bool journal_visit(void *context, const struct json *line, struct error *error);
bool journal_read(const char *path, journal_visit *visit, void *context, struct error *error);

/* What a line says; false when it is not of this kind. Null is read as NaN. */
bool journal_read_point(const struct json *line, struct series_point *point);
bool journal_read_validation(const struct json *line, struct series_validation *validation);
bool journal_read_finding(const struct json *line, struct finding *finding);

#endif
