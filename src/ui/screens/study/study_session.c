/* A session is a sequence of phases:
 *
 *   intro -> pause -> showing -> asking [-> feedback, in practice] -> pause -> ...
 *
 * with one halt between practice and the pictures that count. The phases pause and showing end by
 * the clock, the others by a key. A phase is drawn when it begins and when the terminal's size
 * changes, so that a picture is sent only once. Its time begins when it was sent completely.
 *
 * Keys typed while no question is asked must not answer the next question, so they are discarded;
 * only q is remembered, and the question whether to quit appears as soon as the picture is gone.
 *
 * ncurses draws the text; the picture is sent directly to the terminal, once in each phase that
 * shows one. */
#include "ui/screens/study/study_session.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "ui/app/actions.h"
#include "ui/screens/study/internal.h"
#include "ui/terminal/columns.h"
#include "ui/terminal/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double PAUSE_SECONDS = 0.5, RETRY_SECONDS = 0.1;

enum phase { PHASE_INTRO, PHASE_HALT, PHASE_PAUSE, PHASE_SHOWING, PHASE_ASKING, PHASE_FEEDBACK };
enum overlay { OVERLAY_NONE, OVERLAY_HELP, OVERLAY_QUIT };

struct study_show {
    const struct study_display *display;
    const struct study *study;
    const struct image *images;
    const char *participant;
    struct study_vote *vote;
    uint32_t *order; /* the pictures' order, shuffled */
    struct theme theme;
    struct canvas canvas;
    struct text bytes; /* escape sequence of the present picture */
    size_t at;         /* number of pictures answered */
    enum phase phase;
    enum overlay overlay;
    bool stale;     /* the phase must be drawn again */
    bool seen;      /* the picture was sent completely: its time runs */
    bool quit_next; /* q was typed while the picture was shown */
    uint64_t until; /* end of a pause or of a picture (clock_nanoseconds) */
    uint64_t asked; /* time of the question (clock_nanoseconds); 0: not yet */
    bool done;      /* all pictures are answered */
    bool ended;     /* the participant or a signal has ended the session */
    bool gone;      /* the terminal was closed */
    struct error *error;
    bool failed; /* `error` is set */
};

enum { ANSWER_GENERATED, ANSWER_REAL, GO_ON, HELP, QUIT }; /* the arguments of the actions */
static const struct action actions[] = {
    {"r Left", "real", N_("real"), N_("the picture was a real one"), .argument = ANSWER_REAL},
    {"g Right", "generated", N_("generated"), N_("a network made the picture"),
     .argument = ANSWER_GENERATED},
    {"Enter space", "go-on", N_("go on"), N_("go on to the next picture"), .argument = GO_ON},
    {"? F1", "help", N_("help"), N_("this help; any key closes it"), .argument = HELP},
    {"q", "quit", N_("quit"), N_("leave the study: asks, and saves nothing of it"),
     .argument = QUIT},
};
static const struct actions in_study = {ACTIONS(N_("In a study"), actions)};

/* --- drawing --- */

static const struct study_image *current(const struct study_show *show)
{
    return &show->study->images[show->order[show->at]];
}

static size_t practice_count(const struct study *study)
{
    return study_count(study, true, true) + study_count(study, false, true);
}

static bool fits(const struct study_show *show)
{
    return show->canvas.rows >= GRAPHICS_MIN_ROWS && show->canvas.columns >= GRAPHICS_MIN_COLUMNS;
}

static struct rect body_of(const struct study_show *show)
{
    return (struct rect){2, 2, show->canvas.rows - 4, show->canvas.columns - 4};
}

static void draw_title(struct study_show *show)
{
    char where[96] = "";
    const struct rect area = {0, 1, 1, show->canvas.columns - 2};
    draw_fill(&show->canvas, (struct rect){0, 0, 1, show->canvas.columns}, ROLE_TITLE);
    draw_text(&show->canvas, area, 0, 0, ROLE_TITLE, _("Perceptual study"));
    if (show->phase > PHASE_HALT)
        snprintf(where, sizeof where,
                 current(show)->practice ? _("%zu of %zu, practice") : _("%zu of %zu"),
                 show->at + 1, show->study->count);
    draw_right(&show->canvas, area, 0, ROLE_TITLE, where);
}

