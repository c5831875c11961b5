/* Drawing of the layers of a quantized model: what rounding does to each of them. */
#include "ui/screens/models/internal.h"

#include "ui/app/app.h"

#include "base/language.h"
#include "ui/widgets/listing.h"

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

static void add_layer(struct table *texts, const struct model_layer *layer)
{
    table_cell(texts, "%s", layer->name);
    table_cell(texts, "%s", layer->int8 ? "int8" : "float32");
    table_number(texts, "%.1f", layer->output_sqnr);
    table_number(texts, "%+.2f", 0 - layer->top1_loss); /* what is lost is a change downwards */
    table_number(texts, "%.1f", layer->weight_sqnr);
    table_number(texts, "%+.4f", layer->loss_rise);
}

void models_draw_layers(struct app *app, struct rect area)
{
    struct models_model *model = models_model(app);
    const struct model_layers *layers = models_model_layers(model);
    struct listing_view view = {.top = model->layer};
    struct table texts = {.columns = COLUMNS};
    const struct listing listing = {columns, &texts, 0, true, true};
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
    for (size_t i = 0; i < layers->count; i++)
        add_layer(&texts, &layers->list[i]);
    area.row++;
    area.rows--;
    listing_draw(&view, &listing, &app->canvas, area);
    model->page = view.page;
    listing_free(&view);
    table_free(&texts);
}
