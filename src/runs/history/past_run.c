/* The search reads the outline of each run (run_peek), which needs no journal, until one matches.
 */
#include "runs/history/past_run.h"

#include "base/files/file.h"
#include "base/host/host.h"
#include "base/memory.h"
#include "base/threads/detached_task.h"
#include "runs/folder/run_directory.h"
#include "runs/record/run_open.h"
#include "runs/settings/config_differences.h"
#include "runs/settings/settings.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct past_search {
    struct detached_task *background;
    atomic_bool dropped;
    struct run_config config;
    struct past_run found;
};

/* --- one run --- */

static size_t threads_of(const struct run_config *config)
{
    const struct machine_settings machine = machine_settings(config);
    struct host host;
    if (machine.threads)
        return machine.threads;
    host_describe(&host);
    return host.cores;
}

bool past_run_is_alike(const struct run_config *a, const struct run_config *b)
{
    for (size_t i = 0; i < config_field_count; i++)
        if (config_has_meaning(&config_fields[i], TASK_TIME) &&
            !config_field_equal(a, b, &config_fields[i]))
            return false;
    return machine_settings(a).memory_bytes == machine_settings(b).memory_bytes &&
           threads_of(a) == threads_of(b);
}

/* Returns an RFC 3339 time in UTC as seconds since 1970; negative if it is malformed. */
static double seconds_of(const char *created)
{
    struct tm parts = {0};
    if (sscanf(created, "%4d-%2d-%2dT%2d:%2d:%2dZ", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
               &parts.tm_hour, &parts.tm_min, &parts.tm_sec) != 6)
        return -1;
    parts.tm_year -= 1900;
    parts.tm_mon--;
    return (double)timegm(&parts);
}

bool past_run_matches(const struct run_outline *outline, const struct run_config *config,
                      const char *host, double now, struct past_run *found)
{
    const struct run_snapshot *end = &outline->snapshot;
    const bool over = end->status == RUN_DONE || end->status == RUN_STOPPED;
    const bool ours = !outline->facts.host[0] || strcmp(outline->facts.host, host) == 0;
    const bool here = ours && !outline->facts.imported[0];
    const double begun = seconds_of(outline->facts.created);
    if (!over || !here || !(end->ms_per_image_median > 0) ||
        !past_run_is_alike(&outline->config, config))
        return false;
    *found = (struct past_run){.found = true,
                               .ms_per_image = end->ms_per_image_median,
                               .age_seconds = begun >= 0 && begun <= now ? now - begun : -1};
    snprintf(found->id, sizeof found->id, "%s", outline->facts.id);
    return true;
}

/* --- all of them --- */

static bool try_run(struct past_search *search, const char *home, const char *id, const char *host)
{
    struct run_outline outline;
    char *directory = file_join(home, id);
    bool matches =
        directory && run_peek(directory, &outline, NULL) &&
        past_run_matches(&outline, &search->config, host, (double)time(NULL), &search->found);
    free(directory);
    return matches;
}

static void work(void *state)
{
    struct past_search *search = state;
    struct host host;
    char **ids = NULL, *home = run_directory_home(NULL);
    size_t count = 0;
    host_describe(&host);
    bool listed = home && run_directory_list(&ids, &count, NULL), over = false;
    for (size_t i = count; listed && i-- > 0;) {
        over = over || atomic_load(&search->dropped) || try_run(search, home, ids[i], host.name);
        free(ids[i]);
    }
    free(ids);
    free(home);
}

struct past_search *past_search_begin(const struct run_config *config, struct error *error)
{
    struct past_search *search = memory_new(1, sizeof *search, "a search", error);
    if (!search)
        return NULL;
    search->config = *config;
    atomic_init(&search->dropped, false);
    search->background = detached_task_start(work, free, search, error);
    if (search->background)
        return search;
    free(search);
    return NULL;
}

bool past_search_result(const struct past_search *search, struct past_run *found)
{
    const bool done = detached_task_is_done(search->background);
    if (done)
        *found = search->found;
    return done;
}

void past_search_drop(struct past_search *search)
{
    if (!search)
        return;
    struct detached_task *background = search->background;
    atomic_store(&search->dropped, true);
    detached_task_drop(background);
}
