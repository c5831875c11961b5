#include "ui/screens/setup/setup_model.h"

#include "base/language.h"
#include "session/config/lr_preview.h"
#include "ui/plot/plot.h"
#include "ui/terminal/columns.h"

#include <stdio.h>
#include <string.h>

void setup_free(struct setup_model *view)
{
    preview_close(view->preview);
    past_search_drop(view->search);
    picture_grid_free(&view->grid);
    plot_free(&view->plot);
    *view = (struct setup_model){0};
}

/* --- pictures --- */

static void open_preview(struct setup_model *view, const struct form *form,
                         const struct shape *input)
{
    preview_close(view->preview);
    picture_grid_free(&view->grid);
    view->from = 0;
    view->facts = (struct dataset_facts){0};
    view->error = (struct error){0};
    view->status = PREVIEW_OPENING;
    view->preview = preview_open(&form->config, input, &view->error);
}

static void step_preview(struct setup_model *view, const struct form *form)
{
    const struct shape *input = form->forecast_known ? &form->forecast.input : NULL;
    const bool rests = !form->forecast_stale && !form->editing;
    if (rests && (!view->preview || !preview_is_of(view->preview, &form->config, input)))
        open_preview(view, form, input);
    if (!view->preview)
        return;
    if (view->status == PREVIEW_OPENING)
        view->status = preview_status(view->preview, &view->facts, &view->error);
    picture_grid_collect(&view->grid, view->preview);
}

void setup_turn_pictures(struct setup_model *view, int direction)
{
    const size_t images = view->facts.images, step = view->grid.shown;
    if (view->status != PREVIEW_OPENED || images == 0 || step == 0)
        return;
    if (direction > 0)
        view->from = view->from + step < images ? view->from + step : 0;
    else
        view->from = view->from >= step ? view->from - step : (images - 1) / step * step;
}

void setup_turn_epoch(struct setup_model *view, int direction)
{
    if (direction > 0 || view->epoch > 0)
        view->epoch += (uint64_t)direction;
}

/* Which pictures, and as far as there is room how they are shown. */
static void draw_caption(const struct setup_model *view, const struct form *form,
                         struct canvas *canvas, struct rect area)
{
    const size_t images = view->facts.images, end = view->from + view->grid.shown;
    const size_t last = end < images ? end : images;
    const unsigned long epoch = (unsigned long)view->epoch + 1;
    char text[160];
    snprintf(text, sizeof text,
             !view->as_trained      ? _("%zu-%zu of %zu, epoch %lu, as stored")
             : form->config.augment ? _("%zu-%zu of %zu, epoch %lu, cropped and flipped at random")
                                    : _("%zu-%zu of %zu, epoch %lu, as the network sees them"),
             view->from + 1, last, images, epoch);
    if (columns_of(text) > (size_t)area.columns)
        snprintf(text, sizeof text, _("%zu-%zu of %zu, epoch %lu"), view->from + 1, last, images,
                 epoch);
    draw_text(canvas, area, 0, 0, ROLE_FAINT, text);
}

void setup_draw_pictures(struct setup_model *view, const struct form *form, struct canvas *canvas,
                         struct rect area)
{
    char text[1100];
    if (rect_is_empty(area))
        return;
    if (view->error.kind != ERROR_NONE) {
        int row = draw_wrapped(canvas, area, 0, ROLE_BAD, _("! There are no pictures to show."));
        draw_wrapped(canvas, area, row, ROLE_TEXT, error_format(&view->error, text, sizeof text));
        return;
    }
    if (view->status != PREVIEW_OPENED || !view->preview) {
        draw_wrapped(canvas, area, 0, ROLE_FAINT, _("Opening the data set ..."));
        return;
    }
    const struct preview_request wish = {.epoch = view->epoch,
                                         .from = view->from,
                                         .as_trained = view->as_trained,
                                         .augment = form->config.augment,
                                         .seed = form->config.seed};
    const int caption = area.rows >= 5;
    struct rect pictures = {area.row, area.column, area.rows - caption, area.columns};
    picture_grid_draw(&view->grid, canvas, pictures, view->preview, &view->facts, wish);
    struct rect last = {area.row + area.rows - 1, area.column, caption, area.columns};
    if (view->grid.shown > 0)
        draw_caption(view, form, canvas, last);
}

/* --- time --- */

static void step_search(struct setup_model *view, const struct form *form)
{
    const bool rests = !form->forecast_stale && !form->editing;
    if (rests && !past_run_is_alike(&view->searched, &form->config)) {
        past_search_drop(view->search);
        view->past_known = false;
        view->search = past_search_begin(&form->config, NULL);
        if (view->search) /* else it is tried again */
            view->searched = form->config;
    }
    if (!view->search || !past_search_result(view->search, &view->past))
        return;
    past_search_drop(view->search);
    view->search = NULL;
    view->past_known = true;
}

void setup_invalidate_past_time(struct setup_model *view)
{
    view->searched = (struct run_config){0};
}

size_t setup_images(const struct setup_model *view, const struct form *form)
{
    const bool open = view->preview && view->status == PREVIEW_OPENED;
    return open && preview_is_of(view->preview, &form->config, NULL) ? view->facts.images : 0;
}

const struct error *setup_data_error(const struct setup_model *view, const struct form *form)
{
    const bool failed = view->preview && view->status == PREVIEW_FAILED;
    return failed && preview_is_of(view->preview, &form->config, NULL) ? &view->error : NULL;
}

double setup_seconds(const struct setup_model *view, const struct form *form)
{
    struct lr_preview plan;
    float unused[2];
    const bool alike = past_run_is_alike(&view->searched, &form->config);
    if (!view->past_known || !view->past.found || !alike)
        return -1;
    lr_preview_make(&form->config, setup_images(view, form), unused, 2, &plan);
    if (plan.iterations == 0)
        return -1;
    return (double)plan.iterations * (double)form->config.batch * view->past.ms_per_image / 1e3;
}

/* --- both --- */

void setup_step(struct setup_model *view, const struct form *form)
{
    step_preview(view, form);
    step_search(view, form);
}

bool setup_is_waiting(const struct setup_model *view)
{
    return view->search || !view->past_known || !view->preview ||
           view->status == PREVIEW_OPENING || /* the view has not heard how that ended */
           preview_is_busy(view->preview);
}

/* --- the defaults --- */

bool setup_toggle_defaults(struct setup_model *view, struct form *form)
{
    struct run_config defaults;
    config_defaults(&defaults);
    const bool back = view->replaced && form->config.given == 0 && !form->config.preset[0];
    if (!back)
        view->before = form->config;
    view->replaced = !back;
    form_replace(form, back ? &view->before : &defaults);
    return !back;
}
