#include "cli/technique.h"

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/stop_signal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LIVE_COLUMNS = 79 };

bool technique_join_keep(const struct option_list *keep, char patterns[TECHNIQUE_PATTERNS],
                         struct error *error)
{
    size_t length = 0;
    patterns[0] = '\0';
    for (size_t i = 0; i < keep->count; i++) {
        length += (size_t)snprintf(patterns + length, TECHNIQUE_PATTERNS - length, "%s%s",
                                   i ? "," : "", keep->values[i]);
        if (length >= TECHNIQUE_PATTERNS)
            return error_set(error, ERROR_USAGE, "--keep", "use patterns, as stage1.*",
                             "these are too many layers");
    }
    return true;
}

static bool show_step(void *context, const char *text, struct error *error)
{
    struct technique_display *display = context;
    if (text && !display->quiet && strcmp(text, display->shown) != 0) {
        snprintf(display->shown, sizeof display->shown, "%s", text);
        if (display->live)
            output_live(text, LIVE_COLUMNS);
        else
            output_note("%s\n", text);
    }
    return !stop_signal_came() || error_set(error, ERROR_INTERRUPTED, display->command,
                                            display->advice, "it was interrupted");
}

void technique_display_end(struct technique_display *display)
{
    if (display->live && display->shown[0])
        output_live_clear();
    display->shown[0] = '\0';
}

static void follow(void *context, struct run *run)
{
    struct technique_display *display = context;
    technique_display_end(display);
    if (!display->quiet)
        output_note(_("fine-tuning: %s\n"), run_facts(run)->id);
    progress_follow(run, display->quiet, NULL);
}

struct technique_watch technique_display_watch(struct technique_display *display)
{
    display->live = display->live && isatty(STDERR_FILENO) == 1;
    return (struct technique_watch){display, show_step, follow};
}
