/* Starts a run, or continues one, shows it as lines until it is over, prints its result and writes
 * the files that were asked for. The run is a worker thread; this thread shows its progress and
 * sends it a stop command when a signal comes. */
#include "cli/train.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "cli/progress.h"
#include "cli/stop_signal.h"
#include "cli/train_wait.h"

#include "base/escape/shell.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/text.h"
#include "exchange/export/export.h"
#include "runs/folder/run_json.h"
#include "runs/record/resume.h"
#include "runs/settings/config_data.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "runs/values/run_snapshot.h"
#include "training/forecast_make.h"
#include "training/run_start.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- files that are written at the end --- */

/* Checks that a file which is written at the end can be written, before hours of training. */
static bool check_target(const char *option, const char *path, enum output_content content,
                         struct error *error)
{
    char what[256];
    struct error found;
    if (!path || output_file_check(path, content, &found))
        return true;
    snprintf(what, sizeof what, "%s %s", option, path);
    return error_set(error, ERROR_USAGE, what, found.advice, "%s", found.why);
}

static bool is_stdout(const char *path)
{
    return path && output_file_is_stdout(path);
}

bool train_check_targets(const struct train *train, struct error *error)
{
    if (!check_target("--save", train->options.save_path, OUTPUT_BINARY, error) ||
        !check_target("--export", train->export_path, OUTPUT_TEXT, error))
        return false;
    if (train->json && (is_stdout(train->options.save_path) || is_stdout(train->export_path)))
        return error_set(error, ERROR_USAGE, "--json", "give --save and --export a file",
                         "the events go to standard output already");
    return !(is_stdout(train->options.save_path) && is_stdout(train->export_path)) ||
           error_set(error, ERROR_USAGE, "--export", "name a file for one of them",
                     "weights and session cannot both go to standard output");
}

/* --- the result --- */

char *train_operand(const struct run *run, char *out, size_t size)
{
    const struct run_facts *facts = run_facts(run);
    const char *directory = facts->directory;
    if (strcmp(file_base_name(directory), facts->id) == 0)
        return shell_operand(facts->id, out, size);
    struct text path = {0};
    text_append(&path, "%s%s", strchr(directory, '/') ? "" : "./", directory);
    shell_operand(path.data && !path.failed ? path.data : directory, out, size);
    text_free(&path);
    return out;
}

/* Prints the number and the time of the checkpoints. */
static void print_checkpoints(output_printer *print_line, const struct run_snapshot *snapshot)
{
    const double seconds = snapshot->checkpoint.seconds, all = snapshot->elapsed_seconds;
    if (snapshot->checkpoint.count == 0)
        return;
    print_line(ngettext("  %llu checkpoint, %.3g s (%.2g %% of the run)\n",
                        "  %llu checkpoints, %.3g s in all (%.2g %% of the run)\n",
                        snapshot->checkpoint.count),
               (unsigned long long)snapshot->checkpoint.count, seconds,
               all > 0 ? 100 * seconds / all : 0);
}

/* Prints the energy of training, or why it is not known. */
static void print_energy(output_printer *print_line, const struct run_snapshot *snapshot)
{
    if (run_snapshot_has_energy(snapshot))
        print_line(_("  energy %.4g J/image, %.4g W\n"), run_snapshot_joules_per_image(snapshot),
                   run_snapshot_watts(snapshot));
    else if (snapshot->energy.unknown[0])
        print_line(_("  energy not known: %s\n"), snapshot->energy.unknown);
}

/* Prints how the loss of a run in fp16 was scaled. */
static void print_loss_scale(output_printer *print_line, const struct run_snapshot *snapshot)
{
    if (snapshot->loss_scale > 0)
        print_line(ngettext("  loss scale %g, %llu step skipped\n",
                            "  loss scale %g, %llu steps skipped\n", snapshot->skipped_steps),
                   snapshot->loss_scale, (unsigned long long)snapshot->skipped_steps);
}

/* Prints what the processes of the run have done. */
static void print_ranks(output_printer *print_line, const struct run *run)
{
    struct run_ranks ranks = {0};
    struct run_ranks_range range;
    if (run_ranks(run, &ranks) && run_ranks_range(&ranks, &range)) {
        print_line(ngettext("  %zu ranks on %zu host", "  %zu ranks on %zu hosts", range.hosts),
                   ranks.count, range.hosts);
        print_line(_(": %.4g to %.4g ms/iteration without waiting, the slowest is rank %zu; %.1f "
                     "to %.1f %% waiting in sums\n"),
                   range.fastest, range.slowest, range.slowest_rank, 100 * range.wait_least,
                   100 * range.wait_most);
    }
    run_ranks_free(&ranks);
}