/* Returns whether the phase has the action. */
static bool takes(const struct study_show *show, int action)
{
    const enum phase phase = show->phase;
    if (action == ANSWER_REAL || action == ANSWER_GENERATED)
        return phase == PHASE_ASKING;
    if (action == GO_ON)
        return phase == PHASE_INTRO || phase == PHASE_HALT || phase == PHASE_FEEDBACK;
    return action != HELP || (phase != PHASE_SHOWING && phase != PHASE_PAUSE);
}

static void draw_hints(struct study_show *show)
{
    const struct rect area = {show->canvas.rows - 1, 1, 1, show->canvas.columns - 2};
    struct key_name name;
    int column = 0;
    for (size_t i = 0; i < in_study.count; i++) {
        if (!takes(show, actions[i].argument))
            continue;
        key_take_name(actions[i].keys, &name);
        column = draw_text(&show->canvas, area, 0, column, ROLE_KEY, name.name);
        column = draw_format(&show->canvas, area, 0, column, ROLE_FAINT, " %s",
                             gettext(actions[i].hint)) +
                 2;
    }
}

static void draw_intro(struct study_show *show)
{
    struct canvas *canvas = &show->canvas;
    const struct rect area = body_of(show);
    const size_t count = show->study->count, practice = practice_count(show->study);
    char text[400];
    snprintf(
        text, sizeof text,
        _("You will see %zu pictures, each for %g s. Half of them are real, the other half were "
          "made by a neural network. After each, say which it was: r real, g generated."),
        count, show->study->seconds);
    int row = draw_wrapped(canvas, area, 0, ROLE_TEXT, text) + 1;
    snprintf(text, sizeof text,
             _("The first %zu are practice: you are told whether you were right. The other %zu "
               "count: for them you are not told."),
             practice, count - practice);
    row = draw_wrapped(canvas, area, row, ROLE_TEXT, text) + 1;
    draw_format(canvas, area, row++, 0, ROLE_FAINT, _("Participant: %s"), show->participant);
    draw_format(canvas, area, row++, 0, ROLE_FAINT, _("Pictures as %s, %dx%d cells"),
                graphics_names[show->display->graphics], canvas->columns, canvas->rows);
    draw_text(canvas, area, row + 1, 0, ROLE_STRONG, _("Press Enter to begin."));
}

static void draw_question(struct study_show *show)
{
    const struct rect area = body_of(show);
    const int row = area.rows / 3;
    draw_text(&show->canvas, area, row, 0, ROLE_STRONG, _("Real or generated?"));
    draw_text(&show->canvas, area, row + 2, 0, ROLE_KEY, "r");
    draw_text(&show->canvas, area, row + 2, 2, ROLE_TEXT, _("or Left: real"));
    draw_text(&show->canvas, area, row + 3, 0, ROLE_KEY, "g");
    draw_text(&show->canvas, area, row + 3, 2, ROLE_TEXT, _("or Right: generated"));
    draw_cursor(&show->canvas, area, row + 2, 0);
}

static void draw_feedback(struct study_show *show)
{
    const struct rect area = body_of(show);
    const bool generated = current(show)->generated;
    const bool right = show->vote->answers[show->at].real != generated;
    static const char *const verdicts[2][2] = {
        {N_("Wrong: it was real."), N_("Wrong: it was generated.")},
        {N_("Right: it was real."), N_("Right: it was generated.")}};
    const int row = area.rows / 3;
    draw_format(&show->canvas, area, row, 0, right ? ROLE_GOOD : ROLE_BAD, "%s",
                gettext(verdicts[right][generated]));
    draw_text(&show->canvas, area, row + 2, 0, ROLE_TEXT, _("Press Enter for the next picture."));
}

static void draw_halt(struct study_show *show)
{
    const struct rect area = body_of(show);
    char text[160];
    snprintf(
        text, sizeof text,
        _("Practice is over. The next %zu pictures count, and you are not told whether you were "
          "right."),
        show->study->count - show->at);
    int row = draw_wrapped(&show->canvas, area, area.rows / 3, ROLE_TEXT, text);
    draw_text(&show->canvas, area, row + 1, 0, ROLE_STRONG, _("Press Enter to go on."));
}

