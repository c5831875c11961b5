/* The advisor: what a network is to become on the left (or above), what the user's own runs say to
 * it beside. Runs are read one after the other in the background: it needs their settings and
 * measurements. What is not known is a list that Enter sets going. */
#include "ui/app/app.h"
#include "ui/app/run_loading.h"

#include "base/language.h"
#include "base/memory.h"
#include "ui/screens/advisor/advisor_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {UI_ENTER, 0, ACTION_OPEN, "Enter", N_("change, do"),
     N_("the next choice, or type a number; on what is not known: train or measure it")},
    {UI_UP, UI_BACK_TAB, ACTION_UP, N_("Up"), NULL, N_("the line above")},
    {UI_DOWN, UI_TAB, ACTION_DOWN, N_("Down"), NULL, N_("the line below (Tab too)")},
    {UI_LEFT, 0, ACTION_LEFT, N_("Left"), NULL, N_("the choice before")},
    {UI_RIGHT, 0, ACTION_RIGHT, N_("Right"), NULL, N_("the next choice")},
    {UI_PAGE_UP, 0, ACTION_PAGE_UP, "PgUp", NULL, N_("scroll the answer back")},
    {UI_PAGE_DOWN, ' ', ACTION_PAGE_DOWN, "PgDn", N_("scroll"), N_("scroll the answer")},
    {'u', 0, ACTION_UPDATE, "u", N_("update"), N_("read the runs again")},
    {'s', 0, ACTION_STOP, "s", NULL, N_("call off what is being measured")},
    {UI_DELETE, UI_BACKSPACE, ACTION_REMOVE, "Del", NULL, N_("take a limit away")},
    {UI_HOME, 0, ACTION_FIRST, "Home", NULL, NULL},
    {UI_END, 0, ACTION_LAST, "End", NULL, NULL},
};
static const struct key_table table = {N_("Asking the advisor"), bindings,
                                       sizeof bindings / sizeof *bindings};

static const double POLL_SECONDS = 0.25, POLL_READ_SECONDS = 0.02;
static const double READ_SECONDS = 0.008; /* what is on a fast disk is there at once */

/* --- reading the runs --- */

static struct advisor_model *advisor_model(const struct app *app)
{
    return app_state(app, SCREEN_ADVISOR);
}

static void gather_again(struct app *app)
{
    struct advisor_model *view = advisor_model(app);
    loading_list_runs(app, true);
    advisor_model_free_runs(view);
    view->gathering = true;
    view->next = 0;
}

static void open(struct app *app)
{
    advisor_model_begin(advisor_model(app));
    gather_again(app);
}

static bool keep_own(struct advisor_model *view, struct run *run, struct error *error)
{
    if (!memory_grow(&view->own, &view->own_capacity, view->own_count + 1, sizeof *view->own,
                     "the list of runs", error)) {
        run_free(run);
        return false;
    }
    view->own[view->own_count++] = run;
    return true;
}

/* What cannot be read, or has not begun, has nothing to say; an imported run was not measured here.
 */
static void take_read(struct app *app)
{
    struct advisor_model *view = advisor_model(app);
    struct run_read *read = run_reader_result(view->reader, 0);
    struct run *run = read->run;
    struct error error;
    if (!run || run_facts(run)->imported[0] || read->files_error.kind != ERROR_NONE)
        return;
    if (read->opened) {
        read->run = NULL;
        if (!keep_own(view, run, &error)) {
            app_say_error(app, &error);
            return;
        }
    }
    if (!compare_add(&view->comparison, run, &read->files, &error))
        app_say_error(app, &error);
}

/* Begins to read a run, if it may have something to say. Those of this session are shared, the kept
 * ones are read for the advisor alone. */
static void begin_read(struct app *app, size_t index)
{
    struct advisor_model *view = advisor_model(app);
    const struct run_entry *entry = app_run_at(app, index);
    const bool kept = run_entry_is_saved(entry);
    const char *directory = run_entry_directory(entry);
    struct run *const own = kept ? NULL : entry->run;
    struct error error;
    if (!directory || (!kept && entry->snapshot.status == RUN_PREPARING))
        return;
    view->reader = run_reader_start_open(RUN_DEPTH_COMPARED, &directory, &own, 1, &error);
    if (!view->reader)
        app_say_error(app, &error);
}

