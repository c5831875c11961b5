/* run_ranks.h: what each process of a run that several train together has done (training/ranks), as
 * the journal, the summary and the session file have it. */
#ifndef TINCA_RUNS_VALUES_RUN_RANKS_H
#define TINCA_RUNS_VALUES_RUN_RANKS_H

#include "base/json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RANK_HOST = 64,
    RUN_RANKS_MOST = 4096, /* more are not recorded: a line of the journal has its limit */
};

/* The work of one rank. The times are means over its last `iterations`; NaN if there are none. */
struct rank_work {
    char host[RANK_HOST];
    uint64_t process; /* its ID on that host */
    uint64_t iterations;
    double compute_ms; /* computing */
    double data_ms;    /* waiting for its data loader */
    double wait_ms;    /* in the sums: waiting for other ranks and for the network */
};

/* The ranks in their order. Starts as {0}. */
struct run_ranks {
    struct rank_work *ranks;
    size_t count;
};

/* The least and the greatest of the ranks' values, and where they are. */
struct run_ranks_range {
    size_t hosts;                 /* names among them */
    double fastest, slowest;      /* compute_ms + data_ms */
    double wait_least, wait_most; /* shares of the iterations that are waited in sums */
    size_t slowest_rank;
};

/* Returns the share of its iterations that a rank has waited in sums; NaN: unknown. */
double rank_work_wait(const struct rank_work *work);

/* Sums the ranks up. Returns false if there are none, or none of them has iterations. */
bool run_ranks_range(const struct run_ranks *ranks, struct run_ranks_range *range);

/* Replaces `to` by a copy of `from`. Returns false, and changes nothing, if out of memory. */
bool run_ranks_copy(struct run_ranks *to, const struct run_ranks *from);

void run_ranks_free(struct run_ranks *ranks);

/* Adds the list as member "ranks". Returns false if out of memory. */
bool run_ranks_add(struct json *object, const struct run_ranks *ranks);

/* Reads the member "ranks", which replaces `ranks`. Returns false, and changes nothing, if it is
 * missing, empty, or not such a list. */
bool run_ranks_read(const struct json *object, struct run_ranks *ranks);

#endif
