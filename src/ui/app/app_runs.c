/* Runs of this session: starting one from the form, finding and showing one, and polling them. Each
 * poll copies the snapshot of the active run, compares it with the one before and shows the
 * difference as messages: new findings, a full disk, the end of the run. */
#include "runs/history/seed_group.h"
#include "ui/app/app.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/folder/run_prune.h"
#include "runs/history/run_queue.h"
#include "runs/settings/settings.h"
#include "runs/values/run_snapshot.h"
#include "studies/compare/run_reader.h"
#include "studies/sweep/sweep_table.h"
#include "ui/app/run_loading.h"
#include "ui/shared/form.h"
#include "ui/shared/preferences.h"
#include "ui/shared/sweep_job.h"

#include <stdio.h>
#include <string.h>

static const double FORECAST_SECONDS = 0.12;

void app_form_changed(struct app *app)
{
    app->shared.forecast_at = clock_nanoseconds() + (uint64_t)(FORECAST_SECONDS * 1e9);
}

/* Adds a line to the log if a run other than `before` is active now. No message: the run's screen
 * shows it. */
static void log_start(struct app *app, const struct run_entry *before)
{
    const struct run_entry *entry = run_list_active(&app->shared.runs);
    char text[480];
    if (!entry || entry == before)
        return;
    snprintf(text, sizeof text, _("Run %zu (%s) has begun."),
             (size_t)(entry - app->shared.runs.entries) + 1, run_entry_network(entry));
    log_add(&app->shared.log, ROLE_TEXT, text);
    log_set_run_directory(&app->shared.log, run_entry_directory(entry));
}

/* Removes a new run that was refused before it began: it has no folder. The form, which comes to
 * the front if the run was (`shown`), says why. Returns whether there was one. */
static bool drop_refused(struct app *app, bool shown)
{
    size_t i = 0;
    while (i < app->shared.runs.count && !run_entry_refusal(&app->shared.runs.entries[i]))
        i++;
    if (i == app->shared.runs.count)
        return false;
    struct run_entry *entry = &app->shared.runs.entries[i];
    const struct error error = *run_entry_refusal(entry);
    shown = shown || app_run_in_front(app) == entry;
    if (shown)
        app->shared.fork = entry->options.fork; /* the form describes it still */
    form_refuse(&app->shared.form, &entry->config, &error);
    if (shown)
        app_show(app, SCREEN_SETUP);
    app_drop_entry(app, entry);
    app_say_error(app, &error);
    return true;
}

/* Starts and shows run `index` of the list, the first that was added, unless another one is active
 * (`busy`). */
static void start_added(struct app *app, size_t index, bool busy)
{
    run_list_step(&app->shared.runs);
    if (!busy && drop_refused(app, true))
        return;
    if (!busy)
        log_start(app, NULL);
    if (busy)
        app_say(app, ROLE_GOOD, "In the queue: it starts when the run before it has ended.");
    else
        app_show_run(app, index);
}

void app_start_resumed(struct app *app)
{
    start_added(app, app->shared.runs.count - 1, run_list_is_busy(&app->shared.runs));
}

/* --- starting the form's run ---
 *
 * The form is copied into a request, because the user may change it while a thread reads what other
 * processes compute, and while the dialog about them is open. */

static void write_form(void *state)
{
    last_form_write(state, NULL);
}

/* Stores the form in the background. If that fails, the next session begins with an earlier form.
 */
static void remember_form(struct app *app, const struct run_config *config)
{
    struct run_config *copy = memory_new(1, sizeof *copy, "the form", NULL);
    if (!copy)
        return;
    *copy = *config;
    disk_jobs_start(&app->shared.disk, write_form, NULL, copy, NULL);
}

/* Adds the requested run, or the runs of its seeds, to the list; `waits`: they wait for the runs of
 * other processes. Returns false if not all could be added, which the user is told. */
static bool add_runs(struct app *app, const struct run_options *options, bool waits)
{
    struct run_list *runs = &app->shared.runs;
    struct run_config config = app->shared.request.config;
    struct error error = {0};
    char group[RUN_ID_SIZE];
    const size_t first = training_settings(&config).seed, seeds = record_settings(&config).seeds;
    if (seeds > 1)
        config_put(&config, KEY(seed_group), seed_group_new_id(&config, group), NULL);
    for (size_t i = 0; i < seeds; i++) {
        config_put_count(&config, KEY(seed), first + i);
        if (!run_list_add(runs, &config, options, &error)) {
            app_say_error(app, &error);
            return false;
        }
        if (waits)
            run_list_wait_for_others(runs);
    }
    return true;
}

/* Starts the requested run, or puts it into the queue; `waits`: also behind the runs of other
 * processes. */
