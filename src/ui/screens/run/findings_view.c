/* The findings about a run, each with the iteration at which it began and what it means. */
#include "ui/app/app.h"
#include "ui/screens/run/internal.h"

#include "base/language.h"

#include <math.h>
#include <stdio.h>

/* Draws a finding's kind and place. Returns the row after. */
static int draw_finding(struct app *app, struct rect area, int row, const struct finding *finding)
{
    struct rect words = {area.row, area.column + 2, area.rows, area.columns - 3};
    char text[160];
    draw_text(&app->canvas, area, row, 0, ROLE_BAD, "!");
    const char *kind = finding_kind_words(finding->kind);
    const unsigned long long iteration = finding->iteration;
    if (isnan(finding->epoch))
        snprintf(text, sizeof text, _("%s from iteration %llu"), kind, iteration);
    else
        snprintf(text, sizeof text, _("%s from iteration %llu, epoch %.2f"), kind, iteration,
                 finding->epoch);
    return draw_wrapped(&app->canvas, words, row, ROLE_STRONG, text);
}

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    const struct rect area = layout->view;
    struct rect inside = {area.row, area.column + 2, area.rows, area.columns - 3};
    int row = 0, count = (int)display->now.finding_count;
    if (count == 0) {
        draw_wrapped(&app->canvas, inside, 1, ROLE_FAINT,
                     _("Nothing found so far. Watched for: negative loss (Caffe's running mean), "
                       "overfitting, divergence, plateaus, memory beyond the forecast."));
        return;
    }
    if (run_model(app)->scroll > count - 1)
        run_model(app)->scroll = count - 1;
    for (int i = run_model(app)->scroll; i < count && row < inside.rows; i++) {
        struct finding finding;
        run_finding(entry->run, (size_t)i, &finding);
        if (i == run_model(app)->scroll)
            draw_cursor(&app->canvas, area, row, 0);
        row = draw_finding(app, area, row, &finding);
        row = draw_wrapped(&app->canvas, inside, row, ROLE_TEXT, finding.text) + 1;
    }
}

static void move(struct app *app, const struct run_entry *entry, int how)
{
    (void)entry;
    run_model(app)->scroll += (int)move_steps(how, 0, 0); /* drawing limits it to the last one */
    run_model(app)->scroll -= run_model(app)->scroll < 0 ? run_model(app)->scroll : 0;
}

const struct view view_findings = {
    .name = N_("Findings"), .draw = draw, .moves = VIEW_SCROLLS, .move = move};
