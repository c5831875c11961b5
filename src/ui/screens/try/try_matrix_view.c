/* The confusion matrix: rows are true classes, columns predicted classes; at the right each class's
 * number of images and accuracy. The headings of the columns are class numbers; the rows show
 * number and name. The file also draws the list of classes. */
#include "ui/screens/try/internal.h"

#include "base/language.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"
#include "ui/widgets/short_names.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NUMBERS = 16 }; /* columns of a class's number of images and accuracy */

static int digits_of(size_t number)
{
    int digits = 1;
    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

static int cell_width(const struct confusion *confusion)
{
    size_t most = confusion->classes;
    for (size_t c = 0; c < confusion->classes; c++)
        most = confusion->totals[c] > most ? confusion->totals[c] : most;
    return 1 + digits_of(most);
}

static void write_name(const void *context, size_t label, char *text, size_t size)
{
    snprintf(text, size, "%s", try_model_class_name(context, label));
}

/* Makes the names of all classes in `columns` columns. */
static void shorten_names(const struct try_model *model, const struct canvas *canvas, int columns,
                          struct short_names *names)
{
    short_names_make(names, model->confusion.classes, columns, canvas->glyphs->cut, write_name,
                     model);
}

/* Draws a class's number and its name, shortened if need be. */
static void draw_name(const struct try_model *model, const struct short_names *names,
                      struct canvas *canvas, struct rect cell, size_t label, enum role role)
{
    const int digits = digits_of(model->confusion.classes);
    draw_format(canvas, cell, 0, 0, role, "%*zu", digits, label);
    draw_text(canvas, cell, 0, digits + 1, role,
              short_names_get(names, label, try_model_class_name(model, label)));
}

static int name_width(const struct try_model *model, int columns)
{
    int widest = 0;
    for (size_t c = 0; c < model->confusion.classes; c++) {
        int width = (int)columns_of(try_model_class_name(model, c));
        widest = width > widest ? width : widest;
    }
    widest += digits_of(model->confusion.classes) + 1;
    return widest < columns / 3 ? widest : columns / 3;
}

static void draw_accuracy(const struct confusion *confusion, struct canvas *canvas,
                          struct rect cell, size_t label, enum role role)
{
    const double accuracy = confusion_accuracy(confusion, label);
    char text[48];
    if (isnan(accuracy))
        snprintf(text, sizeof text, "0       -");
    else
        snprintf(text, sizeof text, "%u %6.2f%%", (unsigned)confusion->totals[label], accuracy);
    draw_right(canvas, cell, 0, role, text);
}

struct grid {
    struct rect area;
    int name, width;      /* columns of a row's name and of a cell */
    size_t rows, columns; /* number shown */
    bool figures;
};

static struct grid lay_out(const struct try_model *model, struct rect area)
{
    struct grid grid = {area,
                        name_width(model, area.columns),
                        cell_width(&model->confusion),
                        0,
                        0,
                        area.columns >= 56};
    const int room = area.columns - grid.name - 1 - (grid.figures ? NUMBERS : 0);
    grid.rows = area.rows > 2 ? (size_t)area.rows - 2 : 0;
    grid.columns = room > grid.width ? (size_t)(room / grid.width) : 1;
    if (grid.columns > model->confusion.classes)
        grid.columns = model->confusion.classes;
    return grid;
}

static void draw_matrix_row(const struct try_model *model, const struct short_names *names,
                            struct canvas *canvas, const struct grid *grid, size_t nth)
{
    const struct confusion *confusion = &model->confusion;
    const size_t label = model->top + nth;
    const int row = grid->area.row + 1 + (int)nth;
    const bool here = label == model->row;
    struct rect name = {row, grid->area.column, 1, grid->name};
    draw_name(model, names, canvas, name, label, here ? ROLE_STRONG : ROLE_TEXT);
    struct rect cell = {row, name.column + grid->name + 1, 1, grid->width};
    for (size_t i = 0; i < grid->columns; i++, cell.column += grid->width) {
        const size_t guess = model->left + i;
        const uint32_t count = confusion_count(confusion, label, guess);
        const bool selected = here && guess == model->column;
        char text[16] = ".";
        if (count)
            snprintf(text, sizeof text, "%u", (unsigned)count);
        enum role role = label == guess ? ROLE_GOOD : count ? ROLE_TEXT : ROLE_FAINT;
        if (selected) {
            draw_fill(canvas, cell, ROLE_FOCUS);
            draw_cursor(canvas, cell, 0, 0);
            role = ROLE_FOCUS;
        }
        draw_right(canvas, cell, 0, role, text);
        targets_add_cell(&canvas->targets, cell, (struct target_cell){label, guess},
                         (struct target_cell){model->row, model->column});
    }
    struct rect figures = {row, grid->area.column + grid->area.columns - NUMBERS, 1, NUMBERS};
    if (grid->figures)
        draw_accuracy(confusion, canvas, figures, label, ROLE_TEXT);
}

static void draw_heads(const struct try_model *model, struct canvas *canvas,
                       const struct grid *grid)
{
    const struct rect *area = &grid->area;
    struct rect cell = {area->row, area->column + grid->name + 1, 1, grid->width};
    struct rect name = {area->row, area->column, 1, grid->name};
    if ((int)columns_of(_("true, predicted")) <= name.columns)
        draw_text(canvas, name, 0, 0, ROLE_FAINT, _("true, predicted"));
    for (size_t i = 0; i < grid->columns; i++, cell.column += grid->width) {
        char text[16];
        snprintf(text, sizeof text, "%zu", model->left + i);
        draw_right(canvas, cell, 0, model->left + i == model->column ? ROLE_STRONG : ROLE_HEADING,
                   text);
    }
    struct rect figures = {area->row, area->column + area->columns - NUMBERS, 1, NUMBERS};
    if (grid->figures)
        draw_right(canvas, figures, 0, ROLE_HEADING, _("images  right"));
}

static void draw_cell_words(const struct try_model *model, struct canvas *canvas, struct rect line)
{
    const uint32_t count = confusion_count(&model->confusion, model->row, model->column);
    char text[256], row[96], column[96];
    const size_t room = line.columns > 56 ? (size_t)(line.columns - 40) / 2 : 8;
    const char *cut = canvas->glyphs->cut;
    columns_fit_middle(try_model_class_name(model, model->row), room, cut, row, sizeof row);
    columns_fit_middle(try_model_class_name(model, model->column), room, cut, column,
                       sizeof column);
    if (count == 0)
        snprintf(text, sizeof text, _("%s predicted as %s: never"), row, column);
    else if (model->row == model->column)
        snprintf(text, sizeof text,
                 ngettext("%s classified correctly: %u image; Enter shows it",
                          "%s classified correctly: %u images; Enter shows them", count),
                 row, (unsigned)count);
    else
        snprintf(text, sizeof text,
                 ngettext("%s predicted as %s: %u image; Enter shows it",
                          "%s predicted as %s: %u images; Enter shows them", count),
                 row, column, (unsigned)count);
    draw_text(canvas, line, 0, 0, ROLE_STRONG, text);
}

static bool nothing_yet(const struct try_model *model, struct canvas *canvas, struct rect area)
{
    if (model->confusion.counts)
        return false;
    draw_wrapped(canvas, area, 1, ROLE_FAINT,
                 model->status.images > 0 || model->status.phase == PROBE_OPENING
                     ? _("No image was evaluated yet.")
                     : _("There is no data set: d asks for one."));
    return true;
}

void try_draw_matrix(struct try_model *model, struct canvas *canvas, struct rect area)
{
    if (nothing_yet(model, canvas, area))
        return;
    const struct grid grid = lay_out(model, area);
    const size_t classes = model->confusion.classes;
    model->top = listing_scroll(model->top, model->row, grid.rows, classes);
    model->left = listing_scroll(model->left, model->column, grid.columns, classes);
    draw_heads(model, canvas, &grid);
    struct short_names names;
    shorten_names(model, canvas, grid.name - digits_of(classes) - 1, &names);
    for (size_t i = 0; i < grid.rows && model->top + i < classes; i++)
        draw_matrix_row(model, &names, canvas, &grid, i);
    short_names_free(&names);
    const struct glyphs *glyphs = canvas->glyphs;
    struct rect last = {area.row + area.rows - 1, area.column, area.rows > 2, area.columns};
    draw_cell_words(model, canvas, last);
    if (model->left + grid.columns < classes)
        draw_text(canvas, area, 0, grid.name + 1 + (int)grid.columns * grid.width, ROLE_FAINT,
                  glyphs->right);
    if (model->left > 0)
        draw_text(canvas, area, 0, grid.name, ROLE_FAINT, glyphs->left);
}

/* --- the list of classes --- */

enum { NUMBER, CLASS, IMAGES, RIGHT, BAR, MISTAKEN, COLUMNS };
static const struct listing_column columns[COLUMNS] = {
    [NUMBER] = {"#", 4, 0, true, false},
    [CLASS] = {N_("class"), 10, 0, false, true},
    [IMAGES] = {N_("images"), 6, 2, true, false},
    [RIGHT] = {N_("right"), 8, 0, true, false},
    [BAR] = {"", 12, 3, false, false},
    [MISTAKEN] = {N_("most often predicted as"), 20, 1, false, true},
};

static void class_text(const struct try_model *model, size_t label, int column, char *text,
                       size_t size)
{
    const struct confusion *confusion = &model->confusion;
    size_t count;
    text[0] = '\0';
    if (column == NUMBER)
        snprintf(text, size, "%zu", label);
    else if (column == CLASS)
        snprintf(text, size, "%s", try_model_class_name(model, label));
    else if (column == IMAGES)
        snprintf(text, size, "%u", (unsigned)confusion->totals[label]);
    else if (column == RIGHT && confusion->totals[label])
        snprintf(text, size, "%.2f %%", confusion_accuracy(confusion, label));
    else if (column == RIGHT)
        snprintf(text, size, "-");
    else if (column == MISTAKEN) {
        size_t guess = try_model_most_confused(model, label, &count);
        if (count)
            snprintf(text, size, "%s (%zu)", try_model_class_name(model, guess), count);
    }
}

static void draw_class(const struct try_model *model, const struct short_names *names,
                       struct canvas *canvas, struct rect line, size_t label, bool selected,
                       const int *starts, const int *widths)
{
    const enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
    if (selected) {
        draw_fill(canvas, line, ROLE_FOCUS);
        draw_text(canvas, line, 0, 0, ROLE_FOCUS, ">");
        draw_cursor(canvas, line, 0, 0);
    }
    for (int i = 0; i < COLUMNS; i++) {
        struct rect cell = {line.row, line.column + 1 + starts[i], 1, widths[i]};
        char text[128];
        class_text(model, label, i, text, sizeof text);
        if (i == BAR && widths[i] && model->confusion.totals[label])
            draw_gauge(canvas, cell, 0, 0, widths[i],
                       confusion_accuracy(&model->confusion, label) / 100, ROLE_GAUGE);
        else if (columns[i].right)
            draw_right(canvas, cell, 0, role, text);
        else
            draw_fitted_name(canvas, cell, 0, 0, role,
                             i == CLASS ? short_names_get(names, label, text) : text);
    }
}

void try_draw_classes(struct try_model *model, struct canvas *canvas, struct rect area)
{
    int starts[COLUMNS], widths[COLUMNS];
    if (nothing_yet(model, canvas, area))
        return;
    listing_fit(columns, COLUMNS, area.columns - 2, starts, widths);
    for (int i = 0; i < COLUMNS; i++) {
        struct rect cell = {area.row, area.column + 1 + starts[i], 1, widths[i]};
        const char *title = columns[i].title[0] ? gettext(columns[i].title) : "";
        if (columns[i].right)
            draw_right(canvas, cell, 0, ROLE_HEADING, title);
        else
            draw_text(canvas, cell, 0, 0, ROLE_HEADING, title);
    }
    const size_t rows = area.rows > 1 ? (size_t)area.rows - 1 : 0;
    const size_t classes = model->confusion.classes;
    struct short_names names;
    shorten_names(model, canvas, widths[CLASS], &names);
    model->top = listing_scroll(model->top, model->row, rows, classes);
    for (size_t i = 0; i < rows && model->top + i < classes; i++) {
        struct rect line = {area.row + 1 + (int)i, area.column, 1, area.columns};
        const size_t row = model->top + i;
        draw_class(model, &names, canvas, line, try_model_class(model, row), row == model->row,
                   starts, widths);
        targets_add_row(&canvas->targets, line, row, model->row);
    }
    short_names_free(&names);
}