static void draw_help(struct study_show *show)
{
    const struct rect area =
        layout_dialog(show->canvas.rows, show->canvas.columns, (int)in_study.count + 4, 66);
    const struct rect inside = draw_box(&show->canvas, area, gettext(in_study.title));
    char keys[32];
    int names = 0;
    for (size_t i = 0; i < in_study.count; i++) {
        const int columns = (int)columns_of(key_names(actions[i].keys, keys, sizeof keys));
        names = columns > names ? columns : names;
    }
    for (size_t i = 0; i < in_study.count; i++) {
        draw_text(&show->canvas, inside, (int)i + 1, 0, ROLE_KEY,
                  key_names(actions[i].keys, keys, sizeof keys));
        draw_text(&show->canvas, inside, (int)i + 1, names + 2, ROLE_TEXT,
                  gettext(actions[i].help));
    }
}

static void draw_quit(struct study_show *show)
{
    const struct rect area = layout_dialog(show->canvas.rows, show->canvas.columns, 8, 50);
    const struct rect inside = draw_box(&show->canvas, area, _("Leave the study?"));
    int row =
        draw_wrapped(&show->canvas, inside, 0, ROLE_TEXT,
                     _("A study that is not finished leaves no vote: nothing of it is saved."));
    draw_text(&show->canvas, inside, row + 1, 0, ROLE_KEY, "y");
    draw_text(&show->canvas, inside, row + 1, 2, ROLE_TEXT, _("leave it"));
    draw_text(&show->canvas, inside, row + 2, 0, ROLE_KEY, "n");
    draw_text(&show->canvas, inside, row + 2, 2, ROLE_TEXT, _("go on"));
}

static void draw_text_parts(struct study_show *show)
{
    static void (*const parts[])(struct study_show *) = {[PHASE_INTRO] = draw_intro,
                                                         [PHASE_HALT] = draw_halt,
                                                         [PHASE_ASKING] = draw_question,
                                                         [PHASE_FEEDBACK] = draw_feedback};
    if (!fits(show)) {
        draw_wrapped(&show->canvas, (struct rect){0, 0, show->canvas.rows, show->canvas.columns}, 0,
                     ROLE_STRONG, _("Too small for pictures: enlarge the window to 32x16 cells."));
        return;
    }
    draw_title(show);
    draw_hints(show);
    if (parts[show->phase])
        parts[show->phase](show);
    if (show->overlay == OVERLAY_HELP)
        draw_help(show);
    if (show->overlay == OVERLAY_QUIT)
        draw_quit(show);
}

/* Sends the picture. Its time begins when it was sent completely for the first time. */
static void send_picture(struct study_show *show)
{
    const struct rect area = {1, 0, show->canvas.rows - 2, show->canvas.columns};
    const struct study_display *display = show->display;
    show->bytes.length = 0;
    if (!graphics_append_picture(&show->bytes, display->graphics, &display->facts,
                                 &show->images[show->order[show->at]], area, show->error)) {
        show->failed = true;
        return;
    }
    if (graphics_send(show->bytes.data, show->bytes.length) && !show->seen) {
        show->seen = true;
        show->until = clock_nanoseconds() + (uint64_t)(show->study->seconds * 1e9);
    }
}

static void draw_show(struct study_show *show)
{
    const char *take_away = graphics_erase_sequence(show->display->graphics);
    terminal_size(&show->canvas.rows, &show->canvas.columns);
    show->canvas.cursor_row = -1;
    show->stale = false;
    graphics_send(take_away, strlen(take_away));
    terminal_redraw(); /* erases the remains of a picture */
    terminal_begin_frame();
    draw_text_parts(show);
    terminal_end_frame(show->canvas.cursor_row, show->canvas.cursor_column);
    if (show->phase == PHASE_SHOWING && fits(show))
        send_picture(show);
    if (show->phase == PHASE_ASKING && !show->overlay && fits(show) && !show->asked)
        show->asked = clock_nanoseconds();
}

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
        if (show->at == practice_count(show->study)) {
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
    if (current(show)->practice)
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
    const struct action *found = actions_find(&in_study, key);
    const int action = found ? found->argument : -1;
    if (show->overlay) {
        key_to_overlay(show, key);
    } else if (busy) {
        show->quit_next = show->quit_next || action == QUIT;
    } else if (!fits(show) || !found || !takes(show, action)) {
        return;
    } else if (action == ANSWER_REAL || action == ANSWER_GENERATED) {
        answer(show, action == ANSWER_REAL);
    } else if (action == GO_ON) {
        go_on(show);
    } else {
        show->overlay = action == HELP ? OVERLAY_HELP : OVERLAY_QUIT;
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
            draw_show(show);
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
