/* sweep_rank.h: what a rank of a sweep over MPI does with one cell, and the messages by which rank
 * 0 gives cells to the others.
 *
 * Rank 0 has the order of the cells and the terminal. It gives each rank one cell at a time; the
 * rank computes it in a process of its own (sweep_process.h), which is tied to it, and tells the
 * state that the cell then has. The results themselves are in the files that all ranks share.
 *
 * Not thread-safe. */
#ifndef TINCA_STUDIES_SWEEP_SWEEP_RANK_H
#define TINCA_STUDIES_SWEEP_SWEEP_RANK_H

#include "studies/sweep/sweep.h"
#include "studies/sweep/sweep_process.h"

/* --- the token --- */

/* Whether processes on several hosts see the same folder of a sweep.
 *
 * One process writes a file of a new name, the token, into the folder and locks it; the others look
 * for the file, read it, and try to lock it. A file system without locks between hosts is so found,
 * too: on it, two sweeps that are started at the same time could compute a cell twice. */

struct sweep_token {
    char sweep[SWEEP_NAME];
    char file[48], text[200]; /* its name and contents */
};

/* Writes and locks a token in the folder of a saved sweep. Returns the descriptor of the file, or
 * -1 with an error. */
int sweep_token_write(const struct sweep *sweep, struct sweep_token *token, struct error *error);

/* Removes the token, and closes the descriptor. */
void sweep_token_remove(const struct sweep *sweep, const struct sweep_token *token, int descriptor);

/* Looks for another process's token in this one's folder of the sweep, for some seconds, since a
 * network file system may show it late. Returns false with an error that names the folder if it is
 * not there. Sets *locked if this process sees that the token is locked. */
bool sweep_token_find(const struct sweep_token *token, bool *locked, struct error *error);

/* --- calls, answers and messages --- */

/* The first message, which rank 0 broadcasts. */
struct sweep_call {
    int32_t status; /* the exit status of rank 0 if there is nothing to compute */
    bool called;    /* there is */
    uint32_t mark;  /* of the cells, sweep_mark */
    struct sweep_token token;
};

/* The one answer of each rank to it. */
struct sweep_answer {
    bool ready, locked; /* the latter: it sees the lock of another host */
    struct error error; /* why it is not ready */
};

enum sweep_message_kind {
    SWEEP_MESSAGE_CELL,    /* from rank 0: compute `cell` */
    SWEEP_MESSAGE_STOP,    /* from rank 0: save the cell, and stop it */
    SWEEP_MESSAGE_QUIT,    /* from rank 0: no cell will follow */
    SWEEP_MESSAGE_RESULT,  /* to rank 0: `cell` has this state now */
    SWEEP_MESSAGE_LEAVING, /* to rank 0: a signal came, give no more cells */
};

struct sweep_message {
    int32_t kind, state;
    uint32_t cell;
    bool leaving; /* RESULT: LEAVING will follow */
    struct error reason;
};

struct sweep_rank {
    struct sweep *sweep;
    size_t share; /* ranks on this host, which share its memory */
    struct sweep_process process;
};

/* Returns a number that is the same for sweeps with the same cells in the same order. */
uint32_t sweep_mark(const struct sweep *sweep);

/* Answers the call of rank 0: opens its sweep. Free the sweep in any case. */
void sweep_rank_answer(const struct sweep_call *call, struct sweep *sweep,
                       struct sweep_answer *answer);

/* Starts the process of a cell. Returns false if there is none to be started: another process
 * computes the cell or has done so, or it does not fit, is impossible here, or has failed. Its
 * state then says which. */
bool sweep_rank_start(struct sweep_rank *rank, size_t cell);

/* Returns the message about the state of a cell. */
struct sweep_message sweep_rank_result(const struct sweep *sweep, size_t cell, bool leaving);

/* Sets the state of a cell from a message, and the rest from its files. A network file system may
 * show the files later than the message comes, so the message has the last word, unless the rank
 * has not computed the cell. */
void sweep_rank_take_result(struct sweep *sweep, const struct sweep_message *message);

#endif
