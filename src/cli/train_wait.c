/* The queue is polled: locks of other processes give no notice when they are freed. */
#include "cli/train_wait.h"

#include "base/clock.h"
#include "base/language.h"
#include "cli/output.h"
#include "cli/stop_signal.h"

#include <string.h>

static const double poll_seconds = 0.5;

static void report(const char *id)
{
    if (id[0])
        output_note(_("waits for %s\n"), id);
    else
        output_note(_("waits for the processes before it in the queue\n"));
}

bool train_wait(bool quiet, struct run_queue_place *place, struct error *error)
{
    char id[RUN_ID_SIZE], before[RUN_ID_SIZE] = "?";
    if (!run_queue_join(place, error))
        return false;
    while (!run_queue_is_turn(place, id)) {
        if (!quiet && strcmp(id, before) != 0)
            report(id);
        memcpy(before, id, sizeof before);
        if (stop_signal_came()) {
            run_queue_leave(place);
            return error_set(error, ERROR_INTERRUPTED, "--wait", NULL,
                             "a signal asked to stop before the run could start");
        }
        clock_sleep(poll_seconds);
    }
    return true;
}
