/* Writes the report: problems, the states of files, and the remedy of each problem, once it is
 * known which files of the run are sound. The commands that a remedy names must work:
 * tests/cli/runs_check_test.sh runs them. */
#include "training/check/internal.h"

#include "base/escape/shell.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/text.h"
#include "runs/record/run_integrity.h"
#include "runs/settings/config_data.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- reporting --- */

/* Returns the index for a new problem, or RUN_CHECK_PROBLEMS_MAX if it must be omitted. In a full
 * list, an error replaces the last warning. */
static size_t choose_place(struct run_check *report, enum run_problem_severity severity)
{
    if (report->count < RUN_CHECK_PROBLEMS_MAX)
        return report->count++;
    report->omitted++;
    for (size_t i = report->count; severity == RUN_PROBLEM_ERROR && i-- > 0;)
        if (report->problems[i].severity == RUN_PROBLEM_WARNING)
            return i;
    report->omitted_errors += severity == RUN_PROBLEM_ERROR;
    return RUN_CHECK_PROBLEMS_MAX;
}

void check_report(struct check *check, const char *file, enum run_problem_severity severity,
                  enum check_remedy remedy, const char *what, ...)
{
    struct run_check *report = check->report;
    va_list arguments;
    const size_t place = choose_place(report, severity);
    if (place == RUN_CHECK_PROBLEMS_MAX)
        return;
    struct run_problem *problem = &report->problems[place];
    *problem = (struct run_problem){.severity = severity};
    snprintf(problem->file, sizeof problem->file, "%s", file);
    va_start(arguments, what);
    vsnprintf(problem->what, sizeof problem->what, what, arguments);
    va_end(arguments);
    check->remedies[place] = remedy;
}

void check_note_damage(struct check *check)
{
    check->files[check->file].damaged = true;
}

/* Returns the first of the file's rows; a file may have two. */
struct check_file_state *check_find_state(const struct check *check, const char *file)
{
    for (size_t i = 0; i < check->file_count; i++)
        if (strcmp(check->files[i].name, file) == 0)
            return &check->files[i];
    return NULL;
}

void check_damage_by(struct check *check, const char *file, enum check_remedy remedy,
                     const struct error *error)
{
    check->out_of_memory |= error->kind == ERROR_MEMORY;
    check_damage(check, file, remedy, "%s", error->why);
}

const struct check_file_state *check_state(const struct check *check, const char *file)
{
    return check_find_state(check, file);
}

bool check_is_here(const struct check *check, const char *file)
{
    return check_state(check, file)->presence == FILE_HERE;
}

bool check_is_sound(const struct check *check, const char *file)
{
    return check_is_here(check, file) && !check_state(check, file)->damaged;
}

bool check_has_diverged(const struct check *check)
{
    return check->record.has_divergence || check->record.has_null_loss;
}

char *check_path(struct check *check, const char *file)
{
    char *path = file_join(check->directory, file);
    check->out_of_memory |= !path;
    return path;
}

/* --- remedies --- */

enum { SIZE = sizeof((struct run_problem *)NULL)->remedy, WORD = 320 };

/* The possible ways to continue or use the run. */
struct outlook {
    /* words of a command line: */
    char run[WORD];    /* operand for the run */
    char folder[WORD]; /* its folder */
    char model[WORD];  /* path of a sound model; "": none */
    char data[WORD];   /* SPEC on which the model can be tried */

    bool resumable;       /* the run's status allows resuming it */
    const char *from;     /* sound checkpoint from which it resumes; NULL: none */
    uint64_t iteration;   /* that checkpoint's iteration */
    const char *unfit;    /* checkpoint at which resuming would fail; NULL: none */
    bool has_checkpoints; /* there are checkpoint files, sound or not */
    bool begins;          /* resuming starts from the first iteration, as the journal has changed */
    bool spoilt_summary;  /* summary.json is damaged, which makes resuming fail */
};

static const char *const checkpoints[] = {"checkpoint.safetensors",
                                          "checkpoint.previous.safetensors"};

/* The state of a checkpoint, as `tinca resume` treats it. */
enum fitness {
    MISSING,
    DAMAGED, /* incomplete: ignored */
    UNFIT,   /* complete, but with wrong contents: resuming fails */
    ALONE,   /* complete, but the journal has changed since: ignored */
    FITS
};

static enum fitness fitness_of(struct check *check, size_t i)
{
    struct safetensors file;
    if (check_state(check, checkpoints[i])->presence == FILE_ABSENT)
        return MISSING;
    char *path = check->marks[i].file ? check_path(check, checkpoints[i]) : NULL;
    const bool open = path && safetensors_open(&file, path, NULL);
    free(path);
    if (!open)
        return DAMAGED;
    const bool placed = run_integrity_check_place(&file, &check->config, NULL);
    const bool continues = run_integrity_check_journal(check->directory, &file, NULL);
    safetensors_close(&file);
    return !placed                                 ? DAMAGED
           : !continues                            ? ALONE
           : check_is_sound(check, checkpoints[i]) ? FITS
                                                   : UNFIT;
}

