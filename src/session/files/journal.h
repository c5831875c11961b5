/* journal.h: a run's events, a line of JSON each, appended as they happen. Internal to session/.
 *
 * A line without "event" is an iteration. Everything that a view shows of a run can be rebuilt
 * from these lines. Lines reach the file within 250 ms, events at once.
 *
 * Writing never fails a run: what the disk does not take (it is full, read-only, gone) waits in
 * memory and is tried again with what comes next, and after 16 MiB of that the newer lines are
 * dropped and counted. `trouble` says why the last attempt failed.
 *
 * A failed fdatasync may have dropped the file's dirty pages, and a second one would then succeed
 * without them. So every byte stays in memory until a sync has succeeded, and after a failed one
 * the file is opened anew and written again from the last byte that is known to be on the disk. */
#ifndef TINCA_SESSION_FILES_JOURNAL_H
#define TINCA_SESSION_FILES_JOURNAL_H

#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"
#include "session/values/finding.h"
#include "session/values/series.h"

#include <stdint.h>

struct journal {
    int descriptor;       /* -1: to be opened (again) */
    char *path;           /* NULL: there is no journal */
    struct text pending;  /* what is not known to be on the disk: the bytes from `synced` on */
    uint64_t synced;      /* bytes known to be on the disk: whole lines */
    uint64_t written;     /* bytes in the file; from `synced` on they may be lost */
    uint32_t crc32;       /* zlib's CRC-32 of the first `synced` bytes */
    bool entered;         /* the file's name is on the disk too: its folder has been synced */
    bool distrusted;      /* a sync has failed, and none has succeeded since */
    uint64_t flushed;     /* when: clock_nanoseconds */
    uint64_t lost;        /* lines dropped */
    struct error trouble; /* kind ERROR_NONE: all is well */
};

enum {
    JOURNAL_PENDING_MOST = 16 << 20, /* bytes */
    JOURNAL_UNSYNCED_MOST = 1 << 20, /* bytes after which the journal is synced of itself */
};

/* Opens directory/journal.jsonl for appending behind its first `keep` bytes; the rest, and a line
 * that a crash left half written, is cut off. UINT64_MAX keeps all whole lines. What is kept is
 * synced and its CRC-32 computed. */
bool journal_open(struct journal *journal, const char *directory, uint64_t keep,
                  struct error *error);

/* Tries a last time to write what waits; a line that is in the file in part is cut off. May be {0},
 * and does nothing then. Returns how many lines were lost in all. */
uint64_t journal_close(struct journal *journal);

/* Closes the file without writing what waits: it is no longer this run's. */
void journal_abandon(struct journal *journal);

void journal_add_point(struct journal *journal, const struct series_point *point, uint64_t now);
void journal_add_validation(struct journal *journal, const struct series_validation *validation);
void journal_add_finding(struct journal *journal, const struct finding *finding);
/* An event of other kinds: takes over `event`, an object with a member "event", or NULL for one
 * that consists of its name alone. */
void journal_add_event(struct journal *journal, const char *name, struct json *event);

/* What is still buffered reaches the file: before something that takes long. */
void journal_flush(struct journal *journal);

/* The same, and the disk: false when something still waits (`trouble`). After true, `synced` and
 * `crc32` describe the whole journal. */
bool journal_sync(struct journal *journal);

/* Computes the CRC-32 of the first `length` bytes of a journal file. Returns false with ERROR_INPUT
 * when the file is missing or shorter, with ERROR_SYSTEM when it cannot be read. */
bool journal_checksum(const char *path, uint64_t length, uint32_t *sum, struct error *error);

enum { JOURNAL_LINE_MOST = 1 << 20 }; /* bytes; a longer line is no journal's */

/* Gives each line of a journal file to `visit`, until that returns false. Lines that are no JSON
 * (torn by a crash) or longer than JOURNAL_LINE_MOST are left out. Returns false, with an error,
 * when the file is not a regular one or cannot be read. */
typedef bool journal_visit(void *context, const struct json *line, struct error *error);
bool journal_read(const char *path, journal_visit *visit, void *context, struct error *error);

/* The same of the lines that end within the first `limit` bytes. */
bool journal_read_first(const char *path, uint64_t limit, journal_visit *visit, void *context,
                        struct error *error);

/* What a line says; false when it is not of this kind. Null is read as NaN. */
bool journal_read_point(const struct json *line, struct series_point *point);
bool journal_read_validation(const struct json *line, struct series_validation *validation);
bool journal_read_finding(const struct json *line, struct finding *finding);

#endif
