/* An entry of this session waits, then is active, then over, or is refused when it cannot be
 * started. Entries move when the list grows or shrinks, so callers look them up again after that.
 * Saved runs are added by directory first; readers fill in the rest later (run_entry_update). */
#include "ui/shared/run_list.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/record/resume.h"
#include "runs/record/run_open.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "runs/values/run_snapshot.h"
#include "training/run_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t QUEUE_NANOSECONDS = 500000000;

bool run_list_add(struct run_list *list, const struct run_config *config,
                  const struct run_options *options, struct error *error)
{
    if (!memory_grow(&list->entries, &list->capacity, list->count + 1, sizeof *list->entries,
                     "the list of runs", error))
        return false;
    struct run_entry *entry = &list->entries[list->count++];
    *entry = (struct run_entry){.config = *config,
                                .options = options ? *options : (struct run_options){0},
                                .serial = ++list->serials};
    config_network_name(network_settings(config).network, entry->network, sizeof entry->network);
    return true;
}

bool run_list_resume(struct run_list *list, const struct run_config *config, const char *directory,
                     struct error *error)
{
    const struct run_config copy = *config; /* `config` may lie in the list, which moves */
    if (!run_list_add(list, &copy, NULL, error))
        return false;
    struct run_entry *entry = &list->entries[list->count - 1];
    snprintf(entry->resumed_directory, sizeof entry->resumed_directory, "%s", directory);
    run_name_read(directory, entry->name);
    run_tags_read(directory, entry->tags);
    run_note_read(directory, entry->note);
    return true;
}

bool run_entry_is_waiting(const struct run_entry *entry)
{
    return !entry->run && !entry->refused && !run_entry_is_saved(entry);
}

bool run_entry_is_active(const struct run_entry *entry)
{
    return entry->run && !run_entry_is_saved(entry) && !run_status_is_over(entry->snapshot.status);
}

const struct error *run_entry_refusal(const struct run_entry *entry)
{
    if (run_entry_is_saved(entry) || entry->resumed_directory[0])
        return NULL;
    if (entry->refused)
        return &entry->error;
    return entry->run && entry->snapshot.status == RUN_REFUSED ? &entry->snapshot.error : NULL;
}

const char *run_entry_status(const struct run_entry *entry)
{
    if (run_entry_is_waiting(entry) || entry->queue.rank > 0)
        return N_("waiting");
    if (run_entry_is_saved(entry) && (entry->refused || !entry->outline_known))
        return entry->refused ? N_("unreadable") : "";
    return entry->refused ? run_status_name(RUN_REFUSED) : run_snapshot_word(&entry->snapshot);
}

char *run_entry_status_text(const struct run_entry *entry, char *text, size_t size)
{
    if (run_entry_is_waiting(entry) && entry->queue.waits_for[0])
        snprintf(text, size, _("waits for %s"), entry->queue.waits_for);
    else if (entry->queue.rank > 0)
        snprintf(text, size, _("waiting, place %zu"), entry->queue.rank);
    else
        snprintf(text, size, "%s", language_text(run_entry_status(entry)));
    return text;
}

static void start(const struct run_list *list, struct run_entry *entry)
{
    entry->options.cluster = list->cluster;
    entry->options.compare = list->cluster;
    entry->run = entry->resumed_directory[0]
                     ? run_resume(entry->resumed_directory, NULL, &entry->options, &entry->error)
                     : run_start(&entry->config, &entry->options, &entry->error);
    entry->refused = !entry->run;
    if (entry->run)
        run_snapshot(entry->run, &entry->snapshot);
}

/* --- the queue of all processes --- */

void run_list_wait_for_others(struct run_list *list)
{
    list->entries[list->count - 1].queue.joins = true;
}

/* Starts to take a place for a run. */
static void begin_joining(struct run_list *list, const struct run_entry *entry)
{
    struct queued_run queued = queued_run_new(&entry->config);
    queued.in_workbench = true;
    if (entry->resumed_directory[0])
        queued.kind = QUEUED_RESUME;
    snprintf(queued.directory, sizeof queued.directory, "%s", entry->resumed_directory);
    list->joining = queue_join_begin(&queued, NULL); /* no thread now: the next step tries again */
    list->joining_for = entry->serial;
}

