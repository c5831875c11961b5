#include "ui/run_list.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

bool run_list_add(struct run_list *list, const struct run_config *config,
                  const struct run_options *options, struct error *error)
{
    if (!memory_grow(&list->entries, &list->capacity, list->count + 1, sizeof *list->entries,
                     "the list of runs", error))
        return false;
    list->entries[list->count++] = (struct run_entry){
        .config = *config, .options = options ? *options : (struct run_options){0}};
    return true;
}

bool run_entry_waits(const struct run_entry *entry)
{
    return !entry->run && !entry->refused;
}

bool run_entry_is_on(const struct run_entry *entry)
{
    return entry->run && !run_status_is_over(entry->snapshot.status);
}

const char *run_entry_status(const struct run_entry *entry)
{
    if (run_entry_waits(entry))
        return "waiting";
    return run_status_name(entry->refused ? RUN_REFUSED : entry->snapshot.status);
}

static void start(struct run_entry *entry)
{
    entry->run = run_start(&entry->config, &entry->options, &entry->error);
    entry->refused = !entry->run;
    if (entry->run)
        run_snapshot(entry->run, &entry->snapshot);
}

size_t run_list_step(struct run_list *list)
{
    size_t ended = list->count;
    for (size_t i = 0; i < list->count; i++) {
        struct run_entry *entry = &list->entries[i];
        bool was_on = run_entry_is_on(entry);
        if (entry->run)
            run_snapshot(entry->run, &entry->snapshot);
        if (was_on && !run_entry_is_on(entry))
            ended = i;
    }
    for (size_t i = 0; i < list->count && !run_list_active(list); i++)
        if (run_entry_waits(&list->entries[i]))
            start(&list->entries[i]);
    return ended;
}

struct run_entry *run_list_active(const struct run_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (run_entry_is_on(&list->entries[i]))
            return &list->entries[i];
    return NULL;
}

size_t run_list_waiting(const struct run_list *list)
{
    size_t waiting = 0;
    for (size_t i = 0; i < list->count; i++)
        waiting += run_entry_waits(&list->entries[i]);
    return waiting;
}

bool run_list_remove(struct run_list *list, size_t index)
{
    if (index >= list->count || !run_entry_waits(&list->entries[index]))
        return false;
    memmove(&list->entries[index], &list->entries[index + 1],
            (list->count - index - 1) * sizeof *list->entries);
    list->count--;
    return true;
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
    for (size_t i = 0; i < list->count; i++)
        run_free(list->entries[i].run);
    free(list->entries);
    *list = (struct run_list){0};
}

size_t run_list_started(const struct run_list *list, struct run **runs)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].run)
            runs[count++] = list->entries[i].run;
    return count;
}
