/* Shows a run's progress from snapshots: on a terminal as one line that is rewritten, otherwise as
 * a line every few seconds. Findings and notices are printed above that line, each once. */
#include "cli/progress.h"

#include "cli/output.h"
#include "cli/stop_signal.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/text.h"
#include "runs/history/follow.h"
#include "runs/values/run_snapshot.h"
#include "ui/terminal/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE_SIZE = 320 };
static const double plain_interval = 5, poll_seconds = 0.2;

static double now_seconds(void)
{
    return clock_seconds(0, clock_nanoseconds());
}

struct progress progress_begin(bool quiet)
{
    const char *type = getenv("TERM"); /* a "dumb" terminal cannot rewrite a line */
    bool terminal = isatty(STDERR_FILENO) && type && strcmp(type, "dumb") != 0;
    return (struct progress){.quiet = quiet, .terminal = terminal, .last = now_seconds()};
}

static size_t terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

/* Writes the line about a running run. What matters most comes first: a narrow terminal cuts the
 * rest. */
static void describe(const struct run_snapshot *snapshot, char *line, size_t size)
{
    char eta[32] = "";
    size_t used;
    const struct run_figures figures = run_figures_of(snapshot, NULL);
    if (snapshot->status == RUN_PREPARING) {
        snprintf(line, size, _("preparing"));
        return;
    }
    if (snapshot->status == RUN_VALIDATING && snapshot->validation.of == 0) {
        snprintf(line, size, _("validating")); /* another process, which reports no progress */
        return;
    }
    if (snapshot->status == RUN_VALIDATING) {
        snprintf(line, size,
                 snapshot->testing ? _("testing %llu/%llu images")
                                   : _("validating %llu/%llu images"),
                 (unsigned long long)snapshot->validation.done,
                 (unsigned long long)snapshot->validation.of);
        return;
    }
    used = (size_t)snprintf(line, size, _("%llu/%llu  epoch %.2f/%g  loss %s"),
                            (unsigned long long)snapshot->iteration,
                            (unsigned long long)snapshot->iterations, snapshot->epoch,
                            snapshot->epochs, TEXT_NUMBER((double)snapshot->loss, 4));
    if (isfinite(figures.top1) && used < size)
        used += (size_t)snprintf(line + used, size - used, _("  top-1 %.2f %%"), figures.top1);
    if (used < size)
        used += (size_t)snprintf(line + used, size - used, _("  %.3g ms/image"),
                                 snapshot->ms_per_image_median);
    if (snapshot->loss_scale > 0 && used < size)
        used += (size_t)snprintf(line + used, size - used, _("  scale %g, %llu skipped"),
                                 snapshot->loss_scale, (unsigned long long)snapshot->skipped_steps);
    if (snapshot->eta_seconds >= 0 && used < size)
        snprintf(line + used, size - used, _("  %s left"),
                 text_duration(snapshot->eta_seconds, eta, sizeof eta));
}

static void clear_line(struct progress *progress)
{
    if (progress->line_open)
        output_live_clear();
    progress->line_open = false;
}

/* Prints the findings that are new. */
static void show_findings(struct progress *progress, const struct run *run,
                          const struct run_snapshot *snapshot)
{
    struct finding finding;
    for (; progress->findings < snapshot->finding_count; progress->findings++) {
        run_finding(run, progress->findings, &finding);
        clear_line(progress);
        output_note(_("%s, iteration %llu: %s\n"), gettext(finding_kind_words(finding.kind)),
                    (unsigned long long)finding.iteration, finding.text);
    }
}

/* Prints once from which iteration a resumed run continues. */
static void show_beginning(struct progress *progress, const struct run_snapshot *snapshot)
{
    if (progress->begun || snapshot->status == RUN_PREPARING)
        return;
    progress->begun = true;
    if (snapshot->begun_at > 0)
        output_note(_("continues after iteration %llu of %llu\n"),
                    (unsigned long long)snapshot->begun_at,
                    (unsigned long long)snapshot->iterations);
}

