/* Places change rarely: the entries are made again only then. */
#include "ui/shared/shared.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_own(const struct queued_run *place)
{
    return place->known && place->process == (long)getpid() && run_queue_is_here(place);
}

static bool is_resumed(const struct queued_run *place)
{
    return place->known && place->kind == QUEUED_RESUME;
}

static bool same_places(const struct queue_list *list, const struct queued_run *places,
                        size_t count)
{
    bool same = list->count == count;
    for (size_t i = 0; same && i < count; i++)
        same = list->places[i].place == places[i].place &&
               list->places[i].process == places[i].process;
    return same;
}

/* Marks an entry as waiting at the place of this rank. */
static void mark(struct run_entry *entry, const struct queued_run *place, size_t rank)
{
    struct error error;
    entry->queue.rank = rank;
    entry->queue.stops = run_queue_may_stop(place, &error);
}

/* Makes the entries of the new runs. One that memory is short for is missing until the next
 * change. */
static void make_entries(struct queue_list *list)
{
    run_list_free(&list->runs);
    for (size_t i = 0; i < list->count; i++) {
        const struct queued_run *place = &list->places[i];
        if (is_own(place) || is_resumed(place) ||
            !run_list_add(&list->runs, &place->config, NULL, NULL))
            continue;
        mark(&list->runs.entries[list->runs.count - 1], place, i + 1);
    }
}

/* Returns the rank of the place at which another process waits to resume the run; 0: none does. */
static size_t rank_of(const struct queue_list *list, const char *directory)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_resumed(&list->places[i]) && !is_own(&list->places[i]) &&
            strcmp(list->places[i].directory, directory) == 0)
            return i + 1;
    return 0;
}

static bool mark_saved(const struct queue_list *list, struct run_list *saved)
{
    bool changed = false;
    for (size_t i = 0; i < saved->count; i++) {
        struct run_entry *entry = &saved->entries[i];
        const size_t rank = list->count > 0 ? rank_of(list, entry->directory) : 0;
        changed = changed || rank != entry->queue.rank;
        entry->queue.rank = 0;
        if (rank > 0)
            mark(entry, &list->places[rank - 1], rank);
    }
    return changed;
}

bool queue_list_take(struct queue_list *list, struct run_list *saved, struct queued_run *places,
                     size_t count)
{
    bool changed = !same_places(list, places, count);
    free(list->places);
    list->places = places;
    list->count = count;
    if (changed)
        make_entries(list);
    return mark_saved(list, saved) || changed;
}

const struct queued_run *queue_list_place(const struct queue_list *list,
                                          const struct run_entry *entry)
{
    const size_t rank = entry ? entry->queue.rank : 0;
    return rank > 0 && rank <= list->count ? &list->places[rank - 1] : NULL;
}

void queue_list_free(struct queue_list *list)
{
    run_list_free(&list->runs);
    free(list->places);
    *list = (struct queue_list){0};
}
