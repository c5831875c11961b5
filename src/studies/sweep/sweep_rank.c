/* A rank judges by itself whether a cell fits its host: memory and devices of hosts differ. */
#include "studies/sweep/sweep_rank.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/host/host.h"
#include "engine/cluster/cluster.h"
#include "studies/sweep/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

_Static_assert(sizeof(struct sweep_message) <= CLUSTER_PAYLOAD, "a result fits into a message");

uint32_t sweep_mark(const struct sweep *sweep)
{
    uLong mark = crc32(0, NULL, 0);
    for (size_t i = 0; i < sweep->count; i++) {
        const char *id = sweep->cells[i].id;
        mark = crc32(mark, (const Bytef *)id, (uInt)strlen(id) + 1);
    }
    return (uint32_t)mark;
}

void sweep_rank_answer(const struct sweep_call *call, struct sweep *sweep,
                       struct sweep_answer *answer)
{
    *answer = (struct sweep_answer){0};
    if (!sweep_token_find(&call->token, &answer->locked, &answer->error) ||
        !sweep_open(sweep, call->token.sweep, &answer->error))
        return;
    answer->ready =
        sweep_mark(sweep) == call->mark ||
        error_set(&answer->error, ERROR_INPUT, call->token.sweep,
                  "start it again; give sweeps that differ different names",
                  "its cells are not those of rank 0: another command has changed its grid");
}

bool sweep_rank_start(struct sweep_rank *rank, size_t cell)
{
    struct sweep *sweep = rank->sweep;
    sweep_refresh(sweep, cell);
    if (sweep_is_due(sweep, cell))
        sweep_forecast(sweep, cell, rank->share);
    return sweep_has_work(sweep, cell) &&
           sweep_process_start(&rank->process, sweep, cell, SPAWN_GROUP_TIED);
}

struct sweep_message sweep_rank_result(const struct sweep *sweep, size_t cell, bool leaving)
{
    return (struct sweep_message){.kind = SWEEP_MESSAGE_RESULT,
                                  .state = (int32_t)sweep->cells[cell].state,
                                  .cell = (uint32_t)cell,
                                  .leaving = leaving,
                                  .reason = sweep->cells[cell].reason};
}

void sweep_rank_take_result(struct sweep *sweep, const struct sweep_message *message)
{
    struct sweep_cell *cell = &sweep->cells[message->cell];
    sweep_refresh(sweep, message->cell);
    if (message->state == SWEEP_RUNNING || message->state == SWEEP_WAITING)
        return;
    cell->state = (enum sweep_state)message->state;
    cell->reason = message->reason;
}

/* --- the token --- */

/* The token has a name that was never used, so no host can have cached that it does not exist; its
 * contents tell it from a file that another folder happens to have under that name. */

static const double patience = 3; /* seconds */

int sweep_token_write(const struct sweep *sweep, struct sweep_token *token, struct error *error)
{
    struct host host;
    host_describe(&host);
    const unsigned long long now = clock_nanoseconds();
    *token = (struct sweep_token){0};
    snprintf(token->sweep, sizeof token->sweep, "%s", sweep->grid.name);
    snprintf(token->file, sizeof token->file, "ranks-%ld-%llx", (long)getpid(), now);
    snprintf(token->text, sizeof token->text, "%ld %llx %s\n", (long)getpid(), now, host.name);
    char *path = file_join(sweep->directory, token->file);
    int descriptor = -1;
    if (!path)
        error_set_memory(error, "a path", 0);
    else if (file_write(path, token->text, strlen(token->text), true, error) &&
             (descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) < 0)
        error_set_errno(error, path, "check space and permissions", "cannot be opened");
    if (descriptor >= 0)
        flock(descriptor, LOCK_EX | LOCK_NB); /* a file system without locks shows in the others */
    free(path);
    return descriptor;
}

void sweep_token_remove(const struct sweep *sweep, const struct sweep_token *token, int descriptor)
{
    char *path = file_join(sweep->directory, token->file);
    if (path)
        unlink(path);
    free(path);
    close(descriptor);
}

/* Returns whether the file has the token's text, and whether it is locked. */
static bool is_token(const char *path, const struct sweep_token *token, bool *locked)
{
    char text[sizeof token->text] = "";
    /* a network file system reports the lock only to a descriptor that can write */
    const int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0)
        return false;
    const ssize_t length = pread(descriptor, text, sizeof text - 1, 0);
    const bool same = length > 0 && strcmp(text, token->text) == 0;
    *locked = same && flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(descriptor);
    return same;
}

bool sweep_token_find(const struct sweep_token *token, bool *locked, struct error *error)
{
    const uint64_t began = clock_nanoseconds();
    char *directory = sweep_files_directory(token->sweep, error);
    char *path = directory ? file_join(directory, token->file) : NULL;
    bool found = false;
    *locked = false;
    if (directory && !path)
        error_set_memory(error, "a path", 0);
    while (path && !(found = is_token(path, token, locked)) &&
           clock_seconds(began, clock_nanoseconds()) < patience)
        clock_sleep(0.05);
    if (path && !found)
        error_set(error, ERROR_INPUT, directory,
                  "set XDG_STATE_HOME to a folder that all hosts share",
                  "this is not the folder that rank 0 uses: its file %s is not there", token->file);
    free(path);
    free(directory);
    return found;
}