/* Writes the path of a file in the run's folder as a word of a command line. Returns `word`. */
static char *path_word(struct check *check, const char *file, char *word)
{
    char *path = check_path(check, file);
    shell_operand(path ? path : file, word, WORD);
    free(path);
    return word;
}

static void find_model(struct check *check, struct outlook *outlook)
{
    static const char *const models[] = {"weights.safetensors", "best.safetensors"};
    struct text data = {0};
    char spec[CONFIG_SPEC];
    if (check->has_config)
        shell_word_append(&data, config_measured_spec(&check->config, spec));
    snprintf(outlook->data, WORD, "%s",
             data.data && !data.failed && data.length < WORD ? data.data : "SPEC");
    text_free(&data);
    for (size_t i = 0; i < 2 && !outlook->model[0]; i++)
        if (check_is_sound(check, models[i]))
            path_word(check, models[i], outlook->model);
}

static void find_checkpoint(struct check *check, struct outlook *outlook)
{
    for (size_t i = 0; i < 2 && !outlook->from; i++) {
        const enum fitness fitness = fitness_of(check, i);
        outlook->begins |= fitness == ALONE;
        outlook->has_checkpoints |= fitness != MISSING;
        if (fitness == UNFIT)
            outlook->unfit = checkpoints[i];
        if (fitness == FITS) {
            outlook->from = checkpoints[i];
            outlook->iteration = check->marks[i].iteration;
        }
    }
}

/* Returns whether the run can be computed from its first iteration: a fork cannot do that without
 * its ancestor's weights, nor if it continued its ancestor's iterations. */
static bool can_begin_again(const struct check *check)
{
    const struct run_fork *fork = &check->facts.fork;
    return !fork->ancestor[0] ||
           (fork->weights_only && check_is_sound(check, "ancestor.safetensors"));
}

static struct outlook find_outlook(struct check *check)
{
    const struct run_snapshot *end = &check->summary.snapshot;
    const bool over = check->summary.read;
    const bool again =
        over && end->status == RUN_DONE && !run_integrity_check_end(check->directory, NULL, NULL);
    struct outlook outlook = {
        .resumable = check_is_sound(check, "config.json") && !check->facts.imported[0] &&
                     !(over && end->status == RUN_DONE && !again) &&
                     !(over && end->status == RUN_FAILED && end->error.kind == ERROR_DIVERGED),
        .spoilt_summary =
            check_is_here(check, "summary.json") && !check_is_sound(check, "summary.json"),
        .begins = again};
    shell_operand(check->home ? check->report->id : check->directory, outlook.run, WORD);
    shell_operand(check->directory, outlook.folder, WORD);
    find_model(check, &outlook);
    find_checkpoint(check, &outlook);
    outlook.resumable &= outlook.from || can_begin_again(check);
    return outlook;
}

/* --- sentences --- */

/* Appends "; a model is intact: ..." if there is one. */
static void add_model(const struct outlook *outlook, char *text)
{
    const size_t length = strlen(text);
    if (outlook->model[0] && length < SIZE)
        snprintf(text + length, SIZE - length, _("; a model is intact: tinca eval %s --data %s"),
                 outlook->model, outlook->data);
}

/* Writes how to resume the run, from a checkpoint or from its start. Returns false if it cannot be
 * resumed. */
static bool write_resumption(const struct outlook *outlook, char *text)
{
    if (!outlook->resumable)
        return false;
    const unsigned long long iteration = outlook->iteration;
    if (outlook->from && outlook->unfit)
        snprintf(text, SIZE, _("delete %s, then tinca resume %s goes on from %s, iteration %llu"),
                 outlook->unfit, outlook->run, outlook->from, iteration);
    else if (outlook->from)
        snprintf(text, SIZE, _("tinca resume %s goes on from %s, iteration %llu"), outlook->run,
                 outlook->from, iteration);
    else if (!outlook->has_checkpoints || (outlook->begins && !outlook->unfit))
        snprintf(text, SIZE, _("tinca resume %s computes it again from its first iteration"),
                 outlook->run);
    else
        snprintf(text, SIZE,
                 _("delete both checkpoints, then tinca resume %s computes it again from its "
                   "first iteration"),
                 outlook->run);
    return true;
}

static void word_record(const struct outlook *outlook, char *text)
{
    if (!write_resumption(outlook, text)) {
        snprintf(text, SIZE, "%s", _("only a copy of the file can restore the records"));
        add_model(outlook, text);
    }
}

