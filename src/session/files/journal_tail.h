/* journal_tail.h: a journal that another process may still be writing, read bit by bit. Internal to
 * session/.
 *
 * Only whole lines are taken; a torn one is read again when the rest of it is there. A run that is
 * resumed cuts its journal back to its checkpoint: the bytes before the place that was reached are
 * remembered, so that this is noticed even when the file has grown beyond it again. */
#ifndef TINCA_SESSION_FILES_JOURNAL_TAIL_H
#define TINCA_SESSION_FILES_JOURNAL_TAIL_H

#include "session/files/journal.h"

#include <stddef.h>
#include <stdint.h>

enum { JOURNAL_PIECE = 256 << 10 }; /* bytes taken in at a time, so that nobody waits for long */

struct journal_tail { /* starts as {0} */
    uint64_t offset;  /* behind the last line taken */
    char before[64];  /* the bytes that end there */
    size_t before_length;
    double written; /* when the file was written last, in seconds since 1970; 0: not seen yet */
};

enum journal_news {
    JOURNAL_FAILED,
    JOURNAL_SAME, /* nothing new, or no journal yet */
    JOURNAL_READ,
    JOURNAL_MORE, /* lines were taken, and there are more */
    JOURNAL_CUT,  /* what was read is no longer what is there: nothing was taken */
};

/* Gives the whole lines of the next piece to `visit`, like journal_read. The file is opened each
 * time, which over a network is what shows the newest of it. */
enum journal_news journal_tail_read(struct journal_tail *tail, const char *path,
                                    journal_visit *visit, void *context, struct error *error);

#endif
