/* A table of the layers: the time that each takes in an iteration, its speed, its kernel and why it
 * has no faster one. In adversarial training the table lists generator and discriminator. */
#include "ui/app/app.h"
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "base/text.h"
#include "engine/devices/choice.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { NET, LAYER, FORWARD, BACKWARD, SHARE, SPEED, OUTPUT, MEMORY, KERNEL, COLUMNS };
static const struct listing_column columns[COLUMNS] = {
    [NET] = {N_("NET"), 4, 0, false, false},
    [LAYER] = {N_("LAYER"), 12, 0, false, true},
    [FORWARD] = {N_("FORWARD ms"), 11, 1, true, false},
    [BACKWARD] = {N_("BACKWARD ms"), 12, 2, true, false},
    [SHARE] = {N_("SHARE %"), 8, 0, true, false},
    [SPEED] = {N_("GFLOP/s"), 8, 3, true, false},
    [OUTPUT] = {N_("OUTPUT"), 11, 4, true, false},
    [MEMORY] = {N_("MEMORY"), 9, 5, true, false},
    [KERNEL] = {N_("KERNEL"), 20, 6, false, true},
};

static const struct inspection_layer *layer_at(const struct inspection *seen, size_t row,
                                               size_t *network)
{
    for (*network = 0; row >= seen->networks[*network].layer_count; ++*network)
        row -= seen->networks[*network].layer_count;
    return &seen->networks[*network].layers[row];
}

static double share(const struct inspection *seen, const struct inspection_layer *layer)
{
    return 100 * (layer->forward_seconds + layer->backward_seconds) / seen->seconds;
}

static double per_iteration(const struct inspection *seen, double seconds)
{
    return 1e3 * seconds / (double)seen->iterations;
}

static void add_layer(struct table *texts, const struct inspection *seen,
                      const struct inspection_layer *layer)
{
    char memory[32];
    table_cell(texts, "%s", layer->name);
    table_number(texts, "%.3f", per_iteration(seen, layer->forward_seconds));
    table_number(texts, "%.3f", per_iteration(seen, layer->backward_seconds));
    table_number(texts, "%.1f", share(seen, layer));
    table_number(texts, "%.1f", inspection_gflops(layer));
    table_cell(texts, "%zux%zux%zu", layer->output.channels, layer->output.height,
               layer->output.width);
    table_cell(texts, "%s",
               layer->memory_bytes ? text_bytes(layer->memory_bytes, memory, sizeof memory)
                                   : _("shared"));
    table_key(texts, (double)layer->memory_bytes);
    table_cell(texts, "%s", layer->kernel);
}

/* Appends all layers. The first column, the network, is left out if there is only one. */
static void add_layers(struct table *texts, const struct inspection *seen)
{
    for (size_t n = 0; n < seen->network_count; n++)
        for (size_t i = 0; i < seen->networks[n].layer_count; i++) {
            if (seen->network_count > 1)
                table_cell(texts, "%s", n == 0 ? "G" : "D");
            add_layer(texts, seen, &seen->networks[n].layers[i]);
        }
}

/* Appends how many CUDA graphs the driver has refused. */
static void add_refusals(char *text, size_t size, const struct inspection *seen)
{
    const size_t length = strlen(text);
    snprintf(text + length, size - length, _("; CUDA graphs refused: %llu, passes without: %llu"),
             (unsigned long long)seen->graphs_refused,
             (unsigned long long)seen->passes_without_graph);
}

static void draw_summary(struct canvas *canvas, struct rect area, const struct inspection *seen,
                         const struct run_entry *entry)
{
    char when[120], whole[256], brief[160];
    const double each = per_iteration(seen, seen->seconds);
    double inside = 0;
    for (size_t n = 0; n < seen->network_count; n++)
        for (size_t i = 0; i < seen->networks[n].layer_count; i++)
            inside += seen->networks[n].layers[i].forward_seconds +
                      seen->networks[n].layers[i].backward_seconds;
    snprintf(whole, sizeof whole, _("%s: %.4g ms each, %.1f %% in layers"),
             insight_when(seen, entry, when, sizeof when), each, 100 * inside / seen->seconds);
    snprintf(brief, sizeof brief, _("%.4g ms an iteration"), each);
    if (seen->graph_refused[0]) {
        add_refusals(whole, sizeof whole, seen);
        add_refusals(brief, sizeof brief, seen);
    }
    insight_draw_summary(canvas, area, ROLE_TEXT, whole, brief);
}

static void draw_details(struct canvas *canvas, struct rect area, const struct inspection *seen,
                         const struct inspection_layer *layer)
{
    char memory[32] = "-";
    if (layer->memory_bytes)
        text_bytes(layer->memory_bytes, memory, sizeof memory);
    struct rect inside = {area.row, area.column + 1, area.rows, area.columns - 2};
    int row = insight_draw_text(
        canvas, inside, 0, ROLE_STRONG, _("%s (%s): output %zux%zux%zu, memory %s"), layer->name,
        layer->op, layer->output.channels, layer->output.height, layer->output.width, memory);
    char choice[2 * PLAN_CHOICE_SIZE];
    row = draw_wrapped(canvas, inside, row, ROLE_TEXT,
                       choice_translate(layer->choice, choice, sizeof choice));
    if (layer->memory_bytes == 0)
        row = draw_wrapped(canvas, inside, row, ROLE_FAINT,
                           _("It works in place, in its input's memory."));
    if (seen->graph_refused[0])
        insight_draw_text(canvas, inside, row, ROLE_WARNING,
                          _("The driver refuses CUDA graphs: %s"), seen->graph_refused);
}

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    (void)display;
    struct listing_view *view = &run_model(app)->layers;
    const struct inspection *seen = insight_get(app, entry, layout->view);
    if (!seen)
        return;
    const size_t first = seen->network_count > 1 ? NET : LAYER;
    const unsigned sortable =
        1u << FORWARD | 1u << BACKWARD | 1u << SHARE | 1u << SPEED | 1u << MEMORY;
    struct table texts = {.columns = COLUMNS - first};
    const struct listing listing = {columns + first, &texts, sortable >> first, false, false};
    add_layers(&texts, seen);
    if (texts.count == 0)
        return;
    size_t network;
    struct insight_layout parts =
        insight_layout(view, layout->view, seen->graph_refused[0] ? 6 : 4);
    draw_summary(&app->canvas, parts.summary, seen, entry);
    size_t row = listing_draw(view, &listing, &app->canvas, parts.table);
    table_free(&texts);
    if (!rect_is_empty(parts.details))
        draw_details(&app->canvas, parts.details, seen, layer_at(seen, row, &network));
}

const struct view view_layers = {.name = N_("Layers"),
                                 .covers_figures = true,
                                 .inspects = true,
                                 .draw = draw,
                                 .moves = VIEW_TABLE,
                                 .table = offsetof(struct run_model, layers)};
