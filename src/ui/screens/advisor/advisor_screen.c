/* The screen Advisor: in a form the user states a goal (faster, smaller, ...), and the answers
 * beside or below it come from the user's runs. Runs are read one after the other in the
 * background. An answer lists the trainings and measurements that are missing; Enter starts one. */
#include "ui/app/app.h"
#include "ui/app/run_loading.h"

#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/network/network.h"
#include "runs/settings/settings.h"
#include "ui/screens/advisor/internal.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double POLL_SECONDS = 0.25, POLL_READ_SECONDS = 0.02;
static const double READ_SECONDS = 0.008; /* waits for a fast disk, to show the run in this frame */

/* --- reading the runs --- */

static struct advisor_model *advisor_model(const struct app *app)
{
    return app_state(app, SCREEN_ADVISOR);
}

static void read_runs_again(struct app *app)
{
    struct advisor_model *model = advisor_model(app);
    loading_list_runs(app, true);
    advisor_model_free_runs(model);
    model->gathering = true;
    model->next = 0;
}

static void open(struct app *app)
{
    advisor_model_begin(advisor_model(app));
    read_runs_again(app);
}

static bool add_loaded_run(struct advisor_model *model, struct run *run, struct error *error)
{
    if (!memory_grow(&model->loaded, &model->loaded_capacity, model->loaded_count + 1,
                     sizeof *model->loaded, "the list of runs", error)) {
        run_free(run);
        return false;
    }
    model->loaded[model->loaded_count++] = run;
    return true;
}

/* Adds the run that was read to the comparison. Runs that cannot be read or have not started are
 * left out, and those that the advice does not read. */
static void take_read(struct app *app)
{
    struct advisor_model *model = advisor_model(app);
    struct run_read *read = run_reader_result(model->reader, 0);
    struct run *run = read->run;
    struct error error;
    if (!run || !advise_reads(run_facts(run)) || read->files_error.kind != ERROR_NONE)
        return;
    if (read->opened) {
        read->run = NULL;
        if (!add_loaded_run(model, run, &error)) {
            app_say_error(app, &error);
            return;
        }
    }
    if (!compare_add(&model->comparison, run, &read->files, &error))
        app_say_error(app, &error);
}

/* Starts to read run number `index` if it has started. A run of this session is shared with the run
 * screen; a saved run is loaded for the advisor alone. */
static void begin_read(struct app *app, size_t index)
{
    struct advisor_model *model = advisor_model(app);
    const struct run_entry *entry = app_run_at(app, index);
    const bool kept = run_entry_is_saved(entry);
    const char *directory = run_entry_directory(entry);
    struct run *const own = kept ? NULL : entry->run;
    struct error error;
    if (!directory || (!kept && entry->snapshot.status == RUN_PREPARING))
        return;
    model->reader = run_reader_start_open(RUN_DEPTH_COMPARED, &directory, &own, 1, &error);
    if (!model->reader)
        app_say_error(app, &error);
}

static bool read_runs(struct app *app)
{
    struct advisor_model *model = advisor_model(app);
    if (!model->gathering || !app_is_in_front(app, SCREEN_ADVISOR) || loading_is_listing(app))
        return false;
    if (model->reader) {
        if (!run_reader_wait(model->reader, READ_SECONDS))
            return false; /* `busy` has it called again soon */
        take_read(app);
        run_reader_drop(model->reader);
        model->reader = NULL;
    }
    while (!model->reader && model->next < app_run_count(app))
        begin_read(app, model->next++);
    model->gathering = model->reader != NULL;
    if (!model->gathering) {
        struct error error;
        if (!compare_merge_seeds(&model->comparison, NULL, &error) ||
            !compare_complete(&model->comparison, &error))
            app_say_error(app, &error);
        advisor_model_answer(model);
    }
    return model->gathering;
}

/* --- training or measuring what is missing --- */

