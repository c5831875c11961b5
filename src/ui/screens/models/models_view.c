/* Drawing of the screen Models: tabs, a line of state, the table or the plot, and below it the
 * figures of the selected model with their intervals. */
#include "ui/screens/models/internal.h"

#include "ui/app/app.h"

#include "base/language.h"
#include "base/text.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- the table --- */

static const struct listing_column columns[] = {
    {"", 1, 0, false, false},          {N_("Name"), 22, 0, false, true},
    {N_("Top-1"), 7, 0, true, false},  {N_("ms"), 8, 1, true, false},
    {N_("Bytes"), 9, 2, true, false},  {N_("FLOPs"), 7, 3, true, false},
    {N_("Param."), 7, 5, true, false}, {N_("J/image"), 8, 7, true, false},
    {"E_P", 8, 6, true, false},        {N_("Front"), 5, 4, false, false}};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Writes a letter for each front that the row is on: t (time), b (bytes), f (FLOPs). */
static void fronts(unsigned front, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s%s", front & MODEL_FRONT_MS ? "t" : "",
             front & MODEL_FRONT_BYTES ? "b" : "", front & MODEL_FRONT_FLOPS ? "f" : "",
             front ? "" : "-");
}

static void add_row(struct table *texts, const struct model_row *row, size_t number)
{
    char text[32];
    const struct model_description *facts = &row->figures.facts;
    const struct run_figures figures = model_row_figures(row);
    table_cell(texts, "%c", models_model_mark(number));
    table_cell(texts, "%s", facts->name);
    table_number(texts, "%.2f", figures.top1);
    table_number(texts, "%.4g", figures.ms);
    table_cell(texts, "%s", text_bytes(facts->bytes, text, sizeof text));
    table_cell(texts, "%s", text_si((double)facts->flops, text, sizeof text));
    table_cell(texts, "%s", text_si((double)facts->parameters, text, sizeof text));
    table_number(texts, "%.4g", figures.joules);
    table_number(texts, "%.4g", figures.e_p * 1e3);
    fronts(row->front, text, sizeof text);
    table_cell(texts, "%s", text);
}

static void draw_table(struct app *app, struct rect area)
{
    struct models_model *model = models_model(app);
    struct listing_view view = {.selected = model->selected, .top = model->top};
    struct table texts = {.columns = COLUMNS};
    const struct listing listing = {columns, &texts, 0, true, false};
    for (size_t i = 0; i < model->table.count; i++)
        add_row(&texts, &model->table.rows[i], i);
    listing_draw(&view, &listing, &app->canvas, area);
    model->top = view.top;
    model->page = view.page;
    listing_free(&view);
    table_free(&texts);
}

/* --- the layers of a quantized model --- */

static const struct listing_column layer_columns[] = {
    {N_("Layer"), 16, 0, false, true},      {N_("Weights"), 7, 1, false, false},
    {N_("Output dB"), 9, 0, true, false},   {N_("Alone: points"), 13, 0, true, false},
    {N_("Weights dB"), 10, 2, true, false}, {N_("Alone: loss"), 11, 3, true, false}};
enum { LAYER_COLUMNS = sizeof layer_columns / sizeof *layer_columns };

static void add_layer(struct table *texts, const struct model_layer *layer)
{
    table_cell(texts, "%s", layer->name);
    table_cell(texts, "%s", layer->int8 ? "int8" : "float32");
    table_number(texts, "%.1f", layer->output_sqnr);
    table_number(texts, "%+.2f", 0 - layer->top1_loss); /* what is lost is a change downwards */
    table_number(texts, "%.1f", layer->weight_sqnr);
    table_number(texts, "%+.4f", layer->loss_rise);
}

