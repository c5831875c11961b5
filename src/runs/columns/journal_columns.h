/* journal_columns.h: the column file of a long journal, from which curves are read in a tenth of
 * the time.
 *
 * journal.columns, beside journal.jsonl, has the values of the iterations column by column in
 * binary, and the places of the other lines in the journal. It is a cache: it can be deleted at any
 * time, and the journal alone counts. The run writes it at its end; if it is missing or does not
 * fit, reading writes it again, where the folder can be written. Journals below
 * JOURNAL_COLUMNS_LEAST bytes have none.
 *
 * It is used only if its own checksum is right and the journal still begins with the bytes (length
 * and CRC-32) from which it was made; lines after these are read from the journal. Reading 200 MB
 * for their CRC-32 takes longer than all the rest, so the file also has a stamp of the journal: its
 * device, inode, size, times of modification and of change in nanoseconds, and a CRC-32 of its
 * first and last 4 KiB. While the journal still has this stamp, its bytes are not read. Otherwise
 * the CRC-32 decides, and if it is right, the new stamp is noted in the file.
 *
 * The stamp notices these changes:
 * - Every write, and every program that sets the time of modification back, changes the time of
 *   change, which no program can set. A copy (cp -p, rsync -t), a restored backup and a file that
 *   was renamed over the journal have another inode or another time of change.
 * - Times advance in ticks: 4 ms, or up to 2 s on some file systems. A journal that changes twice
 *   within a tick has the same times before and after the second change. So a stamp is noted only
 *   if both times lay more than JOURNAL_STAMP_SETTLES behind when the reading of the journal began,
 *   by the clock of the file system (a new file's time), since a server's clock can differ from
 *   this machine's; and if the journal has the same stamp after the reading. A run that has just
 *   ended therefore writes no stamp. The first reading later notes one.
 * - A journal that grows while it is read, or that a run is writing, has another size and time: the
 *   CRC-32 of its first bytes decides.
 * - If a file system gives wrong times, or a power failure leaves a hole, mostly the size or the
 *   end of the file shows it.
 * It does not notice a change below the file system, as when a disk returns other bytes than were
 * written. `tinca runs --check` reads the whole journal and compares its CRC-32.
 */
#ifndef TINCA_RUNS_COLUMNS_JOURNAL_COLUMNS_H
#define TINCA_RUNS_COLUMNS_JOURNAL_COLUMNS_H

#include "runs/folder/journal.h"

enum { JOURNAL_COLUMNS_LEAST = 4 << 20 };
#define JOURNAL_COLUMNS_FILE "journal.columns"

/* The file from which a reading got the iterations. */
enum journal_source {
    JOURNAL_TEXT,            /* the journal */
    JOURNAL_COLUMNS_SUMMED,  /* the column file, after the CRC-32 of the journal was computed */
    JOURNAL_COLUMNS_STAMPED, /* the column file, since the journal has its stamp */
};

/* The length and the checksum of the first bytes of the journal, as a reading has found them;
 * length 0: nothing is known. */
struct journal_sum {
    uint64_t length;
    uint32_t crc32;
    enum journal_source source;
};

/* Visits the lines that end within the first `limit` bytes of the journal of a run's folder, like
 * journal_read_first, and sets *sum. A missing journal has no lines. If `writes`, and the column
 * file is missing or does not fit, it is written; the caller has made sure that no process trains
 * the run. A file that cannot be written is no error. */
bool journal_columns_read(const char *directory, uint64_t limit, bool writes, journal_visit *visit,
                          void *context, struct journal_sum *sum, struct error *error);

/* Writes the column file if the journal is long enough. Returns false with an error. */
bool journal_columns_write(const char *directory, struct error *error);

/* Returns whether the column file has exactly the values of the journal, which is read as a whole,
 * whatever the stamp says. `known` is what a reading of all its bytes has just found them to be, or
 * NULL. A file of an earlier version, which the next reading replaces, is right, too. If not, the
 * error says why. */
bool journal_columns_check(const char *directory, const struct journal_sum *known,
                           struct error *error);

#endif
