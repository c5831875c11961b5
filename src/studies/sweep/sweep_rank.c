/* A rank judges by itself whether a cell fits its host: memory and devices of hosts differ. */
#include "studies/sweep/sweep_rank.h"

#include "engine/cluster/cluster.h"

#include <string.h>
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
