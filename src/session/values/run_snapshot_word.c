#include "session/values/run_snapshot.h"

#include "base/language.h"

const char *run_snapshot_word(const struct run_snapshot *snapshot)
{
    if (snapshot->status == RUN_FAILED && snapshot->error.kind == ERROR_DIVERGED)
        return N_("diverged");
    return run_status_name(snapshot->status);
}
