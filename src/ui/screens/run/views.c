/* The list of the run screen's views, and their tabs. The first nine have a digit, the last one a
 * letter, since 0 shows the whole curves. */
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "ui/app/app.h"
#include "ui/terminal/columns.h"

static const struct view *const views[] = {
    &view_curves, &view_findings, &view_memory, &view_arena, &view_layers,
    &view_gemm,   &view_weights,  &view_sample, &view_loss,  &view_ranks};
enum { VIEWS = sizeof views / sizeof *views };
static const char view_keys[] = "123456789R";
_Static_assert(sizeof view_keys == VIEWS + 1, "each view has a key");

static bool is_available(const struct view *view, const struct run_entry *entry)
{
    return !view->available || (entry && view->available(entry));
}

const struct view *views_shown(const struct app *app, const struct run_entry *entry)
{
    const struct view *view = views[run_model(app)->view];
    return is_available(view, entry) ? view : views[0];
}

struct insight_table_view *views_table(const struct app *app, const struct view *view)
{
    void *table = (char *)run_model(app) + view->table;
    return view->table > 0 ? table : NULL;
}

bool views_are_offered(const struct run_entry *entry, size_t digit)
{
    return entry && entry->run && digit > 0 && digit <= VIEWS &&
           is_available(views[digit - 1], entry);
}

const char *views_name(size_t digit)
{
    return digit > 0 && digit <= VIEWS ? gettext(views[digit - 1]->name) : NULL;
}

static void show(struct app *app, size_t index)
{
    run_model(app)->view = index;
    run_model(app)->scroll = 0;
}

void views_next(struct app *app, const struct run_entry *entry)
{
    size_t next = run_model(app)->view;
    do
        next = (next + 1) % VIEWS;
    while (!is_available(views[next], entry));
    show(app, next);
}

size_t views_digit(const struct view *view)
{
    size_t index = 0;
    while (views[index] != view)
        index++;
    return index + 1;
}

void views_go(struct app *app, const struct run_entry *entry, size_t digit)
{
    if (digit == 0 || digit > VIEWS)
        app_say(app, ROLE_WARNING, _("There is no such view; the tabs above have their digits."));
    else if (!is_available(views[digit - 1], entry))
        app_say(app, ROLE_WARNING, _("This run has nothing to show there."));
    else
        show(app, digit - 1);
}

/* --- tabs: "1 Curves 2[Findings]3 Memory" --- */

static int tabs_width(const struct run_entry *entry)
{
    int width = 0;
    for (size_t i = 0; i < VIEWS; i++)
        if (is_available(views[i], entry))
            width += 3 + (int)columns_of(gettext(views[i]->name));
    return width;
}

void views_draw_tabs(struct app *app, const struct run_entry *entry, struct rect area)
{
    struct canvas *canvas = &app->canvas;
    const struct view *shown = views_shown(app, entry);
    const bool names = tabs_width(entry) <= area.columns;
    int column = 0;
    if (rect_is_empty(area))
        return;
    for (size_t i = 0; i < VIEWS; i++) {
        const char *name = gettext(views[i]->name);
        if (!is_available(views[i], entry))
            continue;
        const int start = column;
        column = draw_format(canvas, area, 0, column, ROLE_KEY, "%c", view_keys[i]);
        if (views[i] == shown && canvas->cursor_row < 0)
            draw_cursor(canvas, area, 0, column + 1);
        if (views[i] == shown)
            column = draw_format(canvas, area, 0, column, ROLE_STRONG, "[%s]", name);
        else if (names)
            column = draw_format(canvas, area, 0, column, ROLE_FAINT, " %s ", name);
        else
            column = draw_text(canvas, area, 0, column, ROLE_FAINT, " ");
        struct rect tab = {area.row, area.column + start, 1, column - start};
        targets_add(&canvas->targets, tab, view_keys[i], 1);
    }
}
