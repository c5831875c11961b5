/* The screen Study prepares a perceptual study. Pictures are made in the background; then the
 * session (study_session.h) uses the whole terminal, and the workbench returns when the vote is
 * saved. An active run continues meanwhile. */
#include "ui/app/app.h"

#include "base/files/file.h"
#include "base/files/user_path.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "ui/app/run_loading.h"
#include "ui/screens/study/internal.h"
#include "ui/screens/study/study_session.h"
#include "ui/terminal/terminal.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- state ---
 *
 * The state of the screen Study. A background job makes the pictures of one chosen run at a time.
 * When a setting changes, the job is cancelled, and its result is discarded even if it ends
 * regularly. */

static const double MIN_SECONDS = 0.05, MAX_SECONDS = 60;
enum { MIN_PICTURES = 4 };

/* Sets the fields' initial values on the first call. */
static void set_defaults(struct study_model *model)
{
    const char *name = getenv("LOGNAME") ? getenv("LOGNAME") : getenv("USER");
    if (model->begun)
        return;
    model->begun = true;
    snprintf(model->values[STUDY_PARTICIPANT], STUDY_NAME_SIZE, "%s", name ? name : "");
    snprintf(model->values[STUDY_SECONDS], sizeof model->values[0], "1");
    snprintf(model->values[STUDY_RESULTS], sizeof model->values[0], STUDY_FILE);
}

/* Frees the pictures. If they are being made, it waits for that to end. */
static void free_pictures(struct study_model *model)
{
    if (model->background_job)
        background_job_finish(model->background_job, NULL);
    model->background_job = NULL;
    study_pictures_free(&model->job.pictures);
    study_free(&model->job.study);
    model->state = STUDY_IDLE;
    model->outdated = false;
}

/* Frees pictures that are ready, or cancels their making. Call it when a setting has changed. */
static void invalidate_pictures(struct study_model *model)
{
    if (model->state == STUDY_READY)
        free_pictures(model);
    else if (model->background_job) { /* poll_pictures notices its end */
        model->outdated = true;
        background_job_cancel(model->background_job);
    }
}

/* Cancels the making of pictures and frees the model's memory. */
static void free_model(struct study_model *model)
{
    if (model->background_job)
        background_job_cancel(model->background_job);
    free_pictures(model);
    study_file_free(&model->file);
    free(model->runs);
    completion_close(&model->completion);
    *model = (struct study_model){0};
}

/* Reads the results file again. A failure is stored in file_error. */
static void read_results(struct study_model *model)
{
    study_file_free(&model->file);
    model->file_error.kind = ERROR_NONE;
    if (!study_file_read(&model->file, model->values[STUDY_RESULTS], false, &model->file_error))
        model->file = (struct study_file){0};
}

/* Adds a run to the list unless it is there already. Returns false with an error when there is no
 * memory. */
static bool add_run(struct study_model *model, const char *directory, const char *network,
                    struct error *error)
{
    for (size_t i = 0; i < model->run_count; i++)
        if (strcmp(model->runs[i].directory, directory) == 0)
            return true;
    if (!memory_grow(&model->runs, &model->run_capacity, model->run_count + 1, sizeof *model->runs,
                     "the list of runs", error))
        return false;
    struct study_run *run = &model->runs[model->run_count++];
    *run = (struct study_run){0};
    snprintf(run->directory, sizeof run->directory, "%s", directory);
    snprintf(run->name, sizeof run->name, "%.95s", file_base_name(directory));
    snprintf(run->network, sizeof run->network, "%.95s", network);
    return true;
}

/* --- fields --- */

static bool check_pictures(const char *text, struct error *error)
{
    size_t count;
    if (!text[0] || (text_to_size(text, &count) && count >= MIN_PICTURES &&
                     count <= STUDY_MAX_IMAGES && count % 2 == 0))
        return true;
    return error_set(error, ERROR_USAGE, _("Pictures"),
                     _("half of them are real, half generated; empty: 50, or what there is"),
                     _("expected an even number from %d to %d"), MIN_PICTURES, STUDY_MAX_IMAGES);
}

