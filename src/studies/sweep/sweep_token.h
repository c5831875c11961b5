/* sweep_token.h: whether processes on several hosts see the same folder of a sweep.
 *
 * One process writes a file of a new name, the token, into the folder and locks it; the others look
 * for the file, read it, and try to lock it. A file system without locks between hosts is so found,
 * too: on it, two sweeps that are started at the same time could compute a cell twice. */
#ifndef TINCA_STUDIES_SWEEP_SWEEP_TOKEN_H
#define TINCA_STUDIES_SWEEP_SWEEP_TOKEN_H

#include "studies/sweep/sweep.h"

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

#endif
