/* The screen Help, made from the tables that dispatch the keys. It begins with the keys of the
 * screen from which it was opened. */
#include "ui/app/app.h"

#include "base/language.h"
#include "ui/terminal/columns.h"

#include <stdio.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {UI_UP, 0, ACTION_UP, N_("Up"), N_("scroll"), NULL},
    {UI_DOWN, 0, ACTION_DOWN, N_("Down"), N_("scroll"), NULL},
    {UI_PAGE_UP, 0, ACTION_PAGE_UP, "PgUp", NULL, NULL},
    {UI_PAGE_DOWN, ' ', ACTION_PAGE_DOWN, "PgDn", N_("page"), NULL},
    {UI_HOME, 0, ACTION_FIRST, N_("Home"), NULL, NULL},
    {UI_END, 0, ACTION_LAST, N_("End"), NULL, NULL},
    {'?', UI_ENTER, ACTION_BACK, "?", N_("close"), NULL},
};
static const struct key_table table = {N_("In the help"), bindings,
                                       sizeof bindings / sizeof *bindings};

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

struct help_state {
    int scroll; /* first line shown */
};

static struct help_state *help_state(const struct app *app)
{
    return app_state(app, SCREEN_HELP);
}

static void act(struct app *app, enum action action)
{
    static const struct {
        enum action action;
        int lines;
    } moves[] = {{ACTION_UP, -1},        {ACTION_DOWN, 1},       {ACTION_PAGE_UP, -10},
                 {ACTION_PAGE_DOWN, 10}, {ACTION_FIRST, -10000}, {ACTION_LAST, 10000}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (moves[i].action == action)
            help_state(app)->scroll += moves[i].lines;
    if (help_state(app)->scroll < 0)
        help_state(app)->scroll = 0;
    if (action == ACTION_BACK)
        app_back(app);
}

/* --- drawing: lines are laid out from the top and drawn from line `scroll` on --- */

struct writer {
    struct app *app;
    struct rect area;
    int line; /* next line, counted from the top of the text */
};

static void put_heading(struct writer *writer, const char *title)
{
    int row = writer->line - help_state(writer->app)->scroll;
    draw_text(&writer->app->canvas, writer->area, row, 1, ROLE_HEADING, gettext(title));
    writer->line++;
}

static void put_entry(struct writer *writer, const char *name, const char *text)
{
    char line[512];
    int indent = writer->area.columns >= 50 ? 14 : 8;
    int beside = (int)columns_of(gettext(name)) + 3; /* a long name shifts its text */
    indent = beside > indent ? beside : indent;
    int width = writer->area.columns - indent - 1;
    bool first = true;
    text = gettext(text);
    while (text && width > 4) {
        int row = writer->line - help_state(writer->app)->scroll;
        text = columns_wrap(text, (size_t)width, line, sizeof line);
        if (first)
            draw_text(&writer->app->canvas, writer->area, row, 2, ROLE_KEY, gettext(name));
        draw_text(&writer->app->canvas, writer->area, row, indent, ROLE_TEXT, line);
        first = false;
        writer->line++;
    }
}

static void put_table(struct writer *writer, const struct key_table *keys)
{
    put_heading(writer, gettext(keys->title));
    for (size_t i = 0; i < keys->count; i++)
        if (keys->bindings[i].help)
            put_entry(writer, keys->bindings[i].name, gettext(keys->bindings[i].help));
    writer->line++;
}

static void draw(struct app *app, struct rect body)
{
    const struct key_table *here =
        app->depth > 1 ? app->screens[app->stack[app->depth - 2]]->keys : NULL;
    struct writer writer = {app, body, 0};
    if (here)
        put_table(&writer, here);
    put_table(&writer, &keys_everywhere);
    put_table(&writer, &keys_editing);
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        if (i != SCREEN_HELP && app->screens[i]->keys && app->screens[i]->keys != here)
            put_table(&writer, app->screens[i]->keys);
    put_heading(&writer, N_("The menu (m)"));
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        put_entry(&writer, (char[2]){(char)app->screens[i]->letter},
                  gettext(app->screens[i]->purpose));
    writer.line++;
    put_heading(&writer, N_("Words and marks"));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        put_entry(&writer, words[i].word, words[i].meaning);
    int furthest = writer.line > body.rows ? writer.line - body.rows : 0;
    if (help_state(app)->scroll > furthest) { /* draws again, so that the text fills the screen */
        help_state(app)->scroll = furthest;
        draw_fill(&app->canvas, body, ROLE_TEXT);
        draw(app, body);
        return;
    }
    if (help_state(app)->scroll > 0)
        draw_right(&app->canvas, body, 0, ROLE_FAINT, app->canvas.glyphs->up);
    if (help_state(app)->scroll < furthest)
        draw_right(&app->canvas, body, body.rows - 1, ROLE_FAINT, app->canvas.glyphs->down);
    draw_cursor(&app->canvas, body, 0, 1);
}

static void open(struct app *app)
{
    help_state(app)->scroll = 0;
}

const struct screen help_screen = {
    .name = N_("Help"),
    .letter = 'h',
    .purpose = N_("every key, and the words used"),
    .keys = &table,
    .state_size = sizeof(struct help_state),
    .open = open,
    .act = act,
    .draw = draw,
};
