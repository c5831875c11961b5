/* Drawing of the layers of a quantized model: what rounding does to each of them. */
#include "ui/screens/models/internal.h"

#include "ui/app/app.h"

#include "base/language.h"
#include "ui/widgets/table.h"

#include <math.h>
#include <stdio.h>

enum {
    COLUMN_LAYER,
    COLUMN_WEIGHTS,
    COLUMN_OUTPUT_DB,
    COLUMN_TOP1,
    COLUMN_WEIGHTS_DB,
    COLUMN_LOSS,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_LAYER] = {N_("Layer"), 16, 0, false, true},
    [COLUMN_WEIGHTS] = {N_("Weights"), 7, 1, false, false},
    [COLUMN_OUTPUT_DB] = {N_("Output dB"), 9, 0, true, false},
    [COLUMN_TOP1] = {N_("Alone: points"), 13, 0, true, false},
    [COLUMN_WEIGHTS_DB] = {N_("Weights dB"), 10, 2, true, false},
    [COLUMN_LOSS] = {N_("Alone: loss"), 11, 3, true, false}};

/* Writes a change with its sign, or "-" if it was not measured. */
static void change(double value, int digits, char *text, size_t size)
{
    if (isfinite(value))
        snprintf(text, size, "%+.*f", digits, value);
    else
        snprintf(text, size, "-");
}

static void decibels(double value, char *text, size_t size)
{
    if (isfinite(value))
        snprintf(text, size, "%.1f", value);
    else
        snprintf(text, size, "-");
}

static void cell_text(const struct model_layer *layer, int column, char *text, size_t size)
{
    switch (column) {
    case COLUMN_LAYER:
        snprintf(text, size, "%s", layer->name);
        break;
    case COLUMN_WEIGHTS:
        snprintf(text, size, "%s", layer->int8 ? "int8" : "float32");
        break;
    case COLUMN_OUTPUT_DB:
        decibels(layer->output_sqnr, text, size);
        break;
    case COLUMN_TOP1: /* what is lost is a change downwards */
        change(0 - layer->top1_loss, 2, text, size);
        break;
    case COLUMN_WEIGHTS_DB:
        decibels(layer->weight_sqnr, text, size);
        break;
    default:
        change(layer->loss_rise, 4, text, size);
    }
}

static void draw_line(struct app *app, struct rect line, const struct model_layer *layer,
                      const int *starts, const int *widths)
{
    char text[NODE_NAME_SIZE];
    for (int c = 0; c < COLUMNS; c++) {
        const struct rect cell = {line.row, line.column + starts[c], 1, widths[c]};
        const enum role role = layer ? ROLE_TEXT : ROLE_HEADING;
        if (widths[c] == 0)
            continue;
        if (layer)
            cell_text(layer, c, text, sizeof text);
        else
            snprintf(text, sizeof text, "%s", gettext(columns[c].title));
        if (columns[c].right)
            draw_right(&app->canvas, cell, 0, role, text);
        else
            draw_fitted_name(&app->canvas, cell, 0, 0, role, text);
    }
}

void models_draw_layers(struct app *app, struct rect area)
{
    struct models_model *model = models_model(app);
    const struct model_layers *layers = models_model_layers(model);
    int starts[COLUMNS], widths[COLUMNS];
    if (layers->count == 0) {
        draw_wrapped(&app->canvas, area, 0, ROLE_FAINT,
                     _("This model is not quantized: tinca quantize makes one that is, with a "
                       "report of its layers. v goes to the table, to select another model."));
        return;
    }
    if (area.rows < 3)
        return;
    draw_format(&app->canvas, area, 0, 0, ROLE_FAINT,
                _("signal to quantization noise; alone: this layer alone in int8, %zu images"),
                layers->images);
    table_fit(columns, COLUMNS, area.columns, starts, widths);
    draw_line(app, (struct rect){area.row + 1, area.column, 1, area.columns}, NULL, starts, widths);
    model->page = area.rows - 2;
    for (size_t i = 0; i < (size_t)model->page && model->layer + i < layers->count; i++)
        draw_line(app, (struct rect){area.row + 2 + (int)i, area.column, 1, area.columns},
                  &layers->list[model->layer + i], starts, widths);
}
