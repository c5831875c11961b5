/* The view Image: the image on the left, the model's result on the right. For a network that
 * generates images it shows input, generated image and target beside each other. */
#include "ui/screens/try/internal.h"

#include "base/language.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- state of the evaluation --- */

static void write_result(const struct try_model *model, char *text, size_t size)
{
    const struct evaluation *evaluation = &model->status.evaluation;
    if (try_model_makes_pictures(model))
        snprintf(text, size, _("pixel accuracy %.2f %% (within %g of 255), %zu pairs"),
                 evaluation->pixel_accuracy, model->request.tolerance, evaluation->images);
    else
        snprintf(text, size, _("top-1 %.2f %%, top-5 %.2f %%, %zu images"), evaluation->top1,
                 evaluation->top5, evaluation->images);
}

/* Writes the result in fewer words, for a narrow terminal. */
static void write_short(const struct try_model *model, char *text, size_t size)
{
    const struct confusion *confusion = &model->confusion;
    if (confusion->images == 0)
        snprintf(text, size, _("%zu of %zu seen"), model->status.outcome_count,
                 model->status.images);
    else
        snprintf(text, size, _("%zu of %zu seen, top-1 %.2f %%"), model->status.outcome_count,
                 model->status.images,
                 100.0 * (double)confusion->right / (double)confusion->images);
}

static void write_progress(const struct try_model *model, char *text, size_t size)
{
    const struct confusion *confusion = &model->confusion;
    if (confusion->images > 0)
        snprintf(text, size, _("%zu of %zu images seen, top-1 so far %.2f %%"),
                 model->status.outcome_count, model->status.images,
                 100.0 * (double)confusion->right / (double)confusion->images);
    else
        snprintf(text, size, _("%zu of %zu images seen"), model->status.outcome_count,
                 model->status.images);
}

void try_draw_status(const struct try_model *model, struct canvas *canvas, struct rect area,
                     int row, int column)
{
    char text[160] = "";
    enum role role = ROLE_TEXT;
    if (model->status.phase == PROBE_OPENING)
        snprintf(text, sizeof text, "%s", _("opening the model ..."));
    else if (area.columns < 64 && model->status.images > 0)
        write_short(model, text, sizeof text);
    else if (model->status.images > 0 && !model->status.evaluated)
        write_progress(model, text, sizeof text);
    else if (model->status.evaluated)
        write_result(model, text, sizeof text);
    else if (model->status.phase == PROBE_READY) {
        role = ROLE_WARNING;
        snprintf(text, sizeof text, "%s", _("no data set: i asks for an image, d for a data set"));
    }
    draw_text(canvas, area, row, column, role, text);
}

/* --- one image --- */

static int widest_name(const struct try_model *model, int most)
{
    int widest = 1;
    for (size_t i = 0; i < model->answer.top_count; i++) {
        int columns = (int)columns_of(try_model_class_name(model, model->answer.top[i].label));
        widest = columns > widest ? columns : widest;
    }
    return widest < most ? widest : most;
}

static void write_name(const void *context, size_t index, char *text, size_t size)
{
    const struct try_model *model = context;
    snprintf(text, size, "%s", try_model_class_name(model, model->answer.top[index].label));
}

/* Draws a bar for each of the most probable classes. A character marks the true class, as its
 * colour does. */
static void draw_bars(const struct try_model *model, struct canvas *canvas, struct rect area,
                      int row)
{
    const struct probe_answer *answer = &model->answer;
    const int name = widest_name(model, area.columns / 2), figure = 9;
    const int bar = area.columns - 2 - name - 1 - figure;
    struct short_names names;
    short_names_make(&names, answer->top_count, name, canvas->glyphs->cut, write_name, model);
    for (size_t i = 0; i < answer->top_count; i++, row++) {
        const struct prediction *top = &answer->top[i];
        const bool truth = answer->labelled && answer->label == top->label;
        const enum role role = truth ? ROLE_GOOD : i == 0 ? ROLE_STRONG : ROLE_TEXT;
        struct rect cell = {area.row, area.column + 2, area.rows, name};
        draw_text(canvas, area, row, 0, ROLE_GOOD, truth ? "*" : " ");
        draw_text(canvas, cell, row, 0, role,
                  short_names_get(&names, i, try_model_class_name(model, top->label)));
        if (bar > 0)
            draw_gauge(canvas, area, row, 2 + name + 1, bar, (double)top->probability,
                       truth ? ROLE_GOOD : ROLE_GAUGE);
        draw_format(canvas, area, row, area.columns - figure + 1, role, "%6.2f %%",
                    100 * (double)top->probability);
    }
    short_names_free(&names);
}

/* Draws the true class and whether the model has found it. Returns the row after. */
static int draw_truth(const struct try_model *model, struct canvas *canvas, struct rect area,
                      int row)
{
    const struct probe_answer *answer = &model->answer;
    if (answer->unranked)
        return draw_wrapped(canvas, area, row, ROLE_BAD,
                            _("It predicts no class: the network's output is NaN."));
    if (!answer->labelled || answer->top_count == 0)
        return row;
    const bool right = answer->top[0].label == answer->label;
    char text[192];
    if (right)
        snprintf(text, sizeof text, _("Right: it is %s."),
                 try_model_class_name(model, answer->label));
    else
        snprintf(text, sizeof text, _("Wrong: it is %s, predicted as %s."),
                 try_model_class_name(model, answer->label),
                 try_model_class_name(model, answer->top[0].label));
    return draw_wrapped(canvas, area, row, right ? ROLE_GOOD : ROLE_BAD, text);
}

