/* journal_columns.h: the column file of a long journal, from which curves are read in a tenth of
 * the time. Internal to session/.
 *
 * journal.columns, beside journal.jsonl, has the values of the iterations column by column in
 * binary, and the places of the other lines in the journal. It is a cache: it can be deleted at any
 * time, and the journal alone counts. It is used only if its own checksum is right and the journal
 * still begins with the bytes (length and CRC-32) from which it was made; lines after these are
 * read from the journal. The run writes it at its end; if it is missing or does not fit, reading
 * writes it again, where the folder can be written. Journals below JOURNAL_COLUMNS_LEAST bytes have
 * none.
 */
#ifndef TINCA_SESSION_COLUMNS_JOURNAL_COLUMNS_H
#define TINCA_SESSION_COLUMNS_JOURNAL_COLUMNS_H

#include "session/files/journal.h"

enum { JOURNAL_COLUMNS_LEAST = 4 << 20 };
#define JOURNAL_COLUMNS_FILE "journal.columns"

/* What a reading found the first bytes of the journal to be; length 0: nothing is known. */
struct journal_sum {
    uint64_t length;
    uint32_t crc32;
};

/* Visits the lines that end within the first `limit` bytes of the journal of a run's folder, like
 * journal_read_first, and sets *sum. A missing journal has no lines. If `writes`, and the column
 * file is missing or does not fit, it is written; the caller has made sure that no process trains
 * the run. A file that cannot be written is no error. */
bool journal_columns_read(const char *directory, uint64_t limit, bool writes, journal_visit *visit,
                          void *context, struct journal_sum *sum, struct error *error);

/* Writes the column file if the journal is long enough. Returns false with an error. */
bool journal_columns_write(const char *directory, struct error *error);

/* Returns whether the column file has exactly the values of the journal, which is read as a whole.
 * If not, the error says why. */
bool journal_columns_check(const char *directory, struct error *error);

#endif
