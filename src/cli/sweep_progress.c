/* On a terminal one line is rewritten; elsewhere, as in a log, a line is printed every few seconds.
 * The progress of running cells is read from their journals, whichever process writes them. */
#include "cli/sweep.h"

#include "cli/output.h"

#include "base/clock.h"
#include "base/language.h"
#include "studies/sweep/sweep_table.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MOST_NAMED = 8 }; /* of more running cells, only the number is shown */

static const double plain_interval = 5; /* seconds */

static double now_seconds(void)
{
    return clock_seconds(0, clock_nanoseconds());
}

struct sweep_progress sweep_progress_begin(struct sweep *sweep,
                                           const struct sweep_estimate *estimate, bool quiet)
{
    return (struct sweep_progress){.sweep = sweep,
                                   .estimate = estimate,
                                   .quiet = quiet,
                                   .terminal = isatty(STDERR_FILENO),
                                   .shown = now_seconds()};
}

void sweep_progress_clear(struct sweep_progress *progress)
{
    if (progress->line_open)
        output_live_clear();
    progress->line_open = false;
}

void sweep_progress_print_cell(struct sweep_progress *progress, size_t cell, const char *where)
{
    char line[1300];
    if (progress->quiet)
        return;
    sweep_progress_clear(progress);
    sweep_outcome_text(progress->sweep, cell, line, sizeof line);
    if (where)
        output_note("%s (%s)\n", line, where);
    else
        output_note("%s\n", line);
}

static void describe(const struct sweep_progress *progress, const size_t *running, size_t count,
                     size_t jobs, char *line, size_t size)
{
    size_t used;
    char left[160];
    const struct sweep *sweep = progress->sweep;
    struct sweep_time time = sweep_estimate_left(progress->estimate, sweep);
    used = (size_t)snprintf(line, size, _("%zu of %zu done"), sweep_count_computed(sweep),
                            sweep->count);
    if (count > MOST_NAMED && used < size)
        used += (size_t)snprintf(line + used, size - used, _("  %zu running"), count);
    for (size_t i = 0; i < count && count <= MOST_NAMED && used < size; i++) {
        const struct sweep_cell *cell = &sweep->cells[running[i]];
        used += (size_t)snprintf(line + used, size - used, "  %s %llu/%llu", cell->id,
                                 (unsigned long long)cell->iteration,
                                 (unsigned long long)cell->iterations);
    }
    if (used < size)
        snprintf(line + used, size - used, _("  left (estimate): %s"),
                 sweep_time_text(&time, jobs, left, sizeof left));
}

void sweep_progress_show(struct sweep_progress *progress, const size_t *running, size_t count,
                         size_t jobs)
{
    char line[1200];
    struct winsize window;
    if (progress->quiet ||
        (!progress->terminal && now_seconds() - progress->shown < plain_interval))
        return;
    for (size_t i = 0; i < count; i++)
        sweep_read_progress(progress->sweep, running[i]);
    describe(progress, running, count, jobs, line, sizeof line);
    progress->shown = now_seconds();
    if (!progress->terminal) {
        output_note("%s\n", line);
        return;
    }
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
    output_live(line, known ? window.ws_col - 1u : 79);
    progress->line_open = true;
}
