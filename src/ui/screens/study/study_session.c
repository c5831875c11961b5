/* A session is a sequence of phases:
 *
 *   intro -> pause -> showing -> asking [-> feedback, in practice] -> pause -> ...
 *
 * with one halt between practice and the pictures that count. The phases pause and showing end by
 * the clock, the others by a key. A phase is drawn when it begins and when the terminal's size
 * changes, so that a picture is sent only once. Its time begins when it was sent completely.
 *
 * Keys typed while no question is asked must not answer the next question, so they are discarded;
 * only q is remembered, and the question whether to quit appears as soon as the picture is gone. */
#include "ui/screens/study/study_session.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "ui/screens/study/internal.h"
#include "ui/terminal/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double PAUSE_SECONDS = 0.5, RETRY_SECONDS = 0.1;

/* --- phases --- */

static uint64_t after(double seconds)
{
    return clock_nanoseconds() + (uint64_t)(seconds * 1e9);
}

static void enter(struct study_show *show, enum phase phase)
{
    show->phase = phase;
    show->stale = true;
    show->seen = false;
    if (phase == PHASE_PAUSE)
        show->until = after(PAUSE_SECONDS);
    if (phase == PHASE_ASKING) {
        while (terminal_read_key() != UI_NONE)
            continue;
        show->overlay = show->quit_next ? OVERLAY_QUIT : OVERLAY_NONE;
        show->quit_next = false;
    }
}

static void go_on(struct study_show *show)
{
    if (show->phase == PHASE_FEEDBACK || show->phase == PHASE_ASKING) {
        show->at++;
        show->done = show->at == show->study->count;
        if (show->done)
            return;
        if (show->at == study_show_practice_count(show->study)) {
            enter(show, PHASE_HALT);
            return;
        }
    }
    enter(show, PHASE_PAUSE);
}

static void answer(struct study_show *show, bool real)
{
    show->vote->answers[show->at] =
        (struct study_answer){.image = show->order[show->at],
                              .real = real,
                              .seconds = clock_seconds(show->asked, clock_nanoseconds())};
    if (study_show_current(show)->practice)
        enter(show, PHASE_FEEDBACK);
    else
        go_on(show);
}

/* --- keys --- */

static void key_to_overlay(struct study_show *show, int key)
{
    const bool quitting = show->overlay == OVERLAY_QUIT;
    if (quitting && (key == 'y' || key == 'Y')) {
        show->ended = true;
        return;
    }
    if (quitting && key != 'n' && key != 'N' && key != 'q' && key != UI_ESCAPE)
        return;
    show->overlay = OVERLAY_NONE;
    show->stale = true;
}

static void take_key(struct study_show *show, int key)
{
    const bool busy = show->phase == PHASE_SHOWING || show->phase == PHASE_PAUSE;
    if (key >= 'A' && key <= 'Z')
        key += 'a' - 'A';
    const enum action action = keys_find(&study_show_keys, key);
    if (show->overlay) {
        key_to_overlay(show, key);
    } else if (busy) {
        show->quit_next = show->quit_next || action == ACTION_BACK;
    } else if (!study_show_fits(show) || !study_show_takes(show, action)) {
        return;
    } else if (action == ACTION_REAL || action == ACTION_GENERATED) {
        answer(show, action == ACTION_REAL);
    } else if (action == ACTION_OPEN) {
        go_on(show);
    } else if (action != ACTION_NONE) {
        show->overlay = action == ACTION_HELP ? OVERLAY_HELP : OVERLAY_QUIT;
        show->stale = true;
    }
}

/* --- the loop --- */

static double seconds_until(uint64_t then)
{
    const uint64_t now = clock_nanoseconds();
    return then > now ? clock_seconds(now, then) : 0;
}

static double rest(const struct study_show *show)
{
    if (show->stale)
        return RETRY_SECONDS; /* the terminal does not accept output now */
    if (show->phase == PHASE_PAUSE || (show->phase == PHASE_SHOWING && show->seen))
        return seconds_until(show->until);
    return -1;
}

static void end_timed_phase(struct study_show *show)
{
    if (show->phase == PHASE_PAUSE && clock_nanoseconds() >= show->until) {
        enter(show, PHASE_SHOWING);
    } else if (show->phase == PHASE_SHOWING && show->seen && clock_nanoseconds() >= show->until) {
        show->asked = 0;
        enter(show, PHASE_ASKING);
    }
}

static void take_wakes(struct study_show *show, unsigned wakes)
{
    show->gone = show->gone || wakes & WAKE_HANGUP;
    show->ended = show->ended || wakes & WAKE_STOP;
    show->stale = show->stale || wakes & WAKE_RESIZE;
    if (!(wakes & WAKE_INPUT))
        return;
    for (int key; !show->done && !show->ended && (key = terminal_read_key()) != UI_NONE;)
        take_key(show, key);
}

static void loop(struct study_show *show)
{
    while (!show->done && !show->ended && !show->gone && !show->failed) {
        if (show->stale && terminal_is_writable())
            study_show_draw(show);
        take_wakes(show, terminal_wait(rest(show)));
        end_timed_phase(show);
    }
}

