/* Rebuilds a run from its folder: config.json, then the whole journal, then the summary. If there
 * is no summary, the lock shows whether the run is still alive. */
#include "runs/record/run_open.h"
#include "base/files/file.h"
#include "base/memory.h"
#include "runs/folder/folder_trust.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_files.h"
#include "runs/folder/run_json.h"
#include "runs/record/run_integrity.h"
#include "runs/record/run_reading.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_journal(struct run_reading *reading, const struct journal_mark *until,
                         struct error *error)
{
    const bool read = journal_read(reading->run->directory, until, run_reading_take, reading,
                                   &reading->found, error);
    run_reading_sum_up(reading);
    return read;
}

bool run_state_read_journal(struct run *run, const struct journal_mark *until,
                            struct run_snapshot *snapshot, struct tempo *tempo, struct error *error)
{
    struct run_reading *reading = memory_new(1, sizeof *reading, "a run", error);
    if (!reading)
        return false;
    *reading = (struct run_reading){.run = run, .snapshot = snapshot, .tempo = tempo};
    bool read = read_journal(reading, until, error);
    if (read && !reading->started)
        read = error_set(error, ERROR_INPUT, run->directory, "start it anew with tinca train",
                         "its journal does not say what was prepared");
    free(reading);
    return read;
}

/* Reads config.json and sets what follows from it. */
bool run_state_read_config(const char *directory, struct run_config *config,
                           struct run_facts *facts, struct error *error)
{
    snprintf(facts->directory, sizeof facts->directory, "%s", directory);
    snprintf(facts->id, sizeof facts->id, "%.*s", RUN_ID_SIZE - 1, file_base_name(directory));
    if (!folder_trust_check(directory, error) ||
        !run_files_read_config(config, facts, directory, error))
        return false;
    config_network_name(network_settings(config).network, facts->network, sizeof facts->network);
    snprintf(facts->technique, sizeof facts->technique, "%s", settings_technique(config));
    return true;
}

static void read_end(const char *directory, struct run_snapshot *snapshot)
{
    snapshot->status = run_directory_is_alive(directory) ? RUN_RUNNING : RUN_INTERRUPTED;
    if (snapshot->status ==
        RUN_INTERRUPTED) { /* a run that is being resumed still has its old summary */
        run_files_read_summary(directory, snapshot);
        run_killed_read(directory, snapshot);
    }
}

/* Adds a finding if the curves of a finished run are not what the run recorded. */
static void check_end(struct run *run, const struct journal_found *found,
                      struct run_snapshot *snapshot)
{
    if (!run_status_is_over(snapshot->status) || snapshot->status == RUN_INTERRUPTED ||
        run_integrity_check_end(run->directory, found, &run->damage))
        return;
    struct finding finding = {
        .kind = FINDING_JOURNAL, .iteration = snapshot->iteration, .epoch = snapshot->epoch};
    snprintf(finding.text, sizeof finding.text, "%.319s", run->damage.why);
    snapshot->finding_count += run_state_add_finding(run, &finding);
}

static bool rebuild(struct run *run, struct error *error)
{
    struct opening {
        struct run_reading reading;
        struct run_snapshot snapshot;
        struct tempo tempo;
    } *opening = memory_new(1, sizeof *opening, "a run", error);
    if (!opening)
        return false;
    struct run_reading *reading = &opening->reading;
    *reading = (struct run_reading){.run = run,
                                    .snapshot = &opening->snapshot,
                                    .tempo = &opening->tempo,
                                    .keeps_scalars = true};
    opening->snapshot.eta_seconds = -1;
    opening->snapshot.feed_wait_seconds = NAN; /* only the summary has it */
    bool rebuilt = run_state_read_config(run->directory, &run->config, &run->early_facts, error) &&
                   read_journal(reading, NULL, error);
    if (reading->started)
        run_state_publish(run, &reading->facts);
    read_end(run->directory, &opening->snapshot);
    check_end(run, &reading->found, &opening->snapshot);
    snapshot_publish(&run->snapshot, &opening->snapshot);
    free(opening);
    return rebuilt;
}

bool run_peek(const char *directory, struct run_outline *outline, struct error *error)
{
    *outline = (struct run_outline){.snapshot = {.eta_seconds = -1,
                                                 .loss_discriminator = NAN,
                                                 .loss_l1 = NAN,
                                                 .validation.pixel_accuracy = NAN}};
    config_defaults(&outline->config);
    if (!run_state_read_config(directory, &outline->config, &outline->facts, error))
        return false;
    run_files_peek_start(directory, &outline->facts);
    read_end(directory, &outline->snapshot);
    return true;
}

struct run *run_open(const char *directory, struct error *error)
{
    struct run_config config;
    config_defaults(&config);
    struct run *run = run_state_create(&config, error);
    if (!run)
        return NULL;
    run->directory = memory_copy_text(directory, error);
    if (run->directory && rebuild(run, error)) {
        run_state_read_inspection(run);
        return run;
    }
    run_free(run);
    return NULL;
}