static bool gather(struct app *app)
{
    struct advisor_model *view = advisor_model(app);
    if (!view->gathering || !app_is_in_front(app, SCREEN_ADVISOR) || loading_is_listing(app))
        return false;
    if (view->reader) {
        if (!run_reader_wait(view->reader, READ_SECONDS))
            return false; /* it is looked at again soon */
        take_read(app);
        run_reader_drop(view->reader);
        view->reader = NULL;
    }
    while (!view->reader && view->next < app_run_count(app))
        begin_read(app, view->next++);
    view->gathering = view->reader != NULL;
    if (!view->gathering) {
        compare_complete(&view->comparison);
        advisor_model_answer(view);
    }
    return view->gathering;
}

/* --- what would tell --- */

static void train(struct app *app, const struct advise_gap *gap, const struct advice *answer)
{
    struct run_config config;
    struct error error;
    if (gap->run)
        config = *run_config(gap->run);
    else
        config_defaults(&config);
    /* a network that is named by its file stays that file; a name loses its technique's suffix */
    const bool path = strchr(config.network, '/') || strstr(config.network, ".json");
    if ((!path && !config_set(&config, "network", answer->network, &error)) ||
        !config_set(&config, "technique", gap->technique, &error)) {
        app_say_error(app, &error);
        return;
    }
    form_begin(&app->shared.form, &config);
    app_form_changed(app);
    app_show(app, SCREEN_SETUP);
    app_say(app, ROLE_GOOD, "%s",
            _("The form holds the training that is missing: r runs it. Its time is measured "
              "afterwards, by the advisor again."));
}

static void answer_measure(struct app *app, size_t choice)
{
    struct advisor_model *view = advisor_model(app);
    struct error error;
    if (choice != 0)
        return;
    view->done = view->of = 0;
    view->background_job = measure_start(&view->job, &error);
    if (!view->background_job)
        app_say_error(app, &error);
}

static void ask_measure(struct app *app, const struct advise_gap *gap, const struct advice *answer)
{
    struct advisor_model *view = advisor_model(app);
    struct dialog *dialog = &app->dialog;
    const bool on = run_list_active(&app->shared.runs) != NULL;
    if (view->background_job) {
        app_say(app, ROLE_WARNING, "%s", _("Something is being measured; s calls it off."));
        return;
    }
    view->job = (struct measure_job){.threads = gap->threads};
    snprintf(view->job.directory, sizeof view->job.directory, "%s", run_facts(gap->run)->directory);
    snprintf(view->job.device, sizeof view->job.device, "%s", answer->device);
    snprintf(view->measuring, sizeof view->measuring, "%s", run_facts(gap->run)->network);
    *dialog = (struct dialog){.open = true, .answer = answer_measure};
    snprintf(dialog->title, sizeof dialog->title, "%s", _("Measure it?"));
    snprintf(dialog->text, sizeof dialog->text,
             on ? _("The time of single images of %s on %s. A run is on: it makes the times too "
                    "long, and is itself slowed down. Better wait for its end.")
                : _("The time of single images of %s on %s, over the whole test set, in the "
                    "background. Start nothing beside it: that would make the times too long."),
             view->measuring, view->job.device);
    dialog->choices[0] =
        (struct dialog_choice){'y', 0, on ? _("measure all the same") : _("measure it now")};
    dialog->choices[1] = (struct dialog_choice){'n', 'c', _("not now")};
    dialog->choice_count = 2;
    dialog->selected = on;
}

static void take_measurement(struct app *app)
{
    struct advisor_model *view = advisor_model(app);
    struct error error = {0};
    if (!view->background_job || !background_job_poll(view->background_job, &view->done, &view->of))
        return;
    bool measured = background_job_finish(view->background_job, &error);
    view->background_job = NULL;
    if (measured)
        app_say(app, ROLE_GOOD, _("%s takes %.4g +- %s ms on %s; it is kept with the run."),
                view->measuring, view->job.result.ms_per_image.mean,
                STATISTICS_SPREAD(view->job.result.ms_per_image.ci95), view->job.result.device);
    else if (error.kind == ERROR_INTERRUPTED)
        app_say(app, ROLE_STRONG, "%s", _("The measurement was called off; nothing is kept."));
    else
        app_say_error(app, &error);
    if (measured)
        gather_again(app);
}

/* --- keys --- */

static bool is_number(size_t field)
{
    return field == ADVISOR_LIMIT_MS || field == ADVISOR_LIMIT_MB || field == ADVISOR_LOSS;
}

static void edit(struct advisor_model *view, int key)
{
    line_edit_begin(&view->edit, view->values[view->focus], 32, true);
    if (key)
        line_edit_key(&view->edit, key);
    view->editing = true;
}