static void word_model(const struct outlook *outlook, char *text)
{
    char going_on[SIZE];
    if (write_resumption(outlook, going_on))
        snprintf(text, SIZE, _("%s, and saves its models again"), going_on);
    else
        snprintf(text, SIZE, "%s", _("bring back a copy of it, or train it again"));
    add_model(outlook, text);
}

static void word_config(const struct outlook *outlook, char *text)
{
    snprintf(text, SIZE, "%s",
             outlook->model[0]
                 ? _("bring back a copy of it: without it the run cannot be shown or resumed")
                 : _("bring back a copy of it, or delete the folder: without it the run "
                     "cannot be shown or resumed"));
    add_model(outlook, text);
}

/* Completes the remedy of a missing ancestor: a fork reads its ancestor's weights only when it
 * begins with its first iteration. */
static void word_ancestor(const struct outlook *outlook, bool done, char *text)
{
    snprintf(text, SIZE, "%s",
             done || outlook->from ? _("delete it: the run needs nothing of it")
                                   : _("bring back a copy of it, or fork the ancestor again"));
}

/* Writes the remedy of a damaged summary, at which `tinca resume` fails, so that it must be deleted
 * first. */
static void write_summary_remedy(const struct outlook *outlook, char *text)
{
    char going_on[SIZE];
    if (!write_resumption(outlook, going_on))
        snprintf(text, SIZE, "%s", _("bring back a copy of it; the journal is what counts"));
    else
        snprintf(text, SIZE, outlook->spoilt_summary ? _("delete it, then %s") : "%s", going_on);
    add_model(outlook, text);
}

/* The remedies that are the same for every run. */
static const char *const sentences[] = {
    [REMEDY_NONE] = N_("nothing need be done"),
    [REMEDY_CHANGED] =
        N_("bring back a copy of it; if the change is meant, delete its line \"crc32\""),
    [REMEDY_DELETE] = N_("delete it: the run needs nothing of it"),
    [REMEDY_MOVE] = N_("move it elsewhere: tinca deletes no run with such a file"),
    [REMEDY_RENAME] = N_("give the folder its name back"),
    [REMEDY_NAME] = N_("name the run again: R in the workbench's list of runs"),
    [REMEDY_TAGS] = N_("give the tags again: t in the workbench's list of runs"),
    [REMEDY_NOTE] = N_("write the note again: N in the workbench's list of runs"),
    [REMEDY_VERSION] = N_("use the version of tinca that wrote it"),
};

static void word(struct check *check, const struct outlook *outlook, enum check_remedy remedy,
                 const char *file, char *text)
{
    char path[WORD];
    switch (remedy) {
    case REMEDY_CONFIG:
        word_config(outlook, text);
        break;
    case REMEDY_RECORD:
    case REMEDY_CHECKPOINT:
        word_record(outlook, text);
        break;
    case REMEDY_MODEL:
        word_model(outlook, text);
        break;
    case REMEDY_ANCESTOR:
        word_ancestor(outlook, check->summary.read && check->summary.snapshot.status == RUN_DONE,
                      text);
        break;
    case REMEDY_SUMMARY:
        write_summary_remedy(outlook, text);
        break;
    case REMEDY_DELETE_RUN:
        snprintf(text, SIZE, _("delete the folder: %s"), outlook->folder);
        break;
    case REMEDY_MEASURE:
        snprintf(text, SIZE, _("delete it, then measure again: tinca measure %s"), outlook->run);
        break;
    case REMEDY_EXPERIMENT:
        snprintf(text, SIZE, "%s",
                 outlook->resumable
                     ? _("delete it: tinca resume then goes on without comparing with it")
                     : _("delete it: only tinca resume would compare with it"));
        break;
    case REMEDY_OWNER:
        snprintf(text, SIZE, "%s",
                 _("take it over with chown; or, if your group shares it, set \"shared-runs\" "
                   "(tinca-config(5))"));
        break;
    case REMEDY_PERMISSIONS:
        snprintf(text, SIZE, _("chmod u+rX,go-w %s"),
                 strcmp(file, ".") == 0 ? outlook->folder : path_word(check, file, path));
        break;
    case REMEDY_RESUME:
        snprintf(text, SIZE,
                 outlook->resumable ? _("nothing need be done: tinca resume %s puts it right")
                                    : _("nothing need be done for run %s"),
                 outlook->run);
        break;
    default:
        snprintf(text, SIZE, "%s", gettext(sentences[remedy]));
        break;
    }
}

void check_write_remedies(struct check *check)
{
    const struct outlook outlook = find_outlook(check);
    for (size_t i = 0; i < check->report->count; i++) {
        struct run_problem *problem = &check->report->problems[i];
        word(check, &outlook, check->remedies[i], problem->file, problem->remedy);
    }
}
