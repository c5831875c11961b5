/* Starts and resumes runs: checks the configuration, makes the folder, creates the worker. */
#include "training/run_start.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/host/host.h"
#include "base/memory.h"
#include "base/threads/thread.h"
#include "runs/folder/computed_with.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_files.h"
#include "runs/folder/run_json.h"
#include "runs/folder/run_name.h"
#include "runs/machine/tuned_device.h"
#include "runs/record/resume.h"
#include "runs/record/run_integrity.h"
#include "runs/record/run_reading.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "training/checkpoint.h"
#include "training/observer.h"
#include "training/prepare/prepare.h"
#include "training/ranks/ranks.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- early checks --- */

/* Checks that the file of --save can be written, so that a run does not fail after a night of
 * training. */
static bool check_save_path(const char *path, struct error *error)
{
    char *copy = memory_copy_text(path, error);
    if (!copy)
        return false;
    bool good = access(dirname(copy), W_OK) == 0 ||
                error_set_errno(error, path, "choose a folder that can be written to",
                                "the model could not be saved there");
    free(copy);
    if (good && file_is_directory(path))
        good = error_set(error, ERROR_USAGE, path, "name a file", "this is a folder");
    return good;
}

static void drop_plans(struct preparation *planned)
{
    if (planned)
        prepare_free(planned);
    free(planned);
}

/* Returns false. Names this rank in an error about a file, which may concern this host alone. */
static bool refuse_forecast(const struct cluster *cluster, struct error *error)
{
    const bool of_file = error->kind == ERROR_INPUT || error->kind == ERROR_SYSTEM;
    return of_file ? ranks_name_error(cluster, error) : false;
}

/* Plans the run with its recorded kernels (NULL: a new run), which it frees, and refuses one that
 * does not fit into memory. The first run on a machine measures that machine first. Returns the
 * plans, with which the worker continues, or NULL with an error. */
static struct preparation *plan_request(const struct run_config *config,
                                        const struct run_options *options,
                                        struct plan_choices *choices, struct error *error)
{
    if (options->save_path && !check_save_path(options->save_path, error))
        return NULL;
    const struct machine_settings machine = machine_settings(config);
    tuned_device_measure(machine.device, machine.threads);
    struct preparation *planned = memory_new(1, sizeof *planned, "the run", error);
    bool fits = planned && (prepare_plans(planned, config, 0, choices, &observers_besides, error) ||
                            refuse_forecast(options->cluster, error));
    if (fits && !planned->forecast.fits)
        fits = forecast_refuse(&planned->forecast, training_settings(config).batch, error);
    if (fits)
        return planned;
    drop_plans(planned);
    return NULL;
}

/* Plans a run that is resumed from a checkpoint in the folder, with its recorded kernels. */
static struct preparation *plan_again(const struct run_config *config,
                                      const struct run_options *options, const char *directory,
                                      bool previous, struct error *error)
{
    struct plan_choices choices;
    const bool known = checkpoint_read_kernels(directory, previous, &choices);
    struct preparation *planned = plan_request(config, options, known ? &choices : NULL, error);
    kernel_choices_free(&choices);
    return planned;
}

/* --- starting --- */

static void set_origin(struct run_facts *facts)
{
    struct host host;
    host_describe(&host);
    snprintf(facts->host, sizeof facts->host, "%s", host.name);
    clock_now_rfc3339(facts->created, sizeof facts->created);
}

static void set_early_facts(struct run *run)
{
    struct run_facts *facts = &run->early_facts;
    const struct forecast *forecast = &run->start.planned->forecast;
    snprintf(facts->directory, sizeof facts->directory, "%s", run->directory);
    config_network_name(network_settings(&run->config).network, facts->network,
                        sizeof facts->network);
    snprintf(facts->technique, sizeof facts->technique, "%s", settings_technique(&run->config));
    facts->parameters = forecast->parameters;
    facts->flops = forecast->flops;
    facts->classes = forecast->classes;
    facts->forecast = forecast->memory;
    facts->memory_peak = forecast_peak(forecast);
    facts->threads = machine_settings(&run->config).threads;
}