static bool check_seconds(const char *text, struct error *error)
{
    double seconds;
    if (text_to_double(text, &seconds) && seconds >= MIN_SECONDS && seconds <= MAX_SECONDS)
        return true;
    return error_set(error, ERROR_USAGE, _("Seconds"), _("give how long each picture is shown"),
                     _("expected a number of %g to %g"), MIN_SECONDS, MAX_SECONDS);
}

static bool check_results(const char *text, struct error *error)
{
    if (text[0] && !file_is_directory(text))
        return true;
    return error_set(error, ERROR_USAGE, _("Results"), _("give a file name"),
                     text[0] ? _("this is a folder") : _("the votes need a file"));
}

/* Checks `text` and stores it in the focused field. Returns false with an error if it is invalid.
 */
static bool set(struct study_model *model, const char *text, struct error *error)
{
    bool good = model->focus == STUDY_PARTICIPANT ? study_check_name(text, _("Participant"), error)
                : model->focus == STUDY_PICTURES  ? check_pictures(text, error)
                : model->focus == STUDY_SECONDS   ? check_seconds(text, error)
                                                  : check_results(text, error);
    if (!good)
        return false;
    snprintf(model->values[model->focus], sizeof model->values[0], "%s", text);
    if (model->focus == STUDY_RESULTS)
        read_results(model);
    if (model->focus != STUDY_RESULTS && model->focus != STUDY_PARTICIPANT)
        invalidate_pictures(model);
    return true;
}

/* --- pictures --- */

/* Returns the first chosen run from number `from` on; run_count: there is none. */
static size_t chosen(const struct study_model *model, size_t from)
{
    while (from < model->run_count && !model->runs[from].chosen)
        from++;
    return from;
}

/* Starts to make the pictures of a run in the background, with `threads` threads (0: all cores).
 * Returns false with an error if it cannot be started. */
static bool start_pictures(struct study_model *model, size_t run, size_t threads,
                           struct error *error)
{
    struct study_job *job = &model->job;
    free_pictures(model);
    *job = (struct study_job){.threads = threads, .study.seed = 1};
    snprintf(job->directory, sizeof job->directory, "%s", model->runs[run].directory);
    text_to_size(model->values[STUDY_PICTURES], &job->wanted);
    text_to_double(model->values[STUDY_SECONDS], &job->study.seconds);
    model->current = run;
    model->done = model->of = 0;
    model->background_job = study_pictures_start(job, error);
    model->state = model->background_job ? STUDY_MAKING : STUDY_IDLE;
    return model->background_job;
}

/* Returns whether the pictures were being made and this has just ended. Then *made is true, or
 * false with an error. */
static bool poll_pictures(struct study_model *model, bool *made, struct error *error)
{
    uint64_t done, of;
    if (!model->background_job)
        return false;
    bool over = background_job_poll(model->background_job, &done, &of);
    model->done = (size_t)done;
    model->of = (size_t)of;
    if (!over)
        return false;
    *made = background_job_finish(model->background_job, error);
    model->background_job = NULL;
    if (*made && model->outdated) /* it was cancelled after its last step */
        *made =
            error_set(error, ERROR_INTERRUPTED, "the study", NULL, "something else is asked for");
    model->state = STUDY_READY;
    if (!*made)
        free_pictures(model);
    return true;
}

static const double POLL_SECONDS = 0.25, LISTING_SECONDS = 0.05;

/* --- opening --- */

/* Returns whether the run's network generates images: it is trained on pairs of images. */
static bool makes_pictures(const struct run_config *config)
{
    const struct data_settings data = data_settings(config);
    return strncmp(data.data, "pairs:", 6) == 0 ||
           (strncmp(data.data, "maps", 4) == 0 && strchr(",", data.data[4]));
}