static void train(struct app *app, const struct advise_missing *missing,
                  const struct advice *answer)
{
    struct run_config config;
    struct error error;
    if (missing->run)
        config = *run_config(missing->run);
    else
        config_defaults(&config);
    /* a network given as a file stays that file; a name is replaced by the one without suffix */
    const bool path = network_is_path(network_settings(&config).network);
    if ((!path && !config_set(&config, KEY(network), answer->network, &error)) ||
        !config_set(&config, KEY(technique), missing->technique, &error)) {
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
    struct advisor_model *model = advisor_model(app);
    struct error error;
    if (choice != 0)
        return;
    model->done = model->of = 0;
    model->background_job = measure_start(&model->job, &error);
    if (!model->background_job)
        app_say_error(app, &error);
}

static void ask_measure(struct app *app, const struct advise_missing *missing,
                        const struct advice *answer)
{
    struct advisor_model *model = advisor_model(app);
    const bool on = run_list_is_busy(&app->shared.runs);
    model->job = (struct measure_job){.threads = missing->threads};
    snprintf(model->job.directory, sizeof model->job.directory, "%s",
             run_facts(missing->run)->directory);
    snprintf(model->job.device, sizeof model->job.device, "%s", answer->device);
    if (missing->other) {
        snprintf(model->job.other, sizeof model->job.other, "%s",
                 run_facts(missing->other)->directory);
        snprintf(model->measuring, sizeof model->measuring, _("%.120s and %.120s in turns"),
                 run_facts(missing->run)->network, run_facts(missing->other)->network);
    } else
        snprintf(model->measuring, sizeof model->measuring, "%s", run_facts(missing->run)->network);
    struct dialog *dialog = dialog_begin(app, _("Measure it?"), answer_measure);
    snprintf(dialog->text, sizeof dialog->text,
             on ? _("The time of single images of %s on %s. A run is on: it makes the times too "
                    "long, and is itself slowed down. Better wait for its end.")
                : _("The time of single images of %s on %s, in the background. Start nothing "
                    "beside it: that would make the times too long."),
             model->measuring, model->job.device);
    dialog->choices[0] =
        (struct dialog_choice){'y', 0, on ? _("measure anyway") : _("measure it now")};
    dialog->choices[1] = (struct dialog_choice){'n', 'c', _("not now")};
    dialog->choice_count = 2;
    dialog->selected = on;
}

static void take_measurement(struct app *app)
{
    struct advisor_model *model = advisor_model(app);
    struct error error = {0};
    if (!model->background_job ||
        !background_job_poll(model->background_job, &model->done, &model->of))
        return;
    bool measured = background_job_finish(model->background_job, &error);
    model->background_job = NULL;
    if (measured && model->job.other[0])
        app_say(app, ROLE_GOOD, _("%s were measured on %s; this is saved with the run."),
                model->measuring, model->job.device);
    else if (measured)
        app_say(app, ROLE_GOOD, _("%s takes %s ms on %s; this is saved with the run."),
                model->measuring,
                STATISTICS_MEAN(model->job.result.ms_per_image.mean,
                                model->job.result.ms_per_image.ci95),
                model->job.result.on.device);
    else if (error.kind == ERROR_INTERRUPTED)
        app_say(app, ROLE_STRONG, "%s", _("The measurement was cancelled; nothing is saved."));
    else
        app_say_error(app, &error);
    if (measured)
        read_runs_again(app);
}

/* --- the second page --- */

static void turn_page(struct app *app)
{
    struct advisor_model *model = advisor_model(app);
    model->other.shown = !model->other.shown;
    model->scroll = 0;
    if (model->focus >= ADVISOR_FIELDS)
        model->focus = 0;
    if (model->other.shown)
        advisor_other_read(&model->other, advisor_model_device(model));
}

static void take_other(struct app *app)
{
    struct advisor_model *model = advisor_model(app);
    const bool applied = advisor_other_is_applying(&model->other);
    const struct means_request request = advisor_model_means(model);
    if (!advisor_other_take(&model->other))
        return;
    const struct error error = model->other.error;
    advisor_other_advise(&model->other, &request);
    if (applied && error.kind == ERROR_INTERRUPTED)
        app_say(app, ROLE_STRONG, "%s",
                _("It has ended before the limits were met; what was made is kept."));
    else if (error.kind != ERROR_NONE)
        app_say_error(app, &error);
    else if (applied)
        app_say(app, ROLE_GOOD, "%s", _("The techniques are applied; what was made is kept."));
}

static void answer_budget(struct app *app, size_t choice)
{
    struct advisor_model *model = advisor_model(app);
    const struct means_request request = advisor_model_means(model);
    double minutes;
    (void)choice;
    if (!text_to_double(app->dialog.edit.text, &minutes) || minutes <= 0 || minutes > 1e6) {
        snprintf(app->dialog.note, sizeof app->dialog.note, "%s", _("Give a number of minutes."));
        app->dialog.open = true;
        return;
    }
    const struct dialog_pick *pick = &app->dialog.picks[0];
    advisor_other_apply(&model->other, &request, advisor_model_device(model), minutes,
                        (size_t)strtoul(pick->values[pick->selected], NULL, 10));
}

/* Adds the choice of the epochs of fine-tuning. */
static void offer_epochs(struct dialog *dialog)
{
    static const char *const numbers[] = {"0", "1", "2", "5", "10"};
    struct dialog_pick *pick = &dialog->picks[dialog->pick_count++];
    pick->label = _("Fine-tuning, epochs");
    for (; pick->count < sizeof numbers / sizeof *numbers; pick->count++)
        snprintf(pick->values[pick->count], sizeof pick->values[0], "%s", numbers[pick->count]);
    pick->selected = MEANS_EPOCHS;
}

static void ask_budget(struct app *app)
{
    const struct advisor_model *model = advisor_model(app);
    struct dialog *dialog = dialog_begin(app, _("Apply the techniques?"), answer_budget);
    snprintf(
        dialog->text, sizeof dialog->text,
        _("Techniques after training are applied to %s and measured, one after the other, until "
          "the limits are met. Every result is kept. How many minutes may it take?"),
        model->values[ADVISOR_NETWORK]);
    offer_epochs(dialog);
    dialog_begin_line(dialog, "30", false, NULL, NULL);
}

static const char *refuses_apply(const struct app *app)
{
    const struct advisor_model *model = advisor_model(app);
    if (!model->other.shown)
        return _("This key concerns the second page: v goes there.");
    if (model->other.job)
        return advisor_other_is_applying(&model->other)
                   ? _("Techniques are being applied; s stops it.")
                   : _("The models are being read.");
    if (!model->values[ADVISOR_NETWORK][0])
        return _("Choose one network first.");
    return model->other.count > 0 && (model->other.advice[0].verdict == MEANS_TRY ||
                                      model->other.advice[0].verdict == MEANS_MEASURE)
               ? NULL
               : _("There is nothing to apply.");
}

/* --- keys --- */

static bool is_number(size_t field)
{
    return field == ADVISOR_LIMIT_MS || field == ADVISOR_LIMIT_MB || field == ADVISOR_LOSS;
}

static void edit(struct advisor_model *model, int key)
{
    line_edit_begin(&model->edit, model->values[model->focus], 32, true);
    if (key)
        line_edit_key(&model->edit, key);
    model->editing = true;
}

static void end_edit(struct app *app, int key)
{
    struct advisor_model *model = advisor_model(app);
    if (key == UI_ENTER && !advisor_model_set(model, model->edit.text)) {
        app_say(app, ROLE_WARNING, "%s", _("Give a number from 0; a limit may be empty."));
        return;
    }
    model->editing = false;
    if (key == UI_ENTER)
        advisor_model_answer(model);
}

static bool take_key(struct app *app, int key)
{
    struct advisor_model *model = advisor_model(app);
    if (model->editing && (key == UI_ENTER || key == UI_ESCAPE))
        end_edit(app, key);
    else if (model->editing)
        line_edit_key(&model->edit, key);
    else if (is_number(model->focus) && key && key < 128 && strchr("0123456789.", key))
        edit(model, key);
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
    struct advisor_model *model = advisor_model(app);
    const struct advice *answer;
    const struct advise_missing *missing = advisor_model_missing(model, &answer);
    if (missing && missing->training)
        train(app, missing, answer);
    else if (missing && missing->run)
        ask_measure(app, missing, answer);
    else if (is_number(model->focus))
        edit(model, 0);
    else
        cycle(app, 1);
}

static void move(struct app *app, int how)
{
    struct advisor_model *model = advisor_model(app);
    const size_t count = ADVISOR_FIELDS + advisor_model_missing_count(model);
    model->focus = list_move(model->focus, how, 1, count);
    model->follow = true;
}

static void scroll(struct app *app, int how)
{
    advisor_model(app)->scroll += (int)move_steps(how, 5, 0); /* drawing limits it */
    advisor_model(app)->follow = false;
}

static void update(struct app *app)
{
    struct advisor_model *model = advisor_model(app);
    read_runs_again(app);
    if (model->other.shown)
        advisor_other_read(&model->other, advisor_model_device(model));
    app_say(app, ROLE_STRONG, "%s", _("The runs are read again."));
}

static void stop(struct app *app)
{
    struct advisor_model *model = advisor_model(app);
    const bool applying = advisor_other_is_applying(&model->other);
    background_job_cancel(applying ? model->other.job : model->background_job);
    app_say(app, ROLE_STRONG, "%s",
            applying ? _("The technique is being stopped.")
                     : _("The measurement is being cancelled."));
}

static void remove_limit(struct app *app)
{
    advisor_model_set(advisor_model(app), "");
    advisor_model_answer(advisor_model(app));
}

/* --- what can be done --- */

/* Returns why Left and Right would change nothing, or NULL. */
static const char *refuses_cycle(const struct app *app, int direction)
{
    const struct advisor_model *model = advisor_model(app);
    const char *choices[ADVISOR_CHOICES];
    (void)direction;
    if (model->focus >= ADVISOR_FIELDS)
        return _("Left and Right change the fields of the question.");
    if (is_number(model->focus))
        return _("This field is a number: type it.");
    return advisor_model_choices(model, (enum advisor_field)model->focus, choices) > 1
               ? NULL
               : _("No run was read that could be chosen here.");
}

static const char *refuses_open(const struct app *app)
{
    const struct advisor_model *model = advisor_model(app);
    const struct advice *answer;
    const struct advise_missing *missing = advisor_model_missing(model, &answer);
    if (missing && !missing->training)
        return model->background_job ? _("A measurement is running; s cancels it.") : NULL;
    return missing || is_number(model->focus) ? NULL : refuses_cycle(app, 1);
}

static const char *refuses_remove(const struct app *app)
{
    const struct advisor_model *model = advisor_model(app);
    if (model->focus != ADVISOR_LIMIT_MS && model->focus != ADVISOR_LIMIT_MB)
        return _("Only a limit can be removed.");
    return model->values[model->focus][0] ? NULL : _("There is no limit here.");
}

static const char *refuses_stop(const struct app *app)
{
    const struct advisor_model *model = advisor_model(app);
    return model->background_job || advisor_other_is_applying(&model->other)
               ? NULL
               : _("Nothing is being measured.");
}

static const char *refuses_scroll(const struct app *app, int how)
{
    (void)how;
    return advisor_model(app)->furthest > 0 ? NULL : _("The whole answer is visible already.");
}

static const char *page_word(const struct app *app)
{
    return advisor_model(app)->other.shown ? _("first page") : NULL;
}

static const char *open_word(const struct app *app)
{
    const struct advice *answer;
    const struct advise_missing *missing = advisor_model_missing(advisor_model(app), &answer);
    return !missing ? _("change") : missing->training ? _("to form") : _("measure");
}

static const struct action actions[] = {
    {"Enter", "open", N_("change, do"),
     N_("the next choice, or type a number; on a missing value: train or measure"),
     .run = open_focused, .refused = refuses_open, .word = open_word},
#define ACTIONS_FIELDS move, NULL
#include "ui/app/actions.inc"
    {"Left", "previous-choice", NULL, N_("the choice before"), cycle, refuses_cycle,
     .argument = -1},
    {"Right", "next-choice", NULL, N_("the next choice"), cycle, refuses_cycle, .argument = 1},
    {"PgUp", "page-up", NULL, N_("scroll the answer back"), scroll, refuses_scroll,
     .argument = MOVE_PAGE_UP},
    {"PgDn (space)", "page-down", N_("scroll"), N_("scroll the answer"), scroll, refuses_scroll,
     .argument = MOVE_PAGE_DOWN},
    {"v", "other-means", N_("other means"),
     N_("the second page: techniques after training, and back"), .run = turn_page,
     .word = page_word},
    {"A", "apply", N_("apply"), N_("second page: apply what is advised, within a time budget"),
     .run = ask_budget, .refused = refuses_apply},
    {"u", "update", N_("update"), N_("read the runs again"), .run = update},
    {"s", "stop", NULL, N_("cancel the measurement, or stop applying"), .run = stop,
     .refused = refuses_stop},
    {"Del (Backspace)", "remove-limit", NULL, N_("remove a limit"), .run = remove_limit,
     .refused = refuses_remove},
#define ACTIONS_ENDS move, NULL
#include "ui/app/actions.inc"
};

static void draw(struct app *app, struct rect body)
{
    advisor_draw(advisor_model(app), &app->canvas, body);
}

static void close(struct app *app)
{
    advisor_model_free(advisor_model(app));
}

static const struct actions *over(const struct app *app)
{
    return advisor_model(app)->editing ? &actions_editing : NULL;
}

static bool work(struct app *app)
{
    take_measurement(app);
    take_other(app);
    return read_runs(app);
}

static double busy(const struct app *app)
{
    const struct advisor_model *model = advisor_model(app);
    if (model->gathering && app_is_in_front(app, SCREEN_ADVISOR))
        return POLL_READ_SECONDS;
    return model->background_job || model->other.job ? POLL_SECONDS : INFINITY;
}

/* The answers borrow the runs of this session, so all are freed when one of these is removed. */
static void notice(struct app *app, enum screen_event event, struct run_entry *entry)
{
    struct advisor_model *model = advisor_model(app);
    (void)entry;
    if (event != EVENT_RUN_REMOVED)
        return;
    advisor_model_free_runs(model);
    model->gathering = true;
    model->next = 0;
}

const struct screen advisor_screen = {
    .name = N_("Advisor"),
    .letter = 'a',
    .purpose = N_("which technique to use, from your runs"),
    .actions = {ACTIONS(N_("Asking the advisor"), actions)},
    .state_size = sizeof(struct advisor_model),
    .open = open,
    .close = close,
    .take_key = take_key,
    .draw = draw,
    .over = over,
    .work = work,
    .busy = busy,
    .notice = notice,
};