static void end_edit(struct app *app, int key)
{
    struct advisor_model *view = advisor_model(app);
    if (key == UI_ENTER && !advisor_model_set(view, view->edit.text)) {
        app_say(app, ROLE_WARNING, "%s", _("Give a number from 0; a limit may be empty."));
        return;
    }
    view->editing = false;
    if (key == UI_ENTER)
        advisor_model_answer(view);
}

static bool take_key(struct app *app, int key)
{
    struct advisor_model *view = advisor_model(app);
    if (view->editing && (key == UI_ENTER || key == UI_ESCAPE))
        end_edit(app, key);
    else if (view->editing)
        line_edit_key(&view->edit, key);
    else if (is_number(view->focus) && key && key < 128 && strchr("0123456789.", key))
        edit(view, key);
    else
        return false;
    return true;
}

static void cycle(struct app *app, int direction)
{
    advisor_model_cycle(advisor_model(app), direction);
    advisor_model_answer(advisor_model(app));
}

static void open_focused(struct app *app)
{
    struct advisor_model *view = advisor_model(app);
    const struct advice *answer;
    const struct advise_gap *gap = advisor_model_gap(view, &answer);
    if (gap && gap->training)
        train(app, gap, answer);
    else if (gap && gap->run)
        ask_measure(app, gap, answer);
    else if (is_number(view->focus))
        edit(view, 0);
    else
        cycle(app, 1);
}

static void move(struct advisor_model *view, int steps)
{
    const long last = (long)(ADVISOR_FIELDS + advisor_model_gap_count(view)) - 1;
    const long to = (long)view->focus + steps;
    view->focus = (size_t)(to < 0 ? 0 : to > last ? last : to);
    view->follow = true;
}

static void act(struct app *app, enum action action)
{
    struct advisor_model *view = advisor_model(app);
    switch (action) {
    case ACTION_OPEN:
        open_focused(app);
        break;
    case ACTION_UP:
    case ACTION_DOWN:
        move(view, action == ACTION_UP ? -1 : 1);
        break;
    case ACTION_FIRST:
    case ACTION_LAST:
        move(view, action == ACTION_FIRST ? -1000 : 1000);
        break;
    case ACTION_LEFT:
    case ACTION_RIGHT:
        cycle(app, action == ACTION_LEFT ? -1 : 1);
        break;
    case ACTION_PAGE_UP:
    case ACTION_PAGE_DOWN:
        view->scroll += action == ACTION_PAGE_UP ? -5 : 5;
        view->follow = false;
        break;
    case ACTION_UPDATE:
        gather_again(app);
        break;
    case ACTION_STOP:
        if (view->background_job)
            background_job_cancel(view->background_job);
        else
            app_say(app, ROLE_WARNING, "%s", _("Nothing is being measured."));
        break;
    case ACTION_REMOVE:
        if (is_number(view->focus) && advisor_model_set(view, ""))
            advisor_model_answer(view);
        break;
    default:
        break;
    }
}

static void draw(struct app *app, struct rect body)
{
    advisor_draw(advisor_model(app), &app->canvas, body);
}

static void close(struct app *app)
{
    advisor_model_free(advisor_model(app));
}

static bool typing(const struct app *app)
{
    return advisor_model(app)->editing;
}

static bool work(struct app *app)
{
    take_measurement(app);
    return gather(app);
}

static double busy(const struct app *app)
{
    const struct advisor_model *view = advisor_model(app);
    if (view->gathering && app_is_in_front(app, SCREEN_ADVISOR))
        return POLL_READ_SECONDS;
    return view->background_job ? POLL_SECONDS : INFINITY;
}

/* The advisor borrows the runs of this session; a run that is removed takes its answers along. */
static void notice(struct app *app, enum screen_event event, struct run_entry *entry)
{
    struct advisor_model *view = advisor_model(app);
    (void)entry;
    if (event != EVENT_RUN_REMOVED)
        return;
    advisor_model_free_runs(view);
    view->gathering = true;
    view->next = 0;
}

const struct screen advisor_screen = {
    .name = N_("Advisor"),
    .letter = 'a',
    .purpose = N_("which technique to use, read off one's own runs"),
    .keys = &table,
    .state_size = sizeof(struct advisor_model),
    .open = open,
    .close = close,
    .take_key = take_key,
    .act = act,
    .draw = draw,
    .typing = typing,
    .work = work,
    .busy = busy,
    .notice = notice,
};