static struct study_model *study_model(const struct app *app)
{
    return app_state(app, SCREEN_STUDY);
}

static bool find_runs(struct app *app, struct error *error)
{
    for (size_t i = 0; i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        const char *directory = run_entry_is_saved(entry) ? entry->directory
                                : entry->run              ? run_facts(entry->run)->directory
                                                          : "";
        if (entry->refused || !directory[0] || !makes_pictures(&entry->config))
            continue;
        char technique[32], name[64], network[96];
        config_get(&entry->config, KEY(technique), technique, sizeof technique);
        const bool plain = strcmp(technique, "none") == 0;
        snprintf(network, sizeof network, "%s%s%s",
                 config_network_name(network_settings(&entry->config).network, name, sizeof name),
                 plain ? "" : "-", plain ? "" : technique);
        if (entry->models[RUN_SAVED_LAST] && !add_run(study_model(app), directory, network, error))
            return false;
    }
    return true;
}

/* Checks from the environment alone whether the terminal can show pictures; sends no query to it.
 */
static void check_display(struct study_model *model)
{
    struct graphics_facts facts = {0};
    model->display_error.kind = ERROR_NONE;
    graphics_read_environment(&facts);
    graphics_check_possible(&facts, NULL, &model->display_error);
}

static void open_now(struct app *app)
{
    struct error error;
    if (!find_runs(app, &error))
        app_say_error(app, &error);
    set_defaults(study_model(app));
    read_results(study_model(app));
    check_display(study_model(app));
    app_show(app, SCREEN_STUDY);
}

static void go(struct app *app)
{
    loading_read_all_then(app, open_now);
}

/* --- making pictures --- */

/* Starts to make pictures, with one thread while a run is active, so as not to slow it down. */
static void make(struct app *app, size_t run)
{
    struct error error;
    if (!start_pictures(study_model(app), run, run_list_is_busy(&app->shared.runs) ? 1 : 0, &error))
        app_say_error(app, &error);
}

static void take_pictures(struct app *app)
{
    struct study_model *model = study_model(app);
    struct error error = {0};
    bool made = false;
    if (!poll_pictures(model, &made, &error))
        return;
    if (made && app_is_in_front(app, SCREEN_STUDY))
        app_say(app, ROLE_GOOD, "%s", _("The pictures are ready: r begins."));
    else if (made)
        app_say(app, ROLE_GOOD, "%s", _("The pictures of the study are ready: m p goes there."));
    else if (error.kind == ERROR_INTERRUPTED)
        app_say(app, ROLE_STRONG, "%s", _("The making of pictures was cancelled."));
    else
        app_say_error(app, &error);
}

/* --- the session --- */

/* Continues with the next chosen run, whose pictures must be made first. */
static void go_to_next(struct app *app)
{
    struct study_model *model = study_model(app);
    model->runs[model->current].chosen = false;
    size_t next = chosen(model, 0);
    free_pictures(model);
    if (next < model->run_count)
        make(app, next);
}

static void save_vote(struct app *app, const struct study_vote *vote)
{
    struct study_model *model = study_model(app);
    struct error error;
    size_t voters;
    if (!study_file_add(model->values[STUDY_RESULTS], &model->job.study, vote, &voters, &error)) {
        app_say_error(app, &error);
        return;
    }
    app_say(app, ROLE_GOOD, _("Thank you. This is vote number %zu on %s, in %s."), voters,
            model->job.study.network, model->values[STUDY_RESULTS]);
    read_results(model);
    go_to_next(app);
}

static bool run_session(struct app *app, struct study_vote *vote, struct error *error)
{
    struct study_model *model = study_model(app);
    struct study_display display;
    const struct study *study = &model->job.study;
    const char *participant = model->values[STUDY_PARTICIPANT];
    if (!study_file_accepts(model->values[STUDY_RESULTS], study, participant, error) ||
        !study_display_detect_in_workbench(&display, error))
        return false;
    bool held = study_session_run_in_workbench(&display, study, model->job.pictures.images,
                                               participant, vote, error);
    theme_load(&app->theme, app->shared.preferences.colours);
    terminal_redraw();
    return held;
}