static void start_run(struct app *app, bool waits)
{
    struct run_list *runs = &app->shared.runs;
    const size_t first = runs->count;
    const struct start_request *request = &app->shared.request;
    const bool busy = run_list_is_busy(runs);
    struct run_options options = runs->count == 0 ? app->options->run : (struct run_options){0};
    options.fork = request->fork;
    if (record_settings(&request->config).seeds > 1 &&
        (options.save_path || options.run_directory)) {
        app_say(app, ROLE_WARNING,
                _("Several seeds cannot share --save or --run-dir: set Seeds to 1."));
        return;
    }
    if (!add_runs(app, &options, waits))
        return;
    app->shared.fork = (struct fork_request){0};
    app->message.text[0] = '\0'; /* what was said about the form has been answered */
    if (app->options->remember)
        remember_form(app, &request->config); /* now, in case the program crashes */
    if (!waits || busy) {
        start_added(app, first, busy);
        return;
    }
    app_say(app, ROLE_GOOD, _("It waits until the runs of other processes have ended."));
    app->shared.runs_changed = true;
}

static void answer_others(struct app *app, size_t choice)
{
    if (choice < 2)
        start_run(app, choice == 0);
}

static void ask_about_others(struct app *app, const struct live_runs *live)
{
    char words[160];
    struct dialog *dialog = dialog_begin(app, _("Another run is on"), answer_others);
    dialog->kept = true;
    run_queue_text(live, words, sizeof words);
    if (live->waiting == 0)
        snprintf(dialog->text, sizeof dialog->text, _("On this machine %s."), words);
    else
        snprintf(dialog->text, sizeof dialog->text,
                 ngettext("On this machine %s; %zu process waits.",
                          "On this machine %s; %zu processes wait.", live->waiting),
                 words, live->waiting);
    dialog_offer(dialog, 'w', 0, _("wait until it ends"));
    dialog_offer(dialog, 'r', 0, _("run now: both become slower"));
    dialog_offer(dialog, 'c', 0, _("neither"));
}

/* A thread checks a requested run: which runs are live, and whether its fork can be made. */
struct start_check {
    struct start_request request;
    struct live_runs live;
    bool good; /* else the settings do not go with the fork */
    struct run_fork fork;
    struct error error;
};

static void check_start(void *state)
{
    struct start_check *check = state;
    const struct start_request *request = &check->request;
    check->good = !request->fork.directory[0] ||
                  fork_plan(&request->fork, &request->config, &check->fork, &check->error);
    if (check->good)
        run_queue_look(&check->live);
}

static void start_or_ask(struct app *app, void *state)
{
    const struct start_check *check = state;
    app->shared.request_open = false;
    if (!check->good) {
        app_say_error(app, &check->error);
        return;
    }
    app->shared.request = check->request;
    if (check->live.count > 0 && !(app->options->start && app->shared.runs.count == 0)) {
        ask_about_others(app, &check->live);
        return;
    }
    start_run(app, false);
    if (check->fork.weights_only)
        app_say(app, ROLE_STRONG,
                _("The fork takes the weights alone: solver state and iterations begin anew."));
}

static bool is_looking(const struct app *app)
{
    return app->shared.request_open && disk_jobs_busy(&app->shared.disk);
}

static void request_start(struct app *app)
{
    struct error error;
    struct start_check *check = memory_new(1, sizeof *check, "a run", &error);
    if (!check) {
        app_say_error(app, &error);
        return;
    }
    check->request = (struct start_request){app->shared.form.config, app->shared.fork};
    app->shared.request_open = true;
    app_start_disk_job(app, check_start, start_or_ask, check);
    if (is_looking(app))
        app_say_while(app, is_looking, ROLE_FAINT, N_("Looking what other processes compute ..."));
}

void app_run_form(struct app *app)
{
    struct form *form = &app->shared.form;
    if (!form_end_edit(form)) {
        app_say_error(app, &form->edit_error);
        return;
    }
    form_make_forecast(form);
    if (form->problem.kind == ERROR_NONE) {
        request_start(app);
        return;
    }
    if (form->problem_field != FORM_NO_FIELD)
        form->focus = form->problem_field;
    app_say_error(app, &form->problem);
}

/* --- polling --- */

void app_report_findings(struct app *app, const struct run_entry *entry, size_t known)
{
    for (size_t i = known; i < entry->snapshot.finding_count; i++) {
        struct finding finding;
        run_finding(entry->run, i, &finding);
        app_say(app, ROLE_BAD, "! %s: %s", gettext(finding_kind_words(finding.kind)), finding.text);
        log_set_run_directory(&app->shared.log, run_entry_directory(entry));
    }
}

