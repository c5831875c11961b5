/* One table has the kinds of steps: whether they need or may have an argument, whether they train,
 * and the function that makes their command. */
#include "session/models/technique_step.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/host/process_end.h"
#include "base/host/spawn.h"
#include "base/language.h"
#include "base/text.h"
#include "session/compress/prune.h"
#include "session/files/run_directory.h"
#include "session/record/run_open.h"
#include "session/values/run_cause.h"
#include "session/values/run_id.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const double poll_seconds = 0.05, patience_seconds = 30;
enum { LOG_LIMIT = 1 << 20 };

/* --- command lines --- */

static void add(struct technique_command *command, const char *word)
{
    if (command->count < TECHNIQUE_WORDS)
        command->words[command->count++] = word;
    command->words[command->count] = NULL;
}

static void add_option(struct technique_command *command, const char *option, const char *value)
{
    if (!value || !value[0])
        return;
    add(command, option);
    add(command, value);
}

/* Returns a text of the command for a word that is made; the last one if there are too many. */
static char *new_text(struct technique_command *command)
{
    const size_t last = TECHNIQUE_TEXTS - 1;
    return command->texts[command->text_count < last ? command->text_count++ : last];
}

static void add_number(struct technique_command *command, const char *option, size_t value)
{
    char *text = new_text(command);
    snprintf(text, TECHNIQUE_CHAIN, "%zu", value);
    add_option(command, option, text);
}

/* Adds the settings of the configuration that fine-tuning takes over. */
static void add_settings(struct technique_command *command, const struct run_config *config)
{
    static const char *const keys[] = {"preset",       "solver",  "lr",        "momentum",
                                       "weight-decay", "augment", "normalise", "label-smoothing"};
    char value[TECHNIQUE_CHAIN - 40];
    if (!config)
        return;
    add_number(command, "--batch", config->batch);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const bool preset = strcmp(keys[i], "preset") == 0 && config->preset[0];
        if (!preset && !config_is_given(config, keys[i]))
            continue;
        char *text = new_text(command);
        config_get(config, keys[i], value, sizeof value);
        snprintf(text, TECHNIQUE_CHAIN, "--%s=%s", keys[i], value);
        add(command, text);
    }
}

/* Adds the data, the epochs of fine-tuning and its settings. */
static void add_training(struct technique_command *command, const struct technique_target *target,
                         size_t epochs)
{
    add_option(command, "--data", target->data);
    add_option(command, "--validate", target->validate);
    add_number(command, "--epochs", epochs);
    add_settings(command, target->config);
}

/* Adds what all commands take but that which stores half precision. */
static void add_common(struct technique_command *command, const struct technique_target *target)
{
    add_option(command, "--device", target->device);
    add_number(command, "--threads", target->threads);
}

/* Adds the target of a step that makes a network smaller: a share, pSHARE, mSHARE or MSms. */
static void add_goal(struct technique_command *command, const char *argument, const char *plain)
{
    const size_t length = strlen(argument);
    char *text = new_text(command);
    snprintf(text, TECHNIQUE_CHAIN, "%s", argument);
    if (length > 2 && strcmp(argument + length - 2, "ms") == 0) {
        text[length - 2] = '\0';
        add_option(command, "--latency", text);
    } else if (argument[0] == 'p') {
        add_option(command, "--parameters", text + 1);
    } else if (argument[0] == 'm') {
        add_option(command, "--unstructured", text + 1);
    } else {
        add_option(command, plain, text);
    }
}

static void make_quantize(struct technique_command *command, const char *argument,
                          const struct technique_target *target)
{
    add(command, "quantize");
    add(command, target->input);
    add_option(command, "--calibrate", target->data);
    add_option(command, "--data", target->validate);
    add_option(command, "--method", argument);
    add_common(command, target);
    add_number(command, "--seed", target->seed);
    add_option(command, "-o", target->output);
    add(command, "-q");
}