static void write_place(const struct try_model *model, char *text, size_t size)
{
    size_t place, count = try_model_count(model, &place);
    const char *truth = try_model_class_name(model, model->label);
    if (model->answer.path[0])
        snprintf(text, size, "%s", _("an image file"));
    else if (model->walk == WALK_WRONG)
        snprintf(text, size, _("%zu of the %zu misclassified"), place, count);
    else if (model->walk == WALK_CELL)
        snprintf(text, size, _("%zu of the %zu of %s predicted as %s"), place, count, truth,
                 try_model_class_name(model, model->guess));
    else if (model->walk == WALK_CLASS)
        snprintf(text, size, _("%zu of the %zu of %s misclassified"), place, count, truth);
    else
        snprintf(text, size, _("image %zu of %zu"), place, count);
}

static void draw_verdict(const struct try_model *model, struct canvas *canvas, struct rect area)
{
    char place[192];
    write_place(model, place, sizeof place);
    int row = draw_wrapped(canvas, area, 0, ROLE_HEADING, place);
    if (area.rows >= 9)
        row = draw_wrapped(canvas, area, row, ROLE_FAINT, model->answer.origin);
    row = draw_truth(model, canvas, area, row);
    row += area.rows - row > PROBE_TOP;
    draw_bars(model, canvas, area, row);
}

static void draw_classified(struct try_model *model, struct canvas *canvas, struct rect area)
{
    const int half = area.columns / 2 - 1;
    const int wide = area.rows * 2 < half ? area.rows * 2 : half;
    struct rect room = {area.row, area.column, area.rows, wide};
    int left = 0;
    if (wide >= 8 && try_model_make_cells(model, room)) {
        room.columns = (int)model->cells[0].columns;
        draw_halfblocks(canvas, room, &model->cells[0]);
        left = room.columns + 2;
    }
    struct rect side = {area.row, area.column + left, area.rows, area.columns - left};
    if (side.columns > 60)
        side.columns = 60;
    draw_verdict(model, canvas, side);
}

/* --- networks that generate images --- */

static void draw_pictures(struct try_model *model, struct canvas *canvas, struct rect area)
{
    static const char *const words[] = {N_("input"), N_("generated"), N_("target")};
    const int count = (int)model->answer.picture_count;
    struct rect room = {area.row + 1, area.column, area.rows - 1,
                        count ? (area.columns - 2 * count) / count : 0};
    if (!try_model_make_cells(model, room))
        return;
    for (int i = 0, column = 0; i < count; i++) {
        const struct halfblocks *cells = &model->cells[i];
        struct rect place = {room.row, area.column + column, room.rows, (int)cells->columns};
        struct rect label = {area.row, area.column + column, 1, (int)cells->columns};
        draw_text(canvas, label, 0, 0, ROLE_HEADING, gettext(words[i]));
        draw_halfblocks(canvas, place, cells);
        column += (int)cells->columns + 2;
    }
}

static void draw_translated(struct try_model *model, struct canvas *canvas, struct rect area)
{
    const struct outcome *outcome =
        model->answer.path[0] ? NULL : try_model_outcome(model, model->answer.index);
    char place[192];
    write_place(model, place, sizeof place);
    int column = draw_text(canvas, area, area.rows - 1, 0, ROLE_HEADING, place) + 2;
    if (outcome)
        column = draw_format(canvas, area, area.rows - 1, column, ROLE_STRONG,
                             _("pixel accuracy %.2f %%"), 100 * (double)outcome->share) +
                 2;
    draw_fitted_name(canvas, area, area.rows - 1, column, ROLE_FAINT, model->answer.origin);
    area.rows--;
    draw_pictures(model, canvas, area);
}

void try_draw_image(struct try_model *model, struct canvas *canvas, struct rect area)
{
    char text[1100];
    draw_cursor(canvas, area, 0, 0);
    if (!model->answered && model->status.images > 0)
        draw_text(canvas, area, 1, 0, ROLE_FAINT, _("Waiting for the first image ..."));
    else if (!model->answered && model->status.phase == PROBE_READY)
        draw_wrapped(canvas, area, 1, ROLE_FAINT,
                     _("The model is open. i asks for an image file; d for a data set to walk "
                       "through."));
    if (!model->answered)
        return;
    if (model->answer.error.kind != ERROR_NONE)
        draw_wrapped(canvas, area, 1, ROLE_BAD,
                     error_format(&model->answer.error, text, sizeof text));
    else if (try_model_makes_pictures(model))
        draw_translated(model, canvas, area);
    else
        draw_classified(model, canvas, area);
}

/* --- matrix and classes ---
 *
 * The confusion matrix: rows are true classes, columns predicted classes; at the right each class's
 * number of images and accuracy. The headings of the columns are class numbers; the rows show
 * number and name. The file also draws the list of classes. */

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

static void write_class(const void *context, size_t label, char *text, size_t size)
{
    snprintf(text, size, "%s", try_model_class_name(context, label));
}

/* Makes the names of all classes in `columns` columns. */
static void shorten_names(const struct try_model *model, const struct canvas *canvas, int columns,
                          struct short_names *names)
{
    short_names_make(names, model->confusion.classes, columns, canvas->glyphs->cut, write_class,
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