/* Shows a message when a run's files cannot be written, and when they can be written again. */
static void report_trouble(struct app *app, const struct run_entry *entry,
                           const struct error *before)
{
    const struct error *now = &entry->snapshot.error;
    if (run_status_is_over(entry->snapshot.status) ||
        (now->kind == before->kind && strcmp(now->why, before->why) == 0))
        return;
    if (now->kind != ERROR_NONE)
        app_say_error(app, now);
    else if (before->kind == ERROR_SYSTEM)
        app_say(app, ROLE_GOOD, "The run's files can be written again; nothing was lost.");
    log_set_run_directory(&app->shared.log, run_entry_directory(entry));
}

static void poll_sweep(struct app *app)
{
    char text[1300], counts[200];
    const struct sweep *sweep = &app->shared.sweep.sweep;
    const struct sweep_job_news news = sweep_job_step(&app->shared.sweep, &app->shared.runs);
    if (app->closing)
        return;
    if (news.cell_ended) {
        const enum sweep_state state = sweep->cells[news.cell].state;
        app_say(app,
                state == SWEEP_FAILED || state == SWEEP_CANNOT_FIT ||
                        sweep_was_killed(&sweep->cells[news.cell])
                    ? ROLE_BAD
                    : ROLE_GOOD,
                "%s", sweep_outcome_text(sweep, news.cell, text, sizeof text));
        app->shared.runs_changed = true;
    }
    if (news.sweep_ended)
        app_say(app, ROLE_GOOD, _("The sweep is over: %s."),
                sweep_counts_text(sweep, counts, sizeof counts));
}

/* The models of a run that has ended, on which what can be done with it depends, and its disk
 * space. */
struct models {
    char directory[512];
    bool saved[RUN_SAVED_KINDS];
    uint64_t disk_bytes;
};

static void look_for_models(void *state)
{
    struct models *models = state;
    run_saved_find(models->directory, models->saved);
    models->disk_bytes = run_disk_bytes(models->directory);
}

static void take_models(struct app *app, void *state)
{
    const struct models *models = state;
    for (size_t i = 0; i < app->shared.runs.count; i++) {
        struct run_entry *entry = &app->shared.runs.entries[i];
        const char *directory = run_entry_directory(entry);
        if (!directory || strcmp(directory, models->directory) != 0)
            continue;
        memcpy(entry->models, models->saved, sizeof entry->models);
        entry->disk_bytes = models->disk_bytes;
    }
}

static void find_models(struct app *app, const char *directory)
{
    struct models *models = memory_new(1, sizeof *models, "the models", NULL);
    if (!models)
        return;
    snprintf(models->directory, sizeof models->directory, "%s", directory);
    app_start_disk_job(app, look_for_models, take_models, models);
}

static void poll_runs(struct app *app)
{
    const struct run_entry *on = run_list_active(&app->shared.runs);
    size_t index = on ? (size_t)(on - app->shared.runs.entries) : 0;
    size_t findings = on ? on->snapshot.finding_count : 0;
    const struct error trouble = on ? on->snapshot.error : (struct error){0};
    size_t before_waiting = run_list_waiting(&app->shared.runs);
    size_t ended = run_list_step(&app->shared.runs);
    if (on && !app->closing) {
        app_report_findings(app, &app->shared.runs.entries[index], findings);
        report_trouble(app, &app->shared.runs.entries[index], &trouble);
    }
    if (app->closing || drop_refused(app, false) || ended == app->shared.runs.count)
        return;
    struct run_entry *entry = &app->shared.runs.entries[ended];
    if (run_entry_directory(entry))
        find_models(app, run_entry_directory(entry));
    app_notify(app, EVENT_RUN_ENDED, entry);
    const bool failed =
        entry->snapshot.status == RUN_FAILED || entry->snapshot.status == RUN_REFUSED;
    if (failed && app_run_in_front(app) == entry) { /* the screen shows why */
        char text[480];
        log_add(&app->shared.log, ROLE_BAD,
                setting_error_format(&entry->snapshot.error, text, sizeof text));
    } else if (failed || entry->snapshot.error.kind != ERROR_NONE)
        app_say_error(app, &entry->snapshot.error);
    else
        app_say(app, ROLE_GOOD,
                before_waiting ? N_("Run %zu (%s) is %s. The next one starts.")
                               : N_("Run %zu (%s) is %s."),
                ended + 1, run_entry_network(entry), language_text(run_entry_status(entry)));
    log_set_run_directory(&app->shared.log, run_entry_directory(entry));
    log_start(app, on);
}

void app_poll_runs(struct app *app)
{
    poll_runs(app);
    poll_sweep(app);
}
