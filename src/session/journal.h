/* journal.h: a run's events, a line of JSON each, appended as they happen. Internal to session/.
 *
 * A line without "event" is an iteration. Everything that a view shows of a run can be rebuilt
 * from these lines. Lines reach the file within 250 ms, events at once. */
#ifndef TINCA_SESSION_JOURNAL_H
#define TINCA_SESSION_JOURNAL_H

#include "base/error.h"
#include "base/json.h"
#include "session/finding.h"
#include "session/series.h"

#include <stdio.h>

struct journal {
    FILE *stream;
    uint64_t flushed; /* when: clock_nanoseconds */
    char *path;
};

/* Opens directory/journal.jsonl for appending; what a crash left half written is closed by a line
 * feed, so that it costs only itself. */
bool journal_open(struct journal *journal, const char *directory, struct error *error);
void journal_close(struct journal *journal); /* may be {0} */

/* False when the file cannot be written any more (the disk is full). */
bool journal_add_point(struct journal *journal, const struct series_point *point, uint64_t now,
                       struct error *error);
bool journal_add_validation(struct journal *journal, const struct series_validation *validation,
                            struct error *error);
bool journal_add_finding(struct journal *journal, const struct finding *finding,
                         struct error *error);
/* An event of other kinds: takes over `event`, an object with a member "event", or NULL for one
 * that consists of its name alone. */
bool journal_add_event(struct journal *journal, const char *name, struct json *event,
                       struct error *error);

/* What is still buffered reaches the file: before something that takes long. */
bool journal_flush(struct journal *journal, struct error *error);

/* Gives each line of a journal file to `visit`, until that returns false. Lines that are no JSON
 * (torn by a crash) are left out. */
typedef bool journal_visit(void *context, const struct json *line, struct error *error);
bool journal_read(const char *path, journal_visit *visit, void *context, struct error *error);

/* What a line says; false when it is not of this kind. Null is read as NaN. */
bool journal_read_point(const struct json *line, struct series_point *point);
bool journal_read_validation(const struct json *line, struct series_validation *validation);
bool journal_read_finding(const struct json *line, struct finding *finding);

#endif
