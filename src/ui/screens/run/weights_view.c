/* A table of the weight arrays: mean, deviation, histogram, norm of the gradient, and the size of
 * an update relative to the weights. The details give advice if that ratio is unusual. */
#include "ui/app/app.h"
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "base/text.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* "A rough heuristic is that this ratio should be somewhere around 1e-3. If it is lower than this
 * then the learning rate might be too low. If it is higher then the learning rate is likely too
 * high." (Karpathy, CS231n notes, "Neural Networks Part 3: Learning and Evaluation".) The view
 * warns at a factor of ten, but not for biases and normalisations, which begin at 0 or 1. */
static const double LOW_RATIO = 1e-4, HIGH_RATIO = 1e-2;

enum { NET, TENSOR, COUNT, MEAN, DEVIATION, GRADIENT, RATIO, MARK, HISTOGRAM, COLUMNS };
enum { ROW_BINS = 16 };
static const struct listing_column columns[COLUMNS] = {
    [NET] = {N_("NET"), 4, 0, false, false},
    [TENSOR] = {N_("WEIGHTS"), 14, 0, false, true},
    [COUNT] = {N_("COUNT"), 10, 5, true, false},
    [MEAN] = {N_("MEAN"), 10, 3, true, false},
    [DEVIATION] = {N_("SD"), 9, 2, true, false},
    [GRADIENT] = {N_("GRADIENT"), 10, 1, true, false},
    [RATIO] = {N_("UPDATE/W"), 10, 0, true, false},
    [MARK] = {"", 1, 0, false, false},
    [HISTOGRAM] = {N_("HISTOGRAM"), ROW_BINS, 4, false, false},
};

static const struct inspection_tensor *tensor_at(const struct inspection *seen, size_t row,
                                                 size_t *network)
{
    for (*network = 0; row >= seen->networks[*network].tensor_count; ++*network)
        row -= seen->networks[*network].tensor_count;
    return &seen->networks[*network].tensors[row];
}

enum health { HEALTH_FINE, HEALTH_SLOW, HEALTH_FAST, HEALTH_STILL };

static enum health health_of(const struct inspection_tensor *tensor)
{
    const double ratio = inspection_update_ratio(tensor);
    if (!tensor->learnable || tensor->rank < 2 || isnan(ratio))
        return HEALTH_FINE;
    return ratio == 0           ? HEALTH_STILL
           : ratio < LOW_RATIO  ? HEALTH_SLOW
           : ratio > HIGH_RATIO ? HEALTH_FAST
                                : HEALTH_FINE;
}

static void number(double value, char *text, size_t size)
{
    if (isfinite(value))
        snprintf(text, size, "%.3g", value);
    else
        snprintf(text, size, "-");
}

/* Writes a histogram as `bins` characters, each as high as its bin relative to the highest bin. */
static void draw_bins(const struct inspection_tensor *tensor, size_t bins,
                      const struct glyphs *glyphs, char *text, size_t size)
{
    uint64_t sums[INSPECTION_BINS] = {0}, most = 1;
    for (size_t i = 0; i < INSPECTION_BINS; i++)
        sums[i * bins / INSPECTION_BINS] += tensor->histogram[i];
    for (size_t i = 0; i < bins; i++)
        most = sums[i] > most ? sums[i] : most;
    text[0] = '\0';
    for (size_t i = 0, used = 0; i < bins; i++) {
        size_t level = (size_t)(7 * (double)sums[i] / (double)most + 0.5);
        const char *glyph = sums[i] ? glyphs->levels[level] : " ";
        if (used + strlen(glyph) >= size)
            break;
        used += (size_t)snprintf(text + used, size - used, "%s", glyph);
    }
}

/* Appends all arrays. The first column, the network, is left out if there is only one. */
static void add_tensors(struct table *texts, const struct inspection *seen,
                        const struct glyphs *glyphs)
{
    static const char *const marks[] = {"", "<", "!", "0"};
    char text[INSPECTION_BINS * 4];
    for (size_t n = 0; n < seen->network_count; n++)
        for (size_t i = 0; i < seen->networks[n].tensor_count; i++) {
            const struct inspection_tensor *tensor = &seen->networks[n].tensors[i];
            if (seen->network_count > 1)
                table_cell(texts, "%s", n == 0 ? "G" : "D");
            table_cell(texts, "%s", tensor->name);
            table_cell(texts, "%s", text_count(tensor->count, text, sizeof text));
            table_key(texts, (double)tensor->count);
            table_number(texts, "%.3g", tensor->mean);
            table_number(texts, "%.3g", tensor->deviation);
            table_number(texts, "%.3g", tensor->gradient_norm);
            table_number(texts, "%.3g", inspection_update_ratio(tensor));
            table_cell(texts, "%s", marks[health_of(tensor)]);
            draw_bins(tensor, ROW_BINS, glyphs, text, sizeof text);
            table_cell(texts, "%s", text);
        }
}