static void start_session(struct app *app)
{
    struct study_model *model = study_model(app);
    struct error error = {0};
    struct study_vote vote = {0};
    vote.answers = memory_new(model->job.study.count, sizeof *vote.answers, "a vote", &error);
    if (vote.answers && run_session(app, &vote, &error))
        save_vote(app, &vote);
    else if (error.kind == ERROR_INTERRUPTED)
        app_say(app, ROLE_WARNING, "%s",
                _("You left the session: a study that is not finished saves no vote."));
    else
        app_say_error(app, &error);
    free(vote.answers);
}

static void begin(struct app *app)
{
    struct study_model *model = study_model(app);
    struct study_display display;
    const size_t run = chosen(model, 0);
    if (model->state == STUDY_READY)
        start_session(app);
    else if (study_display_detect_in_workbench(&display,
                                               &model->display_error)) /* before making pictures */
        make(app, run);
    else
        app_say_error(app, &model->display_error);
}

/* --- keys --- */

/* Returns the source of the focused field's candidates, or NULL. */
static completion_source *source_of(const struct study_model *model)
{
    return model->focus == STUDY_RESULTS ? completion_of_paths : NULL;
}

/* Stores what was typed, if it is valid. */
static void take_text(struct app *app)
{
    struct study_model *model = study_model(app);
    struct error error;
    char *text = model->focus == STUDY_RESULTS ? user_path_expand(model->edit.text)
                                               : memory_copy_text(model->edit.text, NULL);
    if (text && set(model, text, &error)) {
        model->editing = false;
        snprintf(app->shared.votes, sizeof app->shared.votes, "%s", model->values[STUDY_RESULTS]);
    } else if (text)
        app_say_error(app, &error);
    free(text);
    if (!model->editing)
        completion_close(&model->completion);
}

static bool take_key(struct app *app, int key)
{
    struct study_model *model = study_model(app);
    if (!model->editing)
        return false;
    const enum completion_result result =
        completion_edit_key(&model->completion, &model->edit, key, source_of(model), NULL);
    const bool ignored = result == COMPLETION_IGNORED;
    if (result == COMPLETION_TAKEN || (ignored && key == UI_ENTER))
        take_text(app);
    else if (ignored && key == UI_ESCAPE) {
        model->editing = false;
        completion_close(&model->completion);
    }
    return true;
}

static void choose(struct app *app)
{
    struct study_model *model = study_model(app);
    const size_t run = model->focus - STUDY_FIELDS;
    model->runs[run].chosen = !model->runs[run].chosen;
    if (run == model->current && !model->runs[run].chosen)
        invalidate_pictures(model);
}

static void open_focused(struct app *app)
{
    struct study_model *model = study_model(app);
    if (model->focus >= STUDY_FIELDS) {
        choose(app);
        return;
    }
    line_edit_begin(&model->edit, model->values[model->focus],
                    model->focus == STUDY_PARTICIPANT ? STUDY_NAME_SIZE : sizeof model->edit.text,
                    true);
    model->editing = true;
}

static void move(struct app *app, int how)
{
    struct study_model *model = study_model(app);
    model->focus = list_move(model->focus, how, 1, STUDY_FIELDS + model->run_count);
    model->follow = true;
}

static void scroll(struct app *app, int how)
{
    study_model(app)->scroll += (int)move_steps(how, 5, 0); /* drawing limits it */
    study_model(app)->follow = false;
}

static void stop(struct app *app)
{
    background_job_cancel(study_model(app)->background_job);
    app_say(app, ROLE_STRONG, "%s", _("The making of pictures is being cancelled."));
}

/* --- what can be done --- */