/* Prints an error that does not end the run (a full disk) once, and once more when it is over. An
 * error that ends the run is printed at its end. */
static void show_trouble(struct progress *progress, const struct run_snapshot *snapshot)
{
    const struct error *error = &snapshot->error;
    if (run_status_is_over(snapshot->status) ||
        (error->kind == progress->trouble.kind && strcmp(error->why, progress->trouble.why) == 0))
        return;
    clear_line(progress);
    if (error->kind != ERROR_NONE)
        output_error(error);
    else if (!progress->quiet)
        output_note(_("writing works again: nothing is lost\n"));
    progress->trouble = *error;
}

/* Asks for a checkpoint after a signal, and says once when it is written. */
static void obey_save(struct progress *progress, struct run *run)
{
    struct run_snapshot snapshot;
    run_snapshot(run, &snapshot);
    if (signals_take_save() && run_send(run, COMMAND_SAVE, 0)) {
        progress->saving = true;
        progress->checkpoints = snapshot.checkpoint.count;
    }
    if (!progress->saving || snapshot.checkpoint.count == progress->checkpoints)
        return;
    progress->saving = false;
    clear_line(progress);
    if (!progress->quiet)
        output_note(_("a signal asked for a checkpoint: saved after iteration %llu\n"),
                    (unsigned long long)snapshot.checkpoint.iteration);
}

static void show_live(struct progress *progress, const char *line)
{
    size_t width = terminal_width();
    output_live(line, width > 1 ? width - 1 : 1);
    progress->line_open = true;
}

static void show_plain(struct progress *progress, const struct run_snapshot *snapshot, long halted,
                       const char *line)
{
    double now = now_seconds();
    const bool same = snapshot->iteration == progress->printed && halted == progress->halted;
    if (now - progress->last < plain_interval || same)
        return;
    progress->halted = halted;
    output_note("%s\n", line);
    progress->last = now;
    progress->printed = snapshot->iteration;
}

void progress_show(struct progress *progress, const struct run *run)
{
    struct run_snapshot snapshot;
    char line[LINE_SIZE];
    run_snapshot(run, &snapshot);
    show_trouble(progress, &snapshot);
    progress->noticed |= progress->trouble.kind != ERROR_NONE; /* it includes the notice */
    if (progress->quiet)
        return;
    show_beginning(progress, &snapshot);
    show_findings(progress, run, &snapshot);
    const long halted = follow_halted(run);
    if (halted > 0)
        snprintf(line, sizeof line, _("process %ld is halted; kill -CONT %ld lets it go on"),
                 halted, halted);
    else
        describe(&snapshot, line, sizeof line);
    if (progress->terminal)
        show_live(progress, line);
    else
        show_plain(progress, &snapshot, halted, line);
}

void progress_end(struct progress *progress, const struct run *run)
{
    struct run_snapshot snapshot;
    run_snapshot(run, &snapshot);
    if (!progress->quiet && snapshot.status != RUN_REFUSED)
        show_beginning(progress, &snapshot); /* the run may have ended before it was shown */
    if (!progress->quiet)
        show_findings(progress, run, &snapshot);
    clear_line(progress);
    if (run_notice(run)->kind != ERROR_NONE && !progress->noticed)
        output_error(run_notice(run)); /* the run ended before its notice was shown */
}

void progress_follow(struct run *run, bool quiet, struct event_stream *events)
{
    struct progress progress = progress_begin(quiet);
    bool stop_sent = false;
    while (!run_wait(run, poll_seconds)) {
        if (stop_signal_came() && !stop_sent)
            stop_sent = run_send(run, COMMAND_STOP, 0);
        obey_save(&progress, run);
        progress_show(&progress, run);
        if (events)
            event_stream_print(events);
    }
    progress_end(&progress, run);
    if (events)
        event_stream_end(events, run);
}