static void make_prune(struct technique_command *command, const char *argument,
                       const struct technique_target *target)
{
    add(command, "prune");
    add(command, target->input);
    add_goal(command, argument, "--flops");
    if (target->epochs > 0)
        add_training(command, target, target->epochs);
    add_common(command, target);
    add_number(command, "--seed", target->seed);
    add_option(command, "-o", target->output);
    add(command, "-q");
}

static void make_factorize(struct technique_command *command, const char *argument,
                           const struct technique_target *target)
{
    add(command, "factorize");
    add(command, target->input);
    add_goal(command, argument, "--energy");
    add_common(command, target);
    add_option(command, "-o", target->output);
    add(command, "-q");
}

/* Trains the model on; `teacher` may be NULL. */
static void make_training(struct technique_command *command, const char *teacher,
                          const struct technique_target *target, size_t epochs)
{
    add(command, "train");
    add(command, target->input);
    add_option(command, "--weights", target->input);
    add_option(command, "--teacher", teacher);
    add_training(command, target, epochs);
    add_common(command, target);
    add_number(command, "--seed", target->seed);
    add_option(command, "--save", target->output);
    add(command, "-q");
}

static void make_distill(struct technique_command *command, const char *argument,
                         const struct technique_target *target)
{
    make_training(command, argument, target, target->epochs > 0 ? target->epochs : 1);
}

static void make_tune(struct technique_command *command, const char *argument,
                      const struct technique_target *target)
{
    (void)argument;
    make_training(command, NULL, target, target->epochs > 0 ? target->epochs : 1);
}

static void make_half(struct technique_command *command, const char *argument,
                      const struct technique_target *target)
{
    add(command, "weights");
    add(command, target->input);
    add_option(command, "--save-precision", argument[0] ? argument : "float16");
    add_option(command, "--save", target->output);
}

/* --- kinds --- */

enum need { NO_ARGUMENT_NEEDED, ARGUMENT_NEEDED };
enum goal { GOAL_NONE, GOAL_SHARE, GOAL_METHOD, GOAL_FORMAT, GOAL_FILE };

static const struct kind {
    const char *name;
    enum need need;
    enum goal goal; /* what the argument is */
    bool trains;
    void (*make)(struct technique_command *command, const char *argument,
                 const struct technique_target *target);
} kinds[] = {{"quantize", NO_ARGUMENT_NEEDED, GOAL_METHOD, false, make_quantize},
             {"prune", ARGUMENT_NEEDED, GOAL_SHARE, true, make_prune},
             {"factorize", NO_ARGUMENT_NEEDED, GOAL_SHARE, true, make_factorize},
             {"distill", ARGUMENT_NEEDED, GOAL_FILE, true, make_distill},
             {"tune", NO_ARGUMENT_NEEDED, GOAL_NONE, true, make_tune},
             {"half", NO_ARGUMENT_NEEDED, GOAL_FORMAT, false, make_half}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Returns the kind of a step and sets *argument, "" if it has none; NULL if there is no such kind.
 */
static const struct kind *kind_of(const char *step, const char **argument)
{
    const size_t length = strcspn(step, ":");
    *argument = step[length] ? step + length + 1 : "";
    for (size_t i = 0; i < KINDS; i++)
        if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, step, length) == 0)
            return &kinds[i];
    return NULL;
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* Returns whether an argument is a share, pSHARE, MSms or, if `zeros` is set, mSHARE. */
static bool is_goal(const char *argument, bool zeros)
{
    char number[40];
    double value;
    const size_t length = strlen(argument);
    const bool time = length > 2 && strcmp(argument + length - 2, "ms") == 0;
    const size_t skipped = !time && (argument[0] == 'p' || (argument[0] == 'm' && zeros));
    snprintf(number, sizeof number, "%.*s", (int)(length - skipped - (time ? 2 : 0)),
             argument + skipped);
    return text_to_double(number, &value) && value > 0 && (time || value <= 1);
}