static void draw_layers(struct app *app, struct rect area)
{
    struct models_model *model = models_model(app);
    const struct model_layers *layers = models_model_layers(model);
    struct listing_view view = {.top = model->layer};
    struct table texts = {.columns = LAYER_COLUMNS};
    const struct listing listing = {layer_columns, &texts, 0, true, true};
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

/* --- accuracy against one cost --- */

static enum role role_of(const void *context, size_t row)
{
    (void)context;
    (void)row;
    return ROLE_TEXT;
}

static void draw_scatter(struct app *app, struct rect area)
{
    static const char *const names[MODELS_COSTS] = {[MODELS_MS] = N_("ms/image"),
                                                    [MODELS_BYTES] = N_("bytes of the file"),
                                                    [MODELS_FLOPS] = N_("FLOPs")};
    struct models_model *model = models_model(app);
    char legend[MODEL_SPEC + 80];
    struct error error;
    if (!models_model_points(model, &error)) {
        app_say_error(app, &error);
        return;
    }
    if (model->point_count == 0) {
        draw_wrapped(&app->canvas, area, 1, ROLE_FAINT,
                     _("No model with this data set has both figures: M measures them."));
        return;
    }
    snprintf(legend, sizeof legend,
             model->cost == MODELS_MS ? _("top-1 (%%); Pareto front of times in turns; data %s")
                                      : _("top-1 (%%); the line is the Pareto front; data %s"),
             model->table.rows[model->selected].data);
    const struct scatter scatter = {
        .points = model->points,
        .count = model->point_count,
        .front = model->front,
        .front_count = model->front_count,
        .axes = {scatter_axis_of(model->points, model->point_count, SCATTER_X, model->log),
                 scatter_axis_of(model->points, model->point_count, SCATTER_Y, false)},
        .x_name = gettext(names[model->cost]),
        .legend = legend,
        .selected = model->selected,
        .mark = models_model_mark,
        .role = role_of};
    if (!scatter_draw(&scatter, &model->plot, app->symbols, &app->canvas, area, &error))
        app_say_error(app, &error);
}

/* --- the selected model --- */

static void append_accuracy(const struct model_row *row, struct text *text)
{
    if (row->figures.facts.classes == 0)
        return;
    if (!isfinite(row->now.top1))
        text_append(text, _(" Accuracy not measured."));
    else if (row->source == MODEL_ACCURACY_VALIDATION)
        text_append(text, _(" Top-1 %.2f %% (95 %%: %.2f to %.2f), from its validation."),
                    row->now.top1, row->now.top1_low, row->now.top1_high);
    else
        text_append(text, _(" Top-1 %.2f %% (95 %%: %.2f to %.2f)."), row->now.top1,
                    row->now.top1_low, row->now.top1_high);
}

static void append_time(const struct models_model *model, const struct model_row *row,
                        struct text *text)
{
    if (!row->timed)
        text_append(text, _(" Time on %s not measured."), model->table.device);
    else if (isfinite(row->now.ms_low))
        text_append(text, _(" %.4g ms on %s (median, 95 %%: %.4g to %.4g)."), row->now.ms,
                    model->table.device, row->now.ms_low, row->now.ms_high);
    else
        text_append(text, _(" %.4g ms on %s (median)."), row->now.ms, model->table.device);
    if (row->timed && !isfinite(row->now.joules) && row->now.energy_unknown[0])
        text_append(text, _(" Energy not known: %s."), row->now.energy_unknown);
}

static void describe(const struct models_model *model, struct text *text)
{
    const struct model_row *row = &model->table.rows[model->selected];
    char gain[200];
    text_append(text, "%s.", row->figures.facts.name);
    append_accuracy(row, text);
    append_time(model, row, text);
    if (row->origin_row != MODEL_NO_ROW)
        text_append(text, _(" Against %s: %s."), row->origin,
                    model_gain_text(row, gain, sizeof gain));
    else if (row->origin[0])
        text_append(text, _(" Its origin, %s, is not in the table."), row->origin);
    text_append(text, " %s", row->shown);
    if (row->data[0])
        text_append(text, ", %s", row->data);
}

/* --- the screen --- */

static void draw_state(struct app *app, struct rect line)
{
    const struct models_model *model = models_model(app);
    char text[1200];
    if (model->job && model->of > 0)
        draw_format(&app->canvas, line, 0, 0, ROLE_KEY, _("Measuring: %llu of %llu; s stops it."),
                    (unsigned long long)model->done, (unsigned long long)model->of);
    else if (model->job)
        draw_text(&app->canvas, line, 0, 0, ROLE_FAINT, _("Reading the models ..."));
    else if (model->error.kind == ERROR_INTERRUPTED)
        draw_sentence(&app->canvas, line, 0, 0, ROLE_WARNING,
                      _("The measurement was stopped; what was measured is stored."));
    else if (model->error.kind != ERROR_NONE)
        draw_sentence(&app->canvas, line, 0, 0, ROLE_BAD,
                      error_format(&model->error, text, sizeof text));
    else {
        snprintf(text, sizeof text,
                 ngettext("%zu model on %s, %zu of them not measured; %zu files cannot be read",
                          "%zu models on %s, %zu of them not measured; %zu files cannot be read",
                          model->table.count),
                 model->table.count, model->table.device, models_model_unmeasured(model),
                 model->table.skipped);
        draw_sentence(&app->canvas, line, 0, 0, ROLE_FAINT, text);
    }
}

/* Draws the lines about the selected model at the bottom, and takes their rows from the area. */
static void draw_description(struct app *app, struct rect *area)
{
    const struct models_model *model = models_model(app);
    struct text text = {0};
    describe(model, &text);
    const int room = area->columns > 1 ? area->columns : 1;
    const int lines = text.data ? (int)columns_lines(text.data, (size_t)room) : 0;
    const int most = area->rows >= 14 ? 4 : area->rows >= 8 ? 2 : 0;
    const int rows = lines < most ? lines : most;
    area->rows -= rows;
    const struct rect bottom = {area->row + area->rows, area->column, rows, area->columns};
    if (rows > 0)
        draw_wrapped(&app->canvas, bottom, 0, ROLE_TEXT, text.data);
    text_free(&text);
}

void models_draw(struct app *app, struct rect body)
{
    static const char *const views[MODELS_VIEWS] = {N_("Table"), N_("Pareto front"),
                                                    N_("Layers in int8")};
    struct models_model *model = models_model(app);
    struct rect tabs = {body.row, body.column + 1, 1, body.columns - 2}, state = tabs, area = tabs;
    if (body.rows < 3 || body.columns < 10)
        return;
    state.row++;
    area.row += 2;
    area.rows = body.rows - 2;
    draw_tabs(&app->canvas, tabs, views, MODELS_VIEWS, model->view);
    draw_cursor(&app->canvas, tabs, 0, 0);
    draw_state(app, state);
    if (!model->made)
        return;
    if (model->table.count == 0) {
        draw_wrapped(&app->canvas, area, 1, ROLE_FAINT,
                     _("There are no models yet: train one (m s, then r), then come back."));
        return;
    }
    draw_description(app, &area);
    if (model->view == MODELS_TABLE)
        draw_table(app, area);
    else if (model->view == MODELS_SCATTER)
        draw_scatter(app, area);
    else
        draw_layers(app, area);
}