/* Stores the paths of the files outside the folder that the run and its caller write at the end. */
static bool write_outputs(const char *directory, const struct run_options *options,
                          struct error *error)
{
    const struct run_outputs outputs = {.save = (char *)options->save_path,
                                        .session = (char *)options->session_path,
                                        .group_session = (char *)options->group_session_path};
    return run_outputs_write(directory, &outputs, error);
}

/* Sets the path of --save: the given one, or else the one that the run has stored. A stored file
 * that cannot be written does not stop the run: its folder has the weights. */
static bool choose_save_path(struct run *run, const struct run_options *options,
                             struct error *error)
{
    struct run_outputs stored;
    if (options->save_path)
        return (run->save_path = memory_copy_text(options->save_path, error));
    if (!run_outputs_read(&stored, run->directory, error))
        return false;
    run->save_path = stored.save;
    run->notice = stored.lost.save;
    stored.save = NULL;
    run_outputs_free(&stored);
    return true;
}

static bool write_labels(const char *directory, const struct run_options *options,
                         struct error *error)
{
    return (!options->name || run_name_write(directory, options->name, error)) &&
           (!options->note || run_note_write(directory, options->note, error)) &&
           (!options->tags || !options->tags[0] || run_tags_write(directory, options->tags, error));
}

static bool make_files(struct run *run, const struct run_options *options, struct error *error)
{
    char name[RUN_ID_NAME];
    const struct forecast *forecast = &run->start.planned->forecast;
    const char *network = network_settings(&run->config).network;
    const bool is_file = strchr(network, '/'); /* config_make_absolute */
    run->start.made_folder = !options->run_directory || !file_exists(options->run_directory);
    run_id_name(is_file ? network : forecast->network, forecast->suffixes, name);
    run->directory = run_directory_create(options->run_directory, name, run->early_facts.id, error);
    if (!run->directory)
        return false;
    if (options->save_path && !(run->save_path = memory_copy_text(options->save_path, error)))
        return false;
    set_origin(&run->early_facts);
    set_early_facts(run);
    if (!run_hold_take(&run->hold, run->directory, error))
        return false;
    run->start.is_new = true;
    /* an earlier process that was killed here has left a half-written file */
    run_directory_clear_parts(run->directory);
    if (!run_directory_begin(run->directory, error) ||
        (options->fork.directory[0] &&
         !fork_copy(&options->fork, run->directory, &run->early_facts.fork, error)))
        return false;
    /* config.json comes last: a run that can be resumed has its name and its outputs */
    return write_labels(run->directory, options, error) &&
           write_outputs(run->directory, options, error) &&
           run_files_write_config(run->directory, &run->config, &run->early_facts, error) &&
           (run->start.resumes || journal_open(&run->journal, run->directory, NULL, error));
}

static bool start_worker(struct run *run, struct error *error)
{
    struct run_snapshot snapshot = {.status = RUN_PREPARING, .eta_seconds = -1};
    snapshot_publish(&run->snapshot, &snapshot);
    run->thread.started = thread_start(&run->thread.worker, worker_main, run) == 0;
    return run->thread.started ||
           error_set(error, ERROR_SYSTEM, "the run", "raise the limit on threads",
                     "its thread could not be started");
}

/* Returns whether a fork continues from its ancestor's checkpoint. */
static bool goes_on(const struct run_fork *fork)
{
    return fork->ancestor[0] && !fork->weights_only;
}

static struct preparation *plan_start(const struct run_config *config,
                                      const struct run_options *options,
                                      const struct run_fork *fork, struct error *error)
{
    const struct fork_request *from = &options->fork;
    return goes_on(fork)
               ? plan_again(config, options, from->directory, from->source == FORK_PREVIOUS, error)
               : plan_request(config, options, NULL, error);
}

