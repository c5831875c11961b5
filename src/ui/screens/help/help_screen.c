/* The screen Help, made from the lists of actions that dispatch the keys. It begins with those keys
 * of the screen from which it was opened that do something there now. A search leaves only the
 * entries in which the text occurs; n and N step through them. */
#include "ui/app/app.h"

#include "base/language.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/line_edit.h"
#include "ui/widgets/listing.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *word, *meaning;
} words[] = {
    {N_("smoothed"),
     N_("the mean of the last N losses where --average-loss N is above 1; else an exponential mean "
        "over 10 iterations + 2 % of those done")},
    {N_("raw"),
     N_("every iteration's loss; where many share a column, from the least to the greatest")},
    {N_("best epoch"), N_("the one with the best validation accuracy; its weights are saved")},
    {N_("Caffe's mean"),
     N_("the running mean as Caffe prints it, with the drift of its rounding errors")},
    {N_("exact mean"), N_("the same mean of the same losses, without drift: it is never negative")},
    {N_("letters"),
     N_("on the curves and before their names where several share a plot; Y lists them")},
    {"v", N_("on a log axis: a value at or below zero, which has no place there; the legend counts "
             "them")},
    {"<>", N_("the plot is zoomed (0 shows all again), or follows the newest points")},
    {"!", N_("a finding begins there: v shows it")},
    {N_("ms/image"), N_("milliseconds of an iteration divided by the batch; now, and the median")},
    {N_("J/image"),
     N_("energy of training, divided by the images, and the power; where it is not known, the "
        "report (e) says why")},
    {"~2", N_("in a comparison: the difference between the times of this row and of row 2 is not "
              "significant")},
    {"?", N_("in a comparison: not measured; the selected row says which command would")},
    {N_("arena"),
     N_("the memory of a plan: where each layer's values and gradients lie, and when")},
    {"GEMM", N_("matrix products; nn, nt and tn say which operand is transposed")},
    {N_("UPDATE/W"), N_("how far a step moved the weights, by their size; about 1e-3 is usual")},
    {N_("memory"), N_("memory of the program, and the plan's forecast for the run")},
};

enum { PAGE = 10, END = 10000 /* lines by which a key scrolls */ };

struct help_state {
    int scroll;                /* first line shown */
    struct search_line search; /* "": every entry is shown */
    size_t found, current; /* entries in which the text occurs, and the one that n has reached */
    bool follow;           /* the next frame scrolls to that entry */
};

static struct help_state *help_state(const struct app *app)
{
    return app_state(app, SCREEN_HELP);
}

/* --- keys --- */

static bool take_key(struct app *app, int key)
{
    struct help_state *state = help_state(app);
    if (!search_line_key(&state->search, key))
        return false;
    state->current = 0;
    state->follow = true;
    return true;
}

static void go_to_found(struct app *app, size_t steps)
{
    struct help_state *state = help_state(app);
    if (!state->search.edit.text[0] || state->found == 0) {
        app_say(app, ROLE_FAINT, "%s",
                state->search.edit.text[0] ? _("Nothing was found.")
                                           : _("/ searches; n goes to the next entry then."));
        return;
    }
    state->current = (state->current + steps) % state->found;
    state->follow = true;
}

static void next(struct app *app)
{
    go_to_found(app, 1);
}

static void previous(struct app *app)
{
    go_to_found(app, help_state(app)->found > 0 ? help_state(app)->found - 1 : 0);
}

static const char *refuses_found(const struct app *app)
{
    const struct help_state *state = help_state(app);
    return state->search.edit.text[0] && state->found > 0 ? NULL : ACTION_EXPLAINS;
}

static void scroll(struct app *app, int how)
{
    int *line = &help_state(app)->scroll;
    *line += (int)move_steps(how, PAGE, END);
    *line = *line > 0 ? *line : 0; /* drawing limits it to the last line */
}

static void search(struct app *app)
{
    search_line_begin(&help_state(app)->search);
}

