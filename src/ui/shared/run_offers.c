/* The states of a run: it waits, is computed here (perhaps paused), is computed by another process
 * and only watched, has ended, or could not be started or read. Each action names the states in
 * which it has a purpose. */
#include "ui/shared/run_offers.h"

#include "base/files/file.h"
#include "exchange/logs/import.h"
#include "runs/record/resume.h"
#include "runs/values/run_snapshot.h"

bool run_offers_resume(const struct run_entry *entry, struct error *error)
{
    const char *id = run_entry_is_saved(entry) ? file_base_name(entry->directory)
                     : entry->run              ? run_facts(entry->run)->id
                                               : "";
    if (run_entry_is_saved(entry) && entry->refused) {
        if (error)
            *error = entry->error;
        return false;
    }
    struct run_snapshot end = entry->snapshot;
    if (end.status == RUN_DONE && entry->run && run_damage(entry->run)->kind != ERROR_NONE)
        end.status = RUN_INTERRUPTED; /* resuming computes the damaged curves again */
    return !entry->live && run_trained_by_tinca(entry->imported, id, error) &&
           resume_allows(&end, id, error);
}

/* Returns whether the run's folder has a model or a checkpoint. */
static bool has_weights(const struct run_entry *entry)
{
    bool saved = entry->snapshot.checkpoint.count > 0;
    for (size_t kind = 0; kind < RUN_SAVED_KINDS; kind++)
        saved = saved || entry->models[kind];
    return saved && run_entry_directory(entry) && !entry->imported[0];
}

bool run_offers_action(const struct run_entry *entry, enum action action)
{
    const bool active = entry && run_entry_is_active(entry);
    const bool unreadable = entry && run_entry_is_saved(entry) && entry->refused;
    const bool known = entry && !unreadable && (entry->outline_known || !run_entry_is_saved(entry));
    const bool files = entry && run_entry_directory(entry);
    const bool waiting = entry && run_entry_is_waiting(entry), live = entry && entry->live;
    const bool queued = entry && entry->queue.rank > 0; /* in another process */
    switch (action) {
    case ACTION_PAUSE:
    case ACTION_SAVE:
    case ACTION_RATE:
    case ACTION_RATE_UP:
    case ACTION_RATE_DOWN:
        return active;
    case ACTION_STOP:
        return active || (live && entry->owner.alone) || (queued && entry->queue.stops);
    case ACTION_RESUME:
        return known && files && !queued && run_offers_resume(entry, NULL);
    case ACTION_RENAME:
    case ACTION_TAGS:
    case ACTION_NOTE:
        return files;
    case ACTION_MARK:
        return files && !waiting;
    case ACTION_CLONE:
        return known;
    case ACTION_REMOVE:
        return queued ? waiting && entry->queue.stops : (files || waiting) && !active && !live;
    case ACTION_PRUNE:
        return known && has_weights(entry) && !queued && !active && !live;
    case ACTION_TRY:
    case ACTION_FORK:
        return known && has_weights(entry);
    case ACTION_COMPARE:
        return known && entry->snapshot.iteration > 0;
    case ACTION_EXPORT:
        return known && files;
    default:
        return true;
    }
}