static bool is_argument(const struct kind *kind, const char *argument)
{
    static const char *const methods[] = {"minmax", "percentile", "entropy", "mse", NULL};
    static const char *const formats[] = {"float16", "bf16", NULL};
    switch (kind->goal) {
    case GOAL_SHARE:
        return is_goal(argument, kind->need == ARGUMENT_NEEDED);
    case GOAL_METHOD:
        return is_one_of(argument, methods);
    case GOAL_FORMAT:
        return is_one_of(argument, formats);
    default:
        return true;
    }
}

static bool check_step(const char *step, struct error *error)
{
    const char *argument;
    const struct kind *kind = kind_of(step, &argument);
    const char *advice = N_("steps are quantize:percentile, prune:0.5, factorize:0.9, "
                            "distill:TEACHER.safetensors and half:float16, joined by +");
    if (!kind)
        return error_set(error, ERROR_USAGE, step, advice,
                         "there is no such technique after training");
    if (!argument[0] && kind->need == ARGUMENT_NEEDED)
        return error_set(error, ERROR_USAGE, step, advice, "it needs a value after a colon");
    return !argument[0] || is_argument(kind, argument) ||
           error_set(error, ERROR_USAGE, step, advice, "its value is not understood");
}

bool technique_chain_read(struct technique_chain *chain, const char *text, struct error *error)
{
    *chain = (struct technique_chain){0};
    if ((size_t)snprintf(chain->text, sizeof chain->text, "%s", text) >= sizeof chain->text)
        return error_set(error, ERROR_USAGE, text, "take fewer steps", "the chain is too long");
    char *rest = chain->text;
    for (char *step; (step = strsep(&rest, "+"));) {
        if (chain->count == TECHNIQUE_STEPS)
            return error_set(error, ERROR_USAGE, text, "take fewer steps",
                             "a chain has at most %d steps", TECHNIQUE_STEPS);
        if (!check_step(step, error))
            return false;
        chain->steps[chain->count++] = step;
    }
    return true;
}

bool technique_step_trains(const char *step)
{
    const char *argument;
    const struct kind *kind = kind_of(step, &argument);
    return kind && kind->trains;
}

bool technique_step_needs_data(const char *step)
{
    return strncmp(step, "quantize", 8) == 0 || strncmp(step, "distill", 7) == 0;
}

void technique_command_make(struct technique_command *command, const char *step,
                            const struct technique_target *target)
{
    const char *argument;
    const struct kind *kind = kind_of(step, &argument);
    command->count = command->text_count = 0;
    add(command, "tinca");
    if (kind)
        kind->make(command, argument, target);
}

void technique_command_tune(struct technique_command *command,
                            const struct technique_target *target)
{
    command->count = command->text_count = 0;
    add(command, "tinca");
    make_training(command, NULL, target, target->epochs);
}

/* --- running --- */

static const char sign[] = "TINCA_STEP";
enum { STEP_INTERRUPTED = 130 }; /* the exit status after a signal */

/* The process of a command. */
struct child {
    pid_t process;
    int status;            /* as waitpid sets it */
    uint64_t memory_kills; /* process_end_memory_kills() before it began */
    uint64_t highest;      /* its highest resident memory, once it has ended */
};

bool technique_step_is_child(void)
{
    return spawn_was_signed(sign);
}

/* Writes the last line "tinca: ..." of the log, without its first word, into `line`. */
static void read_message(const char *log, char *line, size_t size)
{
    size_t length;
    char *text = log ? file_read(log, LOG_LIMIT, &length, NULL) : NULL;
    line[0] = '\0';
    for (char *at = text; at && *at;) {
        const size_t end = strcspn(at, "\n");
        if (strncmp(at, "tinca: ", 7) == 0)
            snprintf(line, size, "%.*s", (int)(end - 7), at + 7);
        at += end + (at[end] == '\n');
    }
    free(text);
}