/* Prints what the best model has reached on the test set. */
static void print_test(output_printer *print_line, const struct run_config *config,
                       const struct run_snapshot *snapshot)
{
    char spec[CONFIG_SPEC], value[CONFIG_SPEC];
    const struct run_test *test = &snapshot->test;
    if (test->images == 0)
        return;
    config_short_value(KEY(test), config_test_spec(config, spec), value, sizeof value);
    if (isfinite(test->top1))
        print_line(_("  test of epoch %.4g: loss %s, top-1 %.2f %% of %llu images (%s)\n"),
                   test->epoch, TEXT_NUMBER(test->loss, 4), test->top1,
                   (unsigned long long)test->images, value);
    else if (isfinite(test->pixel_accuracy))
        print_line(_("  test of epoch %.4g: loss %s, pixel accuracy %.2f %% of %llu images "
                     "(%s)\n"),
                   test->epoch, TEXT_NUMBER(test->loss, 4), test->pixel_accuracy,
                   (unsigned long long)test->images, value);
    else
        print_line(_("  test of epoch %.4g: loss %s of %llu images (%s)\n"), test->epoch,
                   TEXT_NUMBER(test->loss, 4), (unsigned long long)test->images, value);
}

/* Prints the result. It goes to standard error if a document is written to standard output. */
static void print_summary(const struct train *train, const struct run *run,
                          const struct run_snapshot *snapshot)
{
    char duration[32], operand[200];
    const bool stdout_taken =
        train->json || is_stdout(train->options.save_path) || is_stdout(train->export_path);
    output_printer *const print_line = stdout_taken ? output_note : output_print;
    const struct run_facts *facts = run_facts(run);
    const struct run_figures figures = run_figures_of(snapshot, NULL);
    print_line(_("%s: %s after %llu iterations in %s, preparation not counted\n"), facts->id,
               gettext(run_snapshot_word(snapshot)), (unsigned long long)snapshot->iteration,
               text_duration(snapshot->elapsed_seconds, duration, sizeof duration));
    if (snapshot->iteration == 0 && isfinite(figures.top1))
        print_line(_("  validation loss %s, top-1 %.2f %%\n"),
                   TEXT_NUMBER(figures.validation_loss, 4), figures.top1);
    else if (isfinite(figures.top1))
        print_line(_("  loss %s, %.4g ms/image (median), validation loss %s, top-1 %.2f %% (best "
                     "%.2f %%)\n"),
                   TEXT_NUMBER(figures.loss, 6), snapshot->ms_per_image_median,
                   TEXT_NUMBER(figures.validation_loss, 4), figures.top1, figures.best_top1);
    else if (snapshot->validation.known && isfinite(snapshot->validation.pixel_accuracy))
        print_line(_("  loss %s, %.4g ms/image (median), validation loss %s, pixel accuracy "
                     "%.2f %%\n"),
                   TEXT_NUMBER(figures.loss, 6), snapshot->ms_per_image_median,
                   TEXT_NUMBER(figures.validation_loss, 4), snapshot->validation.pixel_accuracy);
    else if (snapshot->iteration > 0)
        print_line(_("  loss %s, %.4g ms/image (median)\n"), TEXT_NUMBER(figures.loss, 6),
                   snapshot->ms_per_image_median);
    print_test(print_line, run_config(run), snapshot);
    if (snapshot->iteration > 0)
        print_energy(print_line, snapshot);
    print_loss_scale(print_line, snapshot);
    print_ranks(print_line, run);
    print_checkpoints(print_line, snapshot);
    print_line(_("  stored in %s\n"), facts->directory);
    if (train->options.save_path)
        print_line(_("  weights in %s\n"), train->options.save_path);
    if (train->export_path)
        print_line(_("  session in %s\n"), train->export_path);
    if (snapshot->status == RUN_STOPPED)
        print_line(_("  tinca resume %s continues it\n"),
                   train_operand(run, operand, sizeof operand));
}

bool train_is_kept(const struct run *run)
{
    char *config = file_join(run_facts(run)->directory, "config.json");
    const bool kept = config && file_exists(config);
    free(config);
    return kept;
}

/* A run that failed is exported too, since the session says why; a refused run has nothing to
 * export. A run that is done may still have an error: something could not be written on the way. */
int train_finish(const struct train *train, struct run *run, bool interrupted)
{
    struct run_snapshot snapshot;
    struct error error;
    char operand[200];
    int status = EXIT_DONE;
    run_snapshot(run, &snapshot);
    if (snapshot.status == RUN_FAILED || snapshot.status == RUN_REFUSED) {
        status = output_error(&snapshot.error);
        if (snapshot.checkpoint.count > 0 && snapshot.error.kind != ERROR_DIVERGED &&
            !train->quiet && train_is_kept(run))
            output_note(_("tinca resume %s continues after iteration %llu\n"),
                        train_operand(run, operand, sizeof operand),
                        (unsigned long long)snapshot.checkpoint.iteration);
    } else if (snapshot.error.kind != ERROR_NONE) {
        output_error(&snapshot.error);
        status = EXIT_FAILED;
    } else if (snapshot.status == RUN_STOPPED && interrupted)
        status = EXIT_INTERRUPTED;
    if (train->export_path && snapshot.status != RUN_REFUSED &&
        !export_session(&run, 1, train->export_path, &error))
        return output_error(&error);
    if (!train->quiet && (status == EXIT_DONE || status == EXIT_INTERRUPTED))
        print_summary(train, run, &snapshot);
    return status;
}

