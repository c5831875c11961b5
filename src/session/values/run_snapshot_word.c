#include "session/values/run_cause.h"

#include "base/language.h"

const char *run_snapshot_word(const struct run_snapshot *snapshot)
{
    const enum run_cause cause = run_cause_of(snapshot);
    if (snapshot->status == RUN_FAILED && snapshot->error.kind == ERROR_DIVERGED)
        return N_("diverged");
    return cause == RUN_CAUSE_MEMORY ? N_("out of memory")
           : cause == RUN_CAUSE_DISK ? N_("disk full")
                                     : run_status_name(snapshot->status);
}