struct run *run_start(const struct run_config *config, const struct run_options *options,
                      struct error *error)
{
    const struct run_options plain = {0};
    struct run_config absolute = *config;
    struct preparation *planned;
    struct run_fork fork = {0};
    if (!options)
        options = &plain;
    if (options->fork.directory[0]) /* a fork has the ancestor's blocks */
        absolute.processes = cluster_ranks(options->cluster);
    else
        config_share(&absolute, cluster_ranks(options->cluster));
    if (!config_make_absolute(&absolute, error) ||
        (options->fork.directory[0] && !fork_plan(&options->fork, &absolute, &fork, error)) ||
        !(planned = plan_start(&absolute, options, &fork, error)))
        return NULL;
    struct run *run = run_state_create(&absolute, error);
    if (run) {
        run->start.planned = planned;
        run->cluster = options->cluster;
        run->start.compares = options->compare;
        run->early_facts.fork = fork;
        run->start.resumes = goes_on(&fork); /* from the copied checkpoint */
    }
    if (run && make_files(run, options, error) && start_worker(run, error))
        return run;
    drop_plans(planned);
    if (run && run->start.is_new) {
        journal_abandon(&run->journal);
        run_directory_discard(run->directory, run->start.made_folder);
    }
    run_free(run);
    return NULL;
}

/* --- resuming --- */

/* Reads the configuration of the run, applies the changes, and checks whether it can be resumed. */
static bool read_kept(struct run *run, const struct run_config *changes, struct error *error)
{
    struct run_snapshot end = {.status = RUN_INTERRUPTED};
    struct run_facts *facts = &run->early_facts;
    if (!run_files_verify(run->directory, error) ||
        !run_state_read_config(run->directory, &run->config, facts, error))
        return false;
    run_files_read_summary(run->directory, &end);
    if (end.status == RUN_DONE && !run_integrity_check_end(run->directory, NULL, &run->damage)) {
        if (run->damage.kind != ERROR_INPUT) { /* the journal may be sound, but cannot be read */
            *error = run->damage;
            return false;
        }
        end.status = RUN_INTERRUPTED; /* its curves can be computed again */
    }
    return run_trained_by_tinca(facts->imported, facts->id, error) &&
           resume_allows(&end, facts->id, error) &&
           (!changes || resume_change(&run->config, changes, &run->changed, error));
}

static bool take_up(struct run *run, const char *directory, const struct run_config *changes,
                    const struct run_options *options, struct error *error)
{
    run->start.resumes = true;
    run->cluster = options->cluster;
    run->start.compares = options->compare;
    if (!(run->directory = memory_copy_text(directory, error)))
        return false;
    if (!run_hold_take(&run->hold, run->directory, error) || !read_kept(run, changes, error) ||
        !resume_check_network(&run->config, run->directory, error) ||
        !choose_save_path(run, options, error))
        return false;
    run->config.processes = cluster_ranks(options->cluster);
    if (!resume_check_processes(&run->config, run->early_facts.id, run->config.processes, error) ||
        !(run->start.planned = plan_again(&run->config, options, directory, false, error)))
        return false;
    set_early_facts(run);
    return write_outputs(run->directory, options, error);
}

struct run *run_resume(const char *directory, const struct run_config *changes,
                       const struct run_options *options, struct error *error)
{
    const struct run_options plain = {0};
    struct run_config config;
    config_defaults(&config);
    struct run *run = run_state_create(&config, error);
    if (run && take_up(run, directory, changes, options ? options : &plain, error) &&
        start_worker(run, error))
        return run;
    if (run)
        drop_plans(run->start.planned);
    run_free(run);
    return NULL;
}

bool run_serve(struct cluster *cluster, size_t threads, struct error *error)
{
    return ranks_serve(cluster, threads, &observers_besides, error);
}