static const char *no_run(void)
{
    return _("There is no run whose pictures could be judged.");
}

static const char *refuses_to_begin(const struct app *app)
{
    const struct study_model *model = study_model(app);
    if (model->display_error.kind != ERROR_NONE)
        return _("This terminal cannot show the pictures: the screen says why.");
    if (model->state == STUDY_MAKING)
        return _("The pictures are being made; s cancels it.");
    if (model->state == STUDY_READY)
        return NULL;
    if (!study_check_name(model->values[STUDY_PARTICIPANT], _("Participant"), NULL))
        return _("Who takes part? Enter on the first line asks for the name.");
    if (model->run_count == 0)
        return no_run();
    return chosen(model, 0) < model->run_count ? NULL : _("Choose a run first: space on its line.");
}

static const char *refuses_choice(const struct app *app)
{
    const struct study_model *model = study_model(app);
    if (model->focus >= STUDY_FIELDS)
        return NULL;
    return model->run_count > 0 ? _("Space chooses a run: Down goes to the runs.") : no_run();
}

static const char *refuses_stop(const struct app *app)
{
    return study_model(app)->background_job ? NULL : _("No pictures are being made.");
}

static const char *refuses_scroll(const struct app *app, int how)
{
    (void)how;
    return study_model(app)->furthest > 0 ? NULL : _("Everything is visible already.");
}

static const char *begin_word(const struct app *app)
{
    return study_model(app)->state != STUDY_READY ? _("make pictures") : NULL;
}

static const char *open_word(const struct app *app)
{
    return study_model(app)->focus >= STUDY_FIELDS ? _("choose") : NULL;
}

static const struct action actions[] = {
    {"r", "begin", N_("begin"),
     N_("make the pictures of the chosen runs; when they are ready, begin the session"),
     .run = begin, .refused = refuses_to_begin, .word = begin_word},
    {"space", "choose", N_("choose"), N_("choose the run for the study, or not"), .run = choose,
     .refused = refuses_choice},
    {"Enter", "change", N_("change"), N_("change the field, or choose the run"),
     .run = open_focused, .word = open_word},
#define ACTIONS_FIELDS move, NULL
#include "ui/app/actions.inc"
    {"PgUp", "page-up", NULL, N_("scroll back"), scroll, refuses_scroll, .argument = MOVE_PAGE_UP},
    {"PgDn", "page-down", NULL, N_("scroll to the results"), scroll, refuses_scroll,
     .argument = MOVE_PAGE_DOWN},
    {"s", "stop", NULL, N_("cancel the making of pictures"), .run = stop, .refused = refuses_stop},
#define ACTIONS_ENDS move, NULL
#include "ui/app/actions.inc"
};

static void draw(struct app *app, struct rect body)
{
    study_draw(study_model(app), &app->canvas, body);
}

static void close(struct app *app)
{
    free_model(study_model(app));
}

static const struct actions *over(const struct app *app)
{
    const struct study_model *model = study_model(app);
    if (!model->editing)
        return NULL;
    return source_of(model) ? &actions_completing : &actions_editing;
}

static bool work(struct app *app)
{
    struct study_model *model = study_model(app);
    if (model->editing)
        completion_step(&model->completion, &model->edit, source_of(model), NULL);
    take_pictures(app);
    return false;
}

static double busy(const struct app *app)
{
    const struct study_model *model = study_model(app);
    if (completion_is_waiting(&model->completion))
        return LISTING_SECONDS;
    return model->background_job ? POLL_SECONDS : INFINITY;
}

const struct screen study_screen = {
    .name = N_("Study"),
    .letter = 'p',
    .purpose = N_("can people tell a network's pictures from real ones?"),
    .actions = {ACTIONS(N_("Perceptual studies"), actions)},
    .state_size = sizeof(struct study_model),
    .go = go,
    .close = close,
    .take_key = take_key,
    .draw = draw,
    .over = over,
    .work = work,
    .busy = busy,
};