static const char go_on_advice[] = N_("repeat the command to go on");

/* Sets the error of a command whose process a signal has ended. Returns false. */
static bool explain_signal(const char *step, const struct child *child, struct error *error)
{
    const int signal = WTERMSIG(child->status);
    const enum process_end end = process_end_of(signal, child->memory_kills);
    char bytes[32];
    if (end == PROCESS_END_MEMORY)
        return error_set(error, ERROR_MEMORY, step, go_on_advice,
                         "killed for memory: the system ended its process, which had used %s",
                         text_bytes(child->highest, bytes, sizeof bytes));
    const bool fault = end == PROCESS_END_FAULT;
    return error_set(error, fault ? ERROR_SYSTEM : ERROR_INTERRUPTED, step,
                     fault ? N_("see its log, then repeat it") : go_on_advice,
                     "signal %d (%s) ended its process", signal, strsignal(signal));
}

static bool judge(const char *step, const struct technique_target *target,
                  const struct technique_run *run, const struct child *child, struct error *error)
{
    char message[400];
    if (WIFSIGNALED(child->status))
        return explain_signal(step, child, error);
    const int status = WEXITSTATUS(child->status);
    if (status == 0 && file_exists(target->output))
        return true;
    if (status == STEP_INTERRUPTED)
        return error_set(error, ERROR_INTERRUPTED, step, go_on_advice,
                         "a signal asked its process to stop");
    read_message(run->log, message, sizeof message);
    return error_set(error, status == STEP_MEMORY ? ERROR_MEMORY : ERROR_INPUT, step,
                     "see its log, then repeat it", "%s",
                     message[0] ? message : _("its command has made no model"));
}

/* Waits until the process ends or is to be stopped. Returns whether it has ended. */
static bool wait_for(struct child *child, const struct technique_run *run, uint64_t begun)
{
    for (;;) {
        struct rusage usage = {0};
        const pid_t ended = wait4(child->process, &child->status, WNOHANG, &usage);
        child->highest = (uint64_t)usage.ru_maxrss * 1024;
        if (ended == child->process || (ended < 0 && errno != EINTR))
            return true;
        if ((run->stop && run->stop(run->context)) ||
            (run->seconds > 0 && clock_seconds(begun, clock_nanoseconds()) > run->seconds))
            return false;
        clock_sleep(poll_seconds);
    }
}

/* Ends a process: by SIGTERM, then by SIGKILL. */
static void end_process(struct child *child)
{
    const struct technique_run patience = {.seconds = patience_seconds};
    kill(child->process, SIGTERM);
    if (wait_for(child, &patience, clock_nanoseconds()))
        return;
    kill(child->process, SIGKILL);
    while (waitpid(child->process, &child->status, 0) < 0 && errno == EINTR)
        continue;
}

/* Runs one command, whose output is a file of the target, within the seconds that are left. */
static bool run_command(const char *step, const struct technique_command *command,
                        const struct technique_target *target, const struct technique_run *run,
                        struct error *error)
{
    struct child child = {.status = EXIT_FAILURE << 8, .memory_kills = process_end_memory_kills()};
    const struct spawn spawn = {.words = command->words,
                                .output = run->log,
                                .messages = -1,
                                .group = run->own_group ? SPAWN_GROUP_TIED : SPAWN_GROUP_BOUND,
                                .sign = sign};
    const uint64_t begun = clock_nanoseconds();
    const int failed = spawn_start(&spawn, &child.process);
    if (failed)
        return error_set(error, ERROR_SYSTEM, step, "end other programs, then repeat it",
                         "its process could not be started: %s", strerror(failed));
    if (wait_for(&child, run, begun))
        return judge(step, target, run, &child, error);
    end_process(&child);
    return error_set(error, ERROR_INTERRUPTED, step, go_on_advice, "it was stopped before its end");
}

/* --- steps that train --- */