static const struct action actions[] = {
    {"Up", "up", N_("scroll"), NULL, scroll, NULL, .argument = MOVE_UP},
    {"Down", "down", N_("scroll"), NULL, scroll, NULL, .argument = MOVE_DOWN},
    {"PgUp", "page-up", NULL, NULL, scroll, NULL, .argument = MOVE_PAGE_UP},
    {"PgDn (space)", "page-down", N_("page"), NULL, scroll, NULL, .argument = MOVE_PAGE_DOWN},
#define ACTIONS_ENDS scroll, NULL
#include "ui/app/actions.inc"
    {"/", "search", N_("search"),
     N_("show only entries in which the text occurs; Esc shows all again"), .run = search},
    {"n", "next", N_("next"), N_("the next entry that was found"), .run = next,
     .refused = refuses_found},
    {"N", "previous", NULL, N_("the entry before"), .run = previous, .refused = refuses_found},
    {"? (Enter)", "close", N_("close"), NULL, .run = app_back},
};

/* --- drawing: lines are laid out from the top and drawn from line `scroll` on --- */

struct writer {
    struct app *app;
    struct rect area;
    int line;                 /* next line, counted from the top of the text */
    const char *heading;      /* of the entries that follow, until the first of them is written */
    size_t found;             /* entries written so far */
    int current, current_end; /* lines of the entry that n has reached */
};

static int row_of(const struct writer *writer)
{
    return writer->line - help_state(writer->app)->scroll;
}

/* Draws again what was searched, where it occurs in the text, so that it stands out. */
static void highlight(struct writer *writer, int row, int column, const char *text)
{
    const char *search = help_state(writer->app)->search.edit.text;
    char shown[512];
    for (const char *at = text; search[0] && (at = strcasestr(at, search)); at += strlen(search)) {
        snprintf(shown, sizeof shown, "%.*s", (int)(at - text), text);
        const int start = column + (int)columns_of(shown);
        snprintf(shown, sizeof shown, "%.*s", (int)strlen(search), at);
        draw_text(&writer->app->canvas, writer->area, row, start, ROLE_FOCUS, shown);
    }
}

static void put_heading(struct writer *writer)
{
    if (!writer->heading)
        return;
    writer->line += writer->line > 0;
    draw_text(&writer->app->canvas, writer->area, row_of(writer), 1, ROLE_HEADING, writer->heading);
    writer->heading = NULL;
    writer->line++;
}

/* Writes an entry if it contains what is searched. Both texts are translated already. */
static void put_entry(struct writer *writer, const char *name, const char *text)
{
    char line[512];
    const char *search = help_state(writer->app)->search.edit.text;
    const int start = writer->area.columns >= 50 ? 14 : 8;
    const int beside = (int)columns_of(name) + 3; /* a long name shifts its text */
    const int indent = beside > start ? beside : start;
    const int width = writer->area.columns - indent - 1;
    if (width <= 4 || !(strcasestr(name, search) || strcasestr(text, search)))
        return;
    put_heading(writer);
    const bool current = search[0] && writer->found++ == help_state(writer->app)->current;
    if (current) {
        draw_text(&writer->app->canvas, writer->area, row_of(writer), 0, ROLE_STRONG, ">");
        writer->current = writer->line;
    }
    draw_text(&writer->app->canvas, writer->area, row_of(writer), 2, ROLE_KEY, name);
    highlight(writer, row_of(writer), 2, name);
    for (; text; writer->line++) {
        text = columns_wrap(text, (size_t)width, line, sizeof line);
        draw_text(&writer->app->canvas, writer->area, row_of(writer), indent, ROLE_TEXT, line);
        highlight(writer, row_of(writer), indent, line);
    }
    if (current)
        writer->current_end = writer->line;
}

