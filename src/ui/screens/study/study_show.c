/* The drawing of a study's session. ncurses draws the text; the picture is sent directly to the
 * terminal, once in each phase that shows one. */
#include "ui/screens/study/internal.h"

#include "base/clock.h"
#include "base/language.h"
#include "runs/folder/journal.h"
#include "ui/terminal/columns.h"
#include "ui/terminal/terminal.h"

#include <stdio.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {'r', UI_LEFT, ACTION_REAL, N_("r  Left"), N_("real"), N_("the picture was a real one")},
    {'g', UI_RIGHT, ACTION_GENERATED, N_("g  Right"), N_("generated"),
     N_("a network made the picture")},
    {UI_ENTER, ' ', ACTION_OPEN, N_("Enter  Space"), N_("go on"), N_("go on to the next picture")},
    {'?', UI_F1, ACTION_HELP, "?  F1", N_("help"), N_("this help; any key closes it")},
    {'q', 0, ACTION_BACK, "q", N_("quit"), N_("leave the study: asks, and saves nothing of it")},
};
const struct key_table study_show_keys = {N_("In a study"), bindings,
                                          sizeof bindings / sizeof *bindings};

const struct study_image *study_show_current(const struct study_show *show)
{
    return &show->study->images[show->order[show->at]];
}

size_t study_show_practice_count(const struct study *study)
{
    return study_count(study, true, true) + study_count(study, false, true);
}

bool study_show_fits(const struct study_show *show)
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
                 study_show_current(show)->practice ? _("%zu of %zu, practice") : _("%zu of %zu"),
                 show->at + 1, show->study->count);
    draw_right(&show->canvas, area, 0, ROLE_TITLE, where);
}

/* Each phase has its own set of keys. */
bool study_show_takes(const struct study_show *show, enum action action)
{
    const enum phase phase = show->phase;
    if (action == ACTION_REAL || action == ACTION_GENERATED)
        return phase == PHASE_ASKING;
    if (action == ACTION_OPEN)
        return phase == PHASE_INTRO || phase == PHASE_HALT || phase == PHASE_FEEDBACK;
    if (action == ACTION_HELP)
        return phase != PHASE_SHOWING && phase != PHASE_PAUSE;
    return true;
}

static void draw_hints(struct study_show *show)
{
    const struct rect area = {show->canvas.rows - 1, 1, 1, show->canvas.columns - 2};
    int column = 0;
    for (size_t i = 0; i < study_show_keys.count; i++) {
        const struct key_binding *binding = &study_show_keys.bindings[i];
        const char *name = gettext(binding->name);
        if (!study_show_takes(show, binding->action))
            continue;
        column = draw_format(&show->canvas, area, 0, column, ROLE_KEY, "%.*s",
                             (int)strcspn(name, " "), name);
        column =
            draw_format(&show->canvas, area, 0, column, ROLE_FAINT, " %s", gettext(binding->hint)) +
            2;
    }
}

static void draw_intro(struct study_show *show)
{
    struct canvas *canvas = &show->canvas;
    const struct rect area = body_of(show);
    const size_t count = show->study->count, practice = study_show_practice_count(show->study);
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
    const bool generated = study_show_current(show)->generated;
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
        layout_dialog(show->canvas.rows, show->canvas.columns, (int)study_show_keys.count + 4, 66);
    const struct rect inside = draw_box(&show->canvas, area, gettext(study_show_keys.title));
    int names = 0;
    for (size_t i = 0; i < study_show_keys.count; i++) {
        const int columns = (int)columns_of(gettext(study_show_keys.bindings[i].name));
        names = columns > names ? columns : names;
    }
    for (size_t i = 0; i < study_show_keys.count; i++) {
        draw_text(&show->canvas, inside, (int)i + 1, 0, ROLE_KEY,
                  gettext(study_show_keys.bindings[i].name));
        draw_text(&show->canvas, inside, (int)i + 1, names + 2, ROLE_TEXT,
                  gettext(study_show_keys.bindings[i].help));
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
    if (!study_show_fits(show)) {
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

void study_show_draw(struct study_show *show)
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
    if (show->phase == PHASE_SHOWING && study_show_fits(show))
        send_picture(show);
    if (show->phase == PHASE_ASKING && !show->overlay && study_show_fits(show) && !show->asked)
        show->asked = clock_nanoseconds();
}