/* Gives the run its place when the thread has taken it. A run that was dropped meanwhile needs
 * none.
 */
static void end_joining(struct run_list *list)
{
    struct run_queue_place place;
    struct error error;
    size_t i = 0;
    if (!queue_join_result(list->joining, &place, &error))
        return;
    while (i < list->count && list->entries[i].serial != list->joining_for)
        i++;
    if (i == list->count || !run_entry_is_waiting(&list->entries[i]))
        queue_join_leave(&place);
    else if (place.number > 0)
        list->entries[i].queue.place = place;
    else {
        list->entries[i].refused = true;
        list->entries[i].error = error;
    }
    queue_join_drop(list->joining);
    list->joining = NULL;
}

/* Takes places for the runs that wait in the queue, one after the other in their order. */
static void step_joining(struct run_list *list)
{
    if (list->joining)
        end_joining(list);
    for (size_t i = 0; !list->joining && i < list->count; i++) {
        const struct run_entry *entry = &list->entries[i];
        if (!run_entry_is_waiting(entry) || !entry->queue.joins || entry->queue.place.number > 0)
            continue;
        begin_joining(list, entry);
        return;
    }
}

/* Returns whether a waiting run may start, as far as other processes are concerned. */
static bool is_turn(struct run_list *list, struct run_entry *entry)
{
    bool turn = false;
    const uint64_t now = clock_nanoseconds();
    if (!entry->queue.joins || entry->queue.place.number == 0)
        return !entry->queue.joins;
    if (list->looking_for != entry->queue.place.number) {
        live_search_drop(list->looking); /* a place that was given up */
        list->looking = NULL;
    }
    if (!list->looking && now >= list->next_look) {
        list->looking = live_search_begin(&entry->queue.place, NULL); /* no thread now: next time */
        list->looking_for = entry->queue.place.number;
        list->next_look = now + QUEUE_NANOSECONDS;
    }
    if (!list->looking || !live_search_turn(list->looking, &turn, entry->queue.waits_for))
        return false;
    live_search_drop(list->looking);
    list->looking = NULL;
    return turn;
}

/* Starts the first waiting run if it is its turn; the others stay behind it. */
static void start_next(struct run_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct run_entry *entry = &list->entries[i];
        if (!run_entry_is_waiting(entry))
            continue;
        if (list->leaving || run_list_is_busy(list)) {
            entry->queue.waits_for[0] = '\0'; /* it waits for this process */
            continue;
        }
        if (!is_turn(list, entry))
            return;
        start(list, entry);
        queue_join_leave(&entry->queue.place);
    }
}

size_t run_list_step(struct run_list *list)
{
    size_t ended = list->count;
    for (size_t i = 0; i < list->count; i++) {
        struct run_entry *entry = &list->entries[i];
        bool was_on = run_entry_is_active(entry);
        if (entry->run)
            run_snapshot(entry->run, &entry->snapshot);
        if (was_on && !run_entry_is_active(entry))
            ended = i;
    }
    step_joining(list);
    start_next(list);
    return ended;
}

struct run_entry *run_list_active(const struct run_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (run_entry_is_active(&list->entries[i]))
            return &list->entries[i];
    return NULL;
}

bool run_list_is_busy(const struct run_list *list)
{
    return list->held || run_list_active(list);
}

size_t run_list_waiting(const struct run_list *list)
{
    size_t waiting = 0;
    for (size_t i = 0; i < list->count; i++)
        waiting += run_entry_is_waiting(&list->entries[i]);
    return waiting;
}

bool run_list_remove(struct run_list *list, size_t index)
{
    if (index >= list->count || !run_entry_is_waiting(&list->entries[index]))
        return false;
    queue_join_leave(&list->entries[index].queue.place);
    memmove(&list->entries[index], &list->entries[index + 1],
            (list->count - index - 1) * sizeof *list->entries);
    list->count--;
    return true;
}