/* Writes a list of actions; of `here`, the screen below (NULL: any other), only those it offers. */
static void put_actions(struct writer *writer, const struct actions *of, const struct screen *here)
{
    char keys[32];
    writer->heading = of->title ? gettext(of->title) : NULL;
    for (size_t i = 0; i < of->count; i++) {
        const struct action *action = &of->list[i];
        if (action->help && (!here || action_is_offered(writer->app, here, of, action)))
            put_entry(writer, key_names(action->keys, keys, sizeof keys), gettext(action->help));
    }
}

static void put_all(struct writer *writer)
{
    struct app *app = writer->app;
    const struct screen *here =
        app->depth > 1 ? app->screens[app->stack[app->depth - 2]] : app_screen(app);
    if (here != app_screen(app))
        put_actions(writer, &here->actions, here);
    put_actions(writer, &actions_everywhere, here);
    put_actions(writer, &actions_completing, NULL);
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        if (app->screens[i] != here)
            put_actions(writer, &app->screens[i]->actions, NULL);
    writer->heading = _("The menu (m)");
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        put_entry(writer, (char[2]){(char)app->screens[i]->letter},
                  gettext(app->screens[i]->purpose));
    writer->heading = _("Words and marks");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        put_entry(writer, gettext(words[i].word), gettext(words[i].meaning));
}

/* Draws what is searched, and which of the entries found n has reached. */
static void draw_search(struct app *app, struct rect area)
{
    const struct help_state *state = help_state(app);
    char count[48];
    if (state->found > 0)
        snprintf(count, sizeof count, _("%zu of %zu"), state->current + 1, state->found);
    else
        snprintf(count, sizeof count, "%s", _("nothing matches"));
    search_line_draw(&state->search, &app->canvas, area, area.columns - (int)columns_of(count) - 1);
    draw_right(&app->canvas, area, 0, state->found > 0 ? ROLE_FAINT : ROLE_WARNING, count);
}

/* Returns the scroll position nearest to the present one at which the text fills the screen and,
 * after n or a search, the entry found is visible. */
static int wanted_scroll(const struct help_state *state, const struct writer *writer)
{
    const int rows = writer->area.rows, furthest = writer->line > rows ? writer->line - rows : 0;
    int scroll = state->scroll;
    if (state->follow && writer->current_end > scroll + rows)
        scroll = writer->current_end - rows;
    if (state->follow && writer->current - 1 < scroll) /* with the heading above it */
        scroll = writer->current > 0 ? writer->current - 1 : 0;
    return scroll > furthest ? furthest : scroll;
}

static void draw(struct app *app, struct rect body)
{
    struct help_state *state = help_state(app);
    const bool searches = search_line_is_shown(&state->search) && body.rows > 1;
    const struct rect text = {body.row, body.column, body.rows - searches, body.columns};
    struct writer writer = {app, text, 0, NULL, 0, 0, 0};
    put_all(&writer);
    state->found = writer.found;
    const int scroll = wanted_scroll(state, &writer), end = writer.line;
    state->follow = false;
    if (scroll != state->scroll) {
        state->scroll = scroll;
        draw_fill(&app->canvas, body, ROLE_TEXT);
        writer = (struct writer){app, text, 0, NULL, 0, 0, 0};
        put_all(&writer);
    }
    draw_scroll_marks(&app->canvas, text, scroll > 0, scroll + text.rows < end);
    draw_cursor(&app->canvas, text, searches ? writer.current - scroll : 0, searches ? 0 : 1);
    if (searches)
        draw_search(app, (struct rect){body.row + body.rows - 1, body.column, 1, body.columns});
}

static void open(struct app *app)
{
    *help_state(app) = (struct help_state){0};
}

static const struct actions *over(const struct app *app)
{
    return help_state(app)->search.typing ? &actions_editing : NULL;
}

const struct screen help_screen = {
    .name = N_("Help"),
    .letter = 'h',
    .purpose = N_("every key, and the words used"),
    .actions = {ACTIONS(N_("In the help"), actions)},
    .state_size = sizeof(struct help_state),
    .open = open,
    .take_key = take_key,
    .over = over,
    .draw = draw,
};
