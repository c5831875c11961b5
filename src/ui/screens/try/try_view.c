/* The view Image: the image on the left, the model's result on the right. For a network that
 * generates images it shows input, generated image and target beside each other. */
#include "ui/screens/try/internal.h"

#include "base/language.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/table.h"

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