void run_list_drop(struct run_list *list, size_t index)
{
    run_free(list->entries[index].run);
    memmove(&list->entries[index], &list->entries[index + 1],
            (list->count - index - 1) * sizeof *list->entries);
    list->count--;
}

const char *run_entry_network(const struct run_entry *entry)
{
    return entry->run && run_facts(entry->run)->network[0] ? run_facts(entry->run)->network
                                                           : entry->network;
}

const char *run_entry_directory(const struct run_entry *entry)
{
    if (run_entry_is_saved(entry))
        return entry->directory;
    return entry->run ? run_facts(entry->run)->directory : NULL;
}

void run_list_stop(struct run_list *list, enum run_command command)
{
    for (size_t i = list->count; i-- > 0;)
        run_list_remove(list, i);
    struct run_entry *active = run_list_active(list);
    if (active)
        run_send(active->run, command, 0);
}

void run_list_free(struct run_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        run_queue_leave(&list->entries[i].queue.place);
        run_free(list->entries[i].run);
    }
    live_search_drop(list->looking);
    queue_join_drop(list->joining);
    free(list->entries);
    *list = (struct run_list){0};
}

/* --- saved runs --- */

bool run_entry_is_saved(const struct run_entry *entry)
{
    return entry->directory[0];
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns the IDs of all runs of both lists, sorted. The caller frees the array; the texts are
 * borrowed. */
static const char **known_ids(const struct run_list *saved, const struct run_list *session,
                              size_t *count, struct error *error)
{
    const char **ids =
        memory_new(saved->count + session->count, sizeof *ids, "the list of runs", error);
    *count = 0;
    for (size_t i = 0; ids && i < saved->count; i++)
        ids[(*count)++] = file_base_name(saved->entries[i].directory);
    for (size_t i = 0; ids && i < session->count; i++)
        if (session->entries[i].run)
            ids[(*count)++] = run_facts(session->entries[i].run)->id;
        else if (run_entry_is_waiting(&session->entries[i]) &&
                 session->entries[i].resumed_directory[0])
            ids[(*count)++] = file_base_name(session->entries[i].resumed_directory);
    if (ids)
        qsort(ids, *count, sizeof *ids, by_text);
    return ids;
}

bool run_list_add_saved(struct run_list *saved, const char *directory, struct error *error)
{
    if (!memory_grow(&saved->entries, &saved->capacity, saved->count + 1, sizeof *saved->entries,
                     "the list of runs", error))
        return false;
    struct run_entry *entry = &saved->entries[saved->count];
    *entry = (struct run_entry){0};
    int length = snprintf(entry->directory, sizeof entry->directory, "%s", directory);
    if (length < 0 || (size_t)length >= sizeof entry->directory)
        return error_set(error, ERROR_SYSTEM, directory, "set XDG_STATE_HOME to a shorter path",
                         "its path is too long");
    saved->count++;
    return true;
}

static bool add_run(struct run_list *saved, const char *home, const char *id, struct error *error)
{
    char *directory = file_join(home, id);
    bool added = directory ? run_list_add_saved(saved, directory, error)
                           : error_set_memory(error, "a path", 0);
    free(directory);
    return added;
}

/* Marks runs that had not ended when they were read: other processes may have ended them. */
static void mark_unfinished_outdated(struct run_list *saved)
{
    for (size_t i = 0; i < saved->count; i++) {
        struct run_entry *entry = &saved->entries[i];
        if (!entry->run && entry->outline_known && !run_status_is_over(entry->snapshot.status))
            entry->outdated = true;
    }
}

/* Adds those of `ids` that are new. They are determined first, since adding moves the entries and
 * with them the texts of the known IDs. */
static bool add_new(struct run_list *saved, const struct run_list *session, char *const *ids,
                    size_t count, const char *home, struct error *error)
{
    size_t known_count;
    const char **known = known_ids(saved, session, &known_count, error);
    bool *is_new = memory_new(count, sizeof *is_new, "the list of runs", error);
    bool added = known && is_new;
    for (size_t i = 0; added && i < count; i++)
        is_new[i] = !bsearch(&ids[i], known, known_count, sizeof *known, by_text);
    for (size_t i = 0; added && i < count; i++)
        if (is_new[i])
            added = add_run(saved, home, ids[i], error);
    free(known);
    free(is_new);
    return added;
}

bool run_list_add_saved_ids(struct run_list *saved, const struct run_list *session,
                            const char *home, char *const *ids, size_t count, struct error *error)
{
    mark_unfinished_outdated(saved);
    return add_new(saved, session, ids, count, home, error);
}

static void copy_outline(struct run_entry *entry, const struct run_outline *outline)
{
    entry->config = outline->config;
    entry->snapshot = outline->snapshot;
    entry->parameters = outline->facts.parameters;
    snprintf(entry->network, sizeof entry->network, "%s", outline->facts.network);
    snprintf(entry->imported, sizeof entry->imported, "%s", outline->facts.imported);
    entry->live = !run_status_is_over(entry->snapshot.status);
}

static void replace_run(struct run_entry *entry, struct run *run)
{
    run_free(entry->run);
    entry->run = run;
    entry->config = *run_config(run);
    snprintf(entry->imported, sizeof entry->imported, "%s", run_facts(run)->imported);
    run_snapshot(run, &entry->snapshot);
}

void run_entry_update(struct run_entry *entry, struct run_read *read)
{
    entry->outdated = false;
    entry->outline_known = read->outlined;
    entry->refused = read->error.kind != ERROR_NONE;
    entry->error = read->error;
    if (entry->outline_known) {
        copy_outline(entry, &read->outline);
        memcpy(entry->name, read->name, sizeof entry->name);
        memcpy(entry->tags, read->tags, sizeof entry->tags);
        memcpy(entry->note, read->note, sizeof entry->note);
        memcpy(entry->models, read->saved, sizeof entry->models);
        entry->disk_bytes = read->disk_bytes;
    }
    if (read->run)
        replace_run(entry, read->run);
    read->run = NULL;
}

void run_entry_unload_curves(struct run_entry *entry)
{
    if (!run_entry_is_saved(entry))
        return;
    run_free(entry->run);
    entry->run = NULL;
    entry->followed = false;
}

/* --- what can be done with a run ---
 *
 * It waits, is computed here (perhaps paused), is computed by another process and only watched, has
 * ended, or could not be started or read. */

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

bool run_offers(const struct run_entry *entry, enum run_offer offer)
{
    const bool active = entry && run_entry_is_active(entry);
    const bool unreadable = entry && run_entry_is_saved(entry) && entry->refused;
    const bool known = entry && !unreadable && (entry->outline_known || !run_entry_is_saved(entry));
    const bool files = entry && run_entry_directory(entry);
    const bool waiting = entry && run_entry_is_waiting(entry), live = entry && entry->live;
    const bool queued = entry && entry->queue.rank > 0; /* in another process */
    switch (offer) {
    case RUN_CONTROL:
        return active;
    case RUN_STOP:
        return active || (live && entry->owner.alone) || (queued && entry->queue.stops);
    case RUN_RESUME:
        return known && files && !queued && run_offers_resume(entry, NULL);
    case RUN_LABEL:
        return files;
    case RUN_MARK:
        return files && !waiting;
    case RUN_CLONE:
        return known;
    case RUN_REMOVE:
        return queued ? waiting && entry->queue.stops : (files || waiting) && !active && !live;
    case RUN_PRUNE:
        return known && has_weights(entry) && !queued && !active && !live;
    case RUN_WEIGHTS:
        return known && has_weights(entry);
    case RUN_COMPARE:
        return known && entry->snapshot.iteration > 0;
    case RUN_EXPORT:
        return known && files;
    default:
        return true;
    }
}