/* Shows a running run until it is over, writes its files and frees it. */
static int train_follow(const struct train *train, struct run *run)
{
    struct event_stream events;
    struct error error;
    if (!train->quiet)
        processes_announce(train->options.cluster, run_config(run));
    if (train->json && !event_stream_begin(&events, run, &error)) {
        run_free(run);
        return output_error(&error);
    }
    progress_follow(run, train->quiet, train->json ? &events : NULL);
    int status = train_finish(train, run, stop_signal_came());
    run_free(run);
    return status;
}

/* Prints, before the first iteration, what the memory limit costs. */
static void announce_limit(const struct train *train, const struct run *run)
{
    const struct memory_forecast *memory = &run_facts(run)->forecast;
    char words[160], total[32];
    if (train->quiet || machine_settings(&train->config).memory_bytes == 0)
        return;
    if (forecast_limit_text(memory, words, sizeof words)[0])
        output_note(_("memory limit: %s\n"), words);
    else
        output_note(_("memory limit: %s fit without recomputation\n"),
                    text_bytes(memory->total, total, sizeof total));
}

/* Prints why the run does not validate, if that is the protocol of its preset's study. */
static void announce_protocol(const struct train *train)
{
    const char *protocol = config_protocol(&train->config);
    if (protocol && !train->quiet)
        output_note("%s\n", gettext(protocol));
}

/* --- a new run --- */

/* Returns whether the run could start now: a mistake is to be found before the wait. */
static bool check_start(const struct train *train, struct error *error)
{
    struct forecast forecast;
    struct run_fork fork;
    struct run_config absolute = train->config; /* as run_start compares it with the ancestor's */
    return forecast_make(&train->config, 0, &forecast, error) &&
           (!train->fork || (config_make_absolute(&absolute, error) &&
                             fork_plan(&train->options.fork, &absolute, &fork, error)));
}

/* Starts the run, with --wait when it is its turn. */
static struct run *start(const struct train *train, struct error *error)
{
    struct run_queue_place place = {0};
    const struct queued_run queued = queued_run_new(&train->config);
    struct run_options options = train->options;
    options.session_path = train->export_path; /* for the command that resumes it */
    if (train->wait &&
        (!check_start(train, error) || !train_wait(&queued, train->quiet, &place, error)))
        return NULL;
    struct run *run = run_start(&train->config, &options, error);
    run_queue_leave(&place);
    return run;
}

bool train_one(const struct train *train, int *status)
{
    struct error error;
    struct event_stream events;
    struct run_snapshot end;
    struct run *run = start(train, &error);
    if (!run) {
        *status = output_error(&error);
        return false;
    }
    announce_limit(train, run);
    announce_protocol(train);
    if (!train->quiet)
        processes_announce(train->options.cluster, run_config(run));
    const bool streams = train->json && event_stream_begin(&events, run, &error);
    if (train->json && !streams) {
        run_free(run);
        *status = output_error(&error);
        return false;
    }
    progress_follow(run, train->quiet, streams ? &events : NULL);
    run_snapshot(run, &end);
    *status = train_finish(train, run, stop_signal_came());
    run_free(run);
    return end.status != RUN_REFUSED;
}

/* --- a run that goes on --- */

void train_announce_file(const char *path, bool quiet)
{
    if (path && !quiet)
        output_note(_("At its end, this run writes %s, as it was begun with.\n"), path);
}

/* Names the stored files that the run will write, and the session that it will not. */
static void announce(const struct train *train, const struct run_outputs *stored)
{
    if (train->options.save_path == stored->save)
        train_announce_file(stored->save, train->quiet);
    if (train->export_path == stored->session)
        train_announce_file(stored->session, train->quiet);
    if (!train->export_path && stored->lost.session.kind != ERROR_NONE)
        output_error(&stored->lost.session);
}

/* Continues the run, with the files that it writes at its end, and names those that are stored. */
static int resume_with(const char *directory, const struct train *train,
                       const struct run_outputs *stored)
{
    struct error error;
    struct run_queue_place place = {0};
    struct run *run = NULL;
    const struct queued_run queued = queued_run_resumed(directory, &train->config);
    if (!train->wait || train_wait(&queued, train->quiet, &place, &error))
        run = run_resume(directory, &train->config, &train->options, &error);
    run_queue_leave(&place);
    if (run)
        announce(train, stored);
    return run ? train_follow(train, run) : output_error(&error);
}

/* Takes the stored files in place of those that the command does not name. */
static void take_stored(struct train *own, const struct run_outputs *stored)
{
    if (!own->options.save_path)
        own->options.save_path = stored->save; /* of a lost one, the run says why (run_notice) */
    if (!own->export_path)
        own->export_path = stored->session;
    own->options.session_path = own->export_path;
}

int train_resumed(const char *directory, const struct train *train)
{
    struct error error;
    struct train own = *train;
    struct run_outputs stored;
    int status;
    if (!run_outputs_read(&stored, directory, &error))
        return output_error(&error);
    take_stored(&own, &stored);
    status = train_check_targets(&own, &error) ? resume_with(directory, &own, &stored)
                                               : output_error(&error);
    run_outputs_free(&stored);
    return status;
}