/* --- opening --- */

static bool check_size(struct error *error)
{
    int rows, columns;
    terminal_size(&rows, &columns);
    return (rows >= GRAPHICS_MIN_ROWS && columns >= GRAPHICS_MIN_COLUMNS) ||
           error_set(error, ERROR_UNSUPPORTED, "the terminal", "enlarge it, or use smaller letters",
                     "pictures need %dx%d cells at least, and it has %dx%d", GRAPHICS_MIN_COLUMNS,
                     GRAPHICS_MIN_ROWS, columns, rows);
}

static bool open_terminal(struct error *error)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return error_set(error, ERROR_UNSUPPORTED, "the study",
                         "run it in a terminal; --report prints the results of a file",
                         isatty(STDIN_FILENO)
                             ? N_("pictures need a terminal, but standard output is not one")
                             : N_("pictures need a terminal, but standard input is not one"));
    if (!terminal_open(error)) {
        error->kind = ERROR_UNSUPPORTED;
        return false;
    }
    terminal_set_crash_prefix("\033\\");
    return true;
}

bool study_display_detect(struct study_display *display, const char *name, struct error *error)
{
    graphics_read_environment(&display->facts);
    if (isatty(STDOUT_FILENO) && !graphics_check_possible(&display->facts, name, error))
        return false;
    if (!open_terminal(error))
        return false;
    graphics_query_terminal(&display->facts);
    const unsigned wakes = terminal_wait(0);
    bool found =
        graphics_choose(&display->facts, name, &display->graphics, error) && check_size(error);
    terminal_close(wakes & WAKE_HANGUP);
    if (wakes & (WAKE_STOP | WAKE_HANGUP))
        return error_set(error, ERROR_INTERRUPTED, "the study", NULL, "it was interrupted");
    return found;
}

static void fill_vote(const struct study_show *show)
{
    struct study_vote *vote = show->vote;
    snprintf(vote->participant, sizeof vote->participant, "%s", show->participant);
    snprintf(vote->graphics, sizeof vote->graphics, "%s", graphics_names[show->display->graphics]);
    clock_now_rfc3339(vote->created, sizeof vote->created);
    vote->columns = (size_t)show->canvas.columns;
    vote->rows = (size_t)show->canvas.rows;
}

/* Runs the session in the terminal, which must be open. */
static bool run_session(struct study_show *show, struct error *error)
{
    theme_load(&show->theme, "default");
    show->canvas.theme = &show->theme;
    show->canvas.glyphs = glyphs_for(show->display->facts.utf8);
    enter(show, PHASE_INTRO);
    loop(show);
    if (!show->gone) {
        const char *take_away = graphics_erase_sequence(show->display->graphics);
        graphics_send(take_away, strlen(take_away));
    }
    if (show->done)
        fill_vote(show);
    else if (!show->failed)
        error_set(error, ERROR_INTERRUPTED, "the study",
                  "begin again with the same command when there is time for all of it",
                  "it ended after %zu of %zu pictures, and nothing of it was kept", show->at,
                  show->study->count);
    return show->done;
}

static bool begin(struct study_show *show, const struct study_display *display,
                  const struct study *study, const struct image *images, const char *participant,
                  struct study_vote *vote, struct error *error)
{
    *show = (struct study_show){.display = display,
                                .study = study,
                                .images = images,
                                .participant = participant,
                                .vote = vote,
                                .error = error};
    show->order = memory_new(study->count, sizeof *show->order, "the order", error);
    if (show->order)
        study_order(study, participant, show->order);
    return show->order;
}

static void end(struct study_show *show)
{
    free(show->order);
    text_free(&show->bytes);
}

bool study_session_run(const struct study_display *display, const struct study *study,
                       const struct image *images, const char *participant, struct study_vote *vote,
                       struct error *error)
{
    struct study_show show;
    if (!begin(&show, display, study, images, participant, vote, error))
        return false;
    bool finished = open_terminal(error);
    if (finished) {
        finished = run_session(&show, error);
        terminal_close(show.gone);
    }
    end(&show);
    return finished;
}

/* --- inside the workbench --- */

bool study_display_detect_in_workbench(struct study_display *display, struct error *error)
{
    graphics_read_environment(&display->facts);
    if (!graphics_check_possible(&display->facts, NULL, error) || !check_size(error))
        return false;
    graphics_query_terminal(&display->facts);
    return graphics_choose(&display->facts, NULL, &display->graphics, error);
}

bool study_session_run_in_workbench(const struct study_display *display, const struct study *study,
                                    const struct image *images, const char *participant,
                                    struct study_vote *vote, struct error *error)
{
    struct study_show show;
    if (!begin(&show, display, study, images, participant, vote, error))
        return false;
    terminal_set_crash_prefix("\033\\");
    bool finished = run_session(&show, error);
    terminal_set_crash_prefix(NULL);
    end(&show);
    return finished;
}
