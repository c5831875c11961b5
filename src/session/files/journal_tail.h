/* journal_tail.h: reads a journal piece by piece while another process writes it. Internal to
 * session/.
 *
 * Only whole lines are read; a torn line waits until the rest of it is written. A resumed run cuts
 * its journal back to its checkpoint. To notice that, even if the file has grown past that point
 * since, the last bytes before the present offset are remembered and compared. */
#ifndef TINCA_SESSION_FILES_JOURNAL_TAIL_H
#define TINCA_SESSION_FILES_JOURNAL_TAIL_H

#include "session/files/journal.h"

#include <stddef.h>
#include <stdint.h>

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