bool technique_was_cut_off(const struct error *error)
{
    return error->kind == ERROR_INTERRUPTED || run_cause_of_error(error) != RUN_CAUSE_OTHER;
}

/* Reads which run an earlier call has begun. Returns whether it can go on. */
static bool read_begun(const char *note, char directory[PATH_MAX])
{
    size_t length;
    char *text = file_exists(note) ? file_read(note, PATH_MAX - 1, &length, NULL) : NULL;
    struct run_outline *outline = text ? malloc(sizeof *outline) : NULL;
    bool begun = outline && run_peek(text, outline, NULL);
    if (begun) {
        const enum run_status status = outline->snapshot.status;
        begun = status == RUN_INTERRUPTED || status == RUN_STOPPED ||
                run_cause_of(&outline->snapshot) != RUN_CAUSE_OTHER;
        snprintf(directory, PATH_MAX, "%s", text);
    }
    free(outline);
    free(text);
    return begun;
}

/* Chooses the folder of a new run and notes it. */
static bool note_begun(const char *note, const char *network, char directory[PATH_MAX],
                       struct error *error)
{
    char name[RUN_ID_NAME], id[RUN_ID_SIZE];
    char *folder = run_directory_create(NULL, run_id_name(network, "", name), id, error);
    const bool fits = folder && (size_t)snprintf(directory, PATH_MAX, "%s", folder) < PATH_MAX;
    free(folder);
    return fits && file_write(note, directory, strlen(directory), true, error);
}

static void make_resume(struct technique_command *command, const char *directory,
                        const struct technique_target *target)
{
    command->count = command->text_count = 0;
    add(command, "tinca");
    add(command, "resume");
    add(command, directory);
    add_number(command, "--threads", target->threads);
    add(command, "-q");
}

/* Runs a command that trains, or goes on with its run if an earlier call was cut off. */
static bool run_training(const char *step, struct technique_command *command,
                         const struct technique_target *target, const struct technique_run *run,
                         struct error *error)
{
    char directory[PATH_MAX], note[PATH_MAX];
    if ((size_t)snprintf(note, sizeof note, "%s.run", target->output) >= sizeof note)
        return error_set(error, ERROR_USAGE, step, "move it", "its path is too long");
    const bool goes_on = read_begun(note, directory);
    if (goes_on)
        make_resume(command, directory, target);
    else if (note_begun(note, target->input, directory, error))
        add_option(command, "--run-dir", directory);
    else
        return false;
    const bool trained = run_command(step, command, target, run, error);
    if (trained || !technique_was_cut_off(error))
        unlink(note);
    return trained;
}

/* Applies a step whose command does not train, and trains its result on. What it has made before
 * the training stays beside the output until then. */
static bool apply_and_tune(const char *step, const struct technique_target *target,
                           const struct technique_run *run, struct error *error)
{
    struct technique_command command;
    char between[PATH_MAX];
    struct technique_target first = *target, second = *target;
    if ((size_t)snprintf(between, sizeof between, "%s.untrained.safetensors", target->output) >=
        sizeof between)
        return error_set(error, ERROR_USAGE, step, "move it", "its path is too long");
    first.output = second.input = between;
    technique_command_make(&command, step, &first);
    if (!file_exists(between) && !run_command(step, &command, &first, run, error))
        return false;
    technique_command_tune(&command, &second);
    if (!run_training(step, &command, &second, run, error))
        return false;
    unlink(between);
    return true;
}

bool technique_apply(const char *step, const struct technique_target *target,
                     const struct technique_run *run, struct error *error)
{
    struct technique_command command;
    if (file_exists(target->output)) {
        prune_remove_leftovers(target->output);
        return true;
    }
    if (target->epochs > 0 && strncmp(step, "factorize", 9) == 0)
        return apply_and_tune(step, target, run, error);
    technique_command_make(&command, step, target);
    return strcmp(command.words[1], "train") == 0 ? run_training(step, &command, target, run, error)
                                                  : run_command(step, &command, target, run, error);
}