/* --- the selected array --- */

static void draw_advice(struct canvas *canvas, struct rect area, int row,
                        const struct inspection_tensor *tensor)
{
    static const char *const advice[] = {
        [HEALTH_SLOW] = N_("< A step moves these weights by less than a ten-thousandth of their "
                           "size; about 1e-3 is usual. The learning rate may be too low."),
        [HEALTH_FAST] = N_("! A step moves these weights by more than a hundredth of their size; "
                           "about 1e-3 is usual. The learning rate is likely too high."),
        [HEALTH_STILL] = N_("0 The step did not move these weights: no gradient reaches them, or "
                            "it is too small for float32.")};
    const enum health health = health_of(tensor);
    if (!tensor->learnable)
        draw_wrapped(canvas, area, row, ROLE_FAINT,
                     _("A running statistic: measured from the batches, not learnt."));
    else if (isnan(tensor->update_norm))
        draw_wrapped(canvas, area, row, ROLE_FAINT,
                     _("The step's size was not measured: there was too little free memory to copy "
                       "the weights before it."));
    else if (health != HEALTH_FINE)
        draw_wrapped(canvas, area, row, ROLE_WARNING, gettext(advice[health]));
}

static void draw_details(struct canvas *canvas, struct rect area,
                         const struct inspection_tensor *tensor)
{
    char bins[INSPECTION_BINS * 4], gradient[32], update[32];
    struct rect inside = {area.row, area.column + 1, area.rows, area.columns - 2};
    number(tensor->gradient_norm, gradient, sizeof gradient);
    number(tensor->update_norm, update, sizeof update);
    draw_bins(tensor, INSPECTION_BINS, canvas->glyphs, bins, sizeof bins);
    draw_format(canvas, inside, 0, 0, ROLE_STRONG, _("%s: L2 norm %.4g, gradient %s, last step %s"),
                tensor->name, tensor->norm, gradient, update);
    int column = draw_format(canvas, inside, 1, 0, ROLE_FAINT, "%.3g ", tensor->low);
    column = draw_text(canvas, inside, 1, column, ROLE_GAUGE, bins);
    draw_format(canvas, inside, 1, column, ROLE_FAINT, " %.3g", tensor->high);
    draw_advice(canvas, inside, 2, tensor);
}

static void draw_summary(struct canvas *canvas, struct rect area, const struct inspection *seen)
{
    size_t unusual = 0, network;
    for (size_t n = 0, row = 0; n < seen->network_count; n++)
        for (size_t i = 0; i < seen->networks[n].tensor_count; i++)
            unusual += health_of(tensor_at(seen, row++, &network)) != HEALTH_FINE;
    char whole[160], brief[80];
    const unsigned long long iteration = seen->iteration;
    if (unusual == 0)
        snprintf(whole, sizeof whole, _("Weights and their step at iteration %llu"), iteration);
    else
        snprintf(whole, sizeof whole,
                 ngettext("Weights and their step at iteration %llu: %zu moves unusually",
                          "Weights and their step at iteration %llu: %zu move unusually", unusual),
                 iteration, unusual);
    snprintf(brief, sizeof brief, _("At iteration %llu"), iteration);
    insight_draw_summary(canvas, area, unusual ? ROLE_WARNING : ROLE_TEXT, whole, brief);
}

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    (void)display;
    struct listing_view *view = &run_model(app)->weights;
    const struct inspection *seen = insight_get(app, entry, layout->view);
    if (!seen)
        return;
    const size_t first = seen->network_count > 1 ? NET : TENSOR;
    const unsigned sortable =
        1u << COUNT | 1u << MEAN | 1u << DEVIATION | 1u << GRADIENT | 1u << RATIO;
    struct table texts = {.columns = COLUMNS - first};
    const struct listing listing = {columns + first, &texts, sortable >> first, false, false};
    add_tensors(&texts, seen, app->canvas.glyphs);
    if (texts.count == 0) {
        insight_draw_absence(&app->canvas, layout->view,
                             _("Not measured: at the run's end the weights are measured only if "
                               "that takes less than a hundredth of the run's time. Open this view "
                               "during a run to measure them."));
        return;
    }
    size_t network;
    struct insight_layout parts = insight_layout(view, layout->view, 4);
    draw_summary(&app->canvas, parts.summary, seen);
    size_t row = listing_draw(view, &listing, &app->canvas, parts.table);
    table_free(&texts);
    if (!rect_is_empty(parts.details))
        draw_details(&app->canvas, parts.details, tensor_at(seen, row, &network));
}

const struct view view_weights = {.name = N_("Weights"),
                                  .covers_figures = true,
                                  .inspects = true,
                                  .draw = draw,
                                  .moves = VIEW_TABLE,
                                  .table = offsetof(struct run_model, weights)};
