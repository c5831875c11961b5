/* The queue is polled: locks of other processes give no notice when they are freed. */
#include "cli/train_wait.h"

#include "base/clock.h"
#include "base/language.h"
#include "cli/output.h"
#include "cli/stop_signal.h"

#include <string.h>

static const double poll_seconds = 0.5;

static void report(const char *id, const struct error *error)
{
    if (error->kind != ERROR_NONE)
        output_error(error); /* it is tried again */
    else if (id[0])
        output_note(_("waits for %s\n"), id);
    else
        output_note(_("waits for the processes before it in the queue\n"));
}

bool train_wait(const struct queued_run *run, bool quiet, struct run_queue_place *place,
                struct error *error)
{
    char id[RUN_ID_SIZE], before[RUN_ID_SIZE] = "?";
    struct error trouble, trouble_before = {0};
    if (!run_queue_join(place, run, error))
        return false;
    while (!run_queue_is_turn(place, id, &trouble)) {
        if (trouble.kind != trouble_before.kind || (!quiet && strcmp(id, before) != 0))
            report(id, &trouble);
        memcpy(before, id, sizeof before);
        trouble_before = trouble;
        if (stop_signal_came()) {
            run_queue_leave(place);
            return error_set(error, ERROR_INTERRUPTED, "--wait", NULL,
                             "a signal asked to stop before the run could start");
        }
        clock_sleep(poll_seconds);
    }
    return true;
}
