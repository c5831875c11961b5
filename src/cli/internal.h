/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_CLI_INTERNAL_H
#define TINCA_CLI_INTERNAL_H

#include "base/error.h"
#include "base/host/host.h"
#include "base/json/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs_list.h"
#include "engine/cluster/cluster.h"
#include "exchange/logs/import.h"
#include "exchange/watch/watch.h"
#include "models/saved/error_analysis.h"
#include "models/saved/predictions_file.h"
#include "runs/folder/computed_with.h"
#include "runs/folder/journal.h"
#include "runs/folder/run_prune.h"
#include "runs/history/run_filter.h"
#include "runs/history/run_queue.h"
#include "runs/machine/machine_file.h"
#include "runs/machine/tuned_device.h"
#include "runs/record/run.h"
#include "runs/settings/config.h"
#include "studies/compare/advise.h"
#include "training/bench/bench.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- advise_other.c --- */

/* The second page of the advice, techniques after training: tinca advise --other and --apply. */

struct advise_other {
    bool wanted, apply; /* --other, --apply */
    const char *budget; /* minutes; NULL: not given */
    const char *output; /* the file of the best result; NULL: none */
    bool quiet;
    struct run_config config; /* data, epochs, seed, threads */
};

/* Returns false with an error if the options do not go together. */
bool advise_other_check(const struct advise_other *other, struct error *error);

/* Prints the advice for the request about the models that the operands name or, without any, all of
 * them; applies it if that is asked for. Returns the exit status. */
int advise_other_run(const struct advise_other *other, const struct advise_request *request,
                     const struct operands *operands, bool as_json);

/* --- bench_cluster.c --- */

/* Tinca bench --cluster: how a training iteration scales over processes, measured and by the model
 * of training/bench/scaling.h. */

/* Measures with all ranks of the launcher, and prints the result on rank 0. `ranks` is the value of
 * --ranks. Returns the exit status. */
int bench_cluster_run(const struct run_config *config, struct bench_settings *settings,
                      size_t ranks, bool as_json);

/* --- bench_roofline.c --- */

/* Prints the layers of `tinca bench --profile` against the device's limits. The functions that add
 * to JSON return false if out of memory. */

/* Adds "forward" and "backward" to a layer's object; null if the pass does not exist. */
bool bench_add_passes(struct json *layer, const struct bench *bench, const struct bench_part *part,
                      const struct plan_step *step);
/* Adds "update", the solver's step, to a network's object; null in inference. */
bool bench_add_update(struct json *network, const struct bench *bench,
                      const struct bench_part *part);
/* Adds "roofline" to the document: the limits, and the whole iteration against them. */
bool bench_add_roofline(struct json *root, const struct bench *bench);

/* Prints the limits and how much of them the iteration reaches, as lines of the summary. */
void bench_print_limits(const struct bench *bench);
/* Prints a table of all passes. Returns the exit status. */
int bench_print_passes(const struct bench *bench, const struct bench_part *part);

/* --- completion.c --- */

/* A script of contrib/completion as a text. */
struct completion_script {
    const char *name; /* the file's: "_tinca" */
    const char *text;
};

/* The scripts for bash, zsh and fish, in this order (base/builtin_texts.sh). */
extern const struct completion_script completion_scripts[];
extern const size_t completion_script_count;

/* --- completion_line.c --- */

/* Finds out what the user types at the end of a command line: a command's option, the value of one,
 * or an operand. */

enum { COMPLETION_LINE_OPTIONS = 128 };

struct completion_line {
    const struct option_entry *option;   /* whose value is typed; NULL: none */
    const char *value;                   /* what is typed of it, or of the operand */
    size_t before;                       /* bytes of the word before the value: of "--batch=" */
    bool only_operands;                  /* behind -- */
    bool is_option;                      /* the name of an option is typed */
    size_t operand;                      /* the number of the operand that is typed */
    bool given[COMPLETION_LINE_OPTIONS]; /* the options that stand before, by their number */
};

/* Reads the words of a command line after the command's name, as getopt_long does. The last one is
 * being typed and may be empty; there is at least one. */
struct completion_line completion_line_read(const struct option_entry *entries, size_t count,
                                            char *const *words, size_t word_count);

/* --- completion_values.c --- */

/* Prints the words that can follow on a command line, for the scripts of
 * contrib/completion. Each function prints lines:
 *   =WORD<tab>NOTE   a whole word
 *   +WORD<tab>NOTE   a word that goes on: a folder, KIND:, KEY=
 *   :files [.END...] the shell adds files, those that end so
 *   :folders         the shell adds folders
 * WORD replaces the whole word that is typed. Not thread safe. */

/* The word that is being typed: its first bytes, which stay, and then the value. */
struct typed_value {
    const char *word;
    size_t before;
    const char *value;
};

/* Prints a candidate if it begins with the value. `more`: it goes on. */
void completion_print(const struct typed_value *typed, const char *candidate, const char *note,
                      bool more);

/* Prints the candidates for the value of an option. */
void completion_print_values(const struct option_entry *option, const struct typed_value *typed);

/* Prints the candidates for the operand of this number. Returns false if the command takes no such
 * operand. */
bool completion_print_operands(const struct command *command, const struct option_set *set,
                               size_t operand, const struct typed_value *typed);

/* --- devices_machine.c --- */

/* The figures of this machine, as tinca devices shows them. */

/* The figures of the device cpu with all cores. */
struct devices_machine {
    struct machine_key key;
    struct machine_model model; /* not measured: there are none */
    struct machine_origin origin;
    char *path; /* of their file; NULL: unknown */
};

/* Reads the figures or, after --tune, measures and stores them. Returns false with an error if the
 * device cannot be opened. The caller frees what it sets with devices_machine_free. */
bool devices_machine_find(struct devices_machine *machine, size_t threads, bool tune,
                          struct error *error);
void devices_machine_free(struct devices_machine *machine);

/* Adds the figures to the document. Returns false if out of memory. */
bool devices_machine_add(struct json *root, const struct devices_machine *machine);

/* Prints the figures. Returns the exit status. */
int devices_machine_print(const struct devices_machine *machine);

/* --- devices_ranks.c --- */

/* The processes that a launcher has started, as tinca devices lists them. */

/* A process and the machine on which it runs. */
struct devices_rank {
    char host[CLUSTER_HOST], cpu[128];
    enum instruction_set set;                /* that its kernels use */
    uint64_t process, threads, memory_bytes; /* threads: that it computes with by default */
    struct computed_with with;
    /* The milliseconds of an iteration of all ranks in which it computes, and in which it waits for
     * the others. NaN: not measured. */
    double compute_ms, wait_ms;
};

/* The ranks in their order; count 0: this process is alone. */
struct devices_ranks {
    struct devices_rank *ranks;
    size_t count;
    char library[96];  /* MPI's */
    bool share;        /* they exchange values through memory that they share */
    char failure[512]; /* why they cannot, although they are on one host */
};

/* Gathers what all ranks say of themselves, and measures iterations of them. All of them call it.
 * Returns false with an error after a failure of the cluster. The caller frees the list with
 * devices_ranks_free. */
bool devices_ranks_gather(struct cluster *cluster, struct devices_ranks *ranks,
                          struct error *error);
void devices_ranks_free(struct devices_ranks *ranks);

/* Returns whether no rank before this one is on the same host. */
bool devices_ranks_is_first(const struct devices_ranks *ranks, size_t rank);

/* Adds the list to the document, unless it is empty. Returns false if out of memory. */
bool devices_ranks_add(struct json *root, const struct devices_ranks *ranks);

/* Prints the list, unless it is empty. Returns the exit status. */
int devices_ranks_print(const struct devices_ranks *ranks);

/* --- eval_errors.c --- */

/* Shows a model's errors in tinca eval: the confusion matrix, figures of each class, calibration, a
 * file of all predictions, and the misclassified pictures. */

struct eval_errors {
    bool confusion, per_class;       /* print or add them */
    const char *predictions, *wrong; /* paths; NULL: not asked for */

    const struct model *model;
    const struct dataset *dataset;
    struct error_analysis analysis;
    struct predictions_file file;
    bool file_open;
    size_t wrong_written;
    struct error failed; /* what could not be written; kind ERROR_NONE: nothing */
};

/* Prepares what was asked for. Returns false with an error if a target cannot be written, or the
 * network has no classes. Keeps `model` and `dataset` until eval_errors_finish. */
bool eval_errors_begin(struct eval_errors *errors, const struct model *model,
                       const struct dataset *dataset, struct error *error);

/* Take each image's outcome (outcome_watch), and end the evaluation after a failure to write
 * (evaluation_progress). `context` is a struct eval_errors. */
void eval_errors_watch(void *context, const struct outcome *outcome, const float *logits);
bool eval_errors_progress(void *context, uint64_t done, uint64_t of, struct error *error);

/* Completes the file of predictions. Returns false with an error. */
bool eval_errors_finish(struct eval_errors *errors, struct error *error);

/* Prints what was asked for. Returns the exit status. */
int eval_errors_print(const struct eval_errors *errors);

/* Adds "confusion", "per_class", "macro_f1", "calibration" and "wrong" as asked for. Returns false
 * if out of memory. */
bool eval_errors_add(const struct eval_errors *errors, struct json *root);

/* Frees everything; an incomplete file of predictions is abandoned. */
void eval_errors_free(struct eval_errors *errors);

/* --- event_stream.c --- */

/* Prints a run's events on standard output while it trains, a line of JSON each: first {"event":
 * "run", "id", "directory"}, then the entries of the run's journal (an iteration has no "event"),
 * at last {"event": "result", "status", "error"}. */

struct event_stream {
    char *directory; /* of the run; NULL: not begun */
    struct journal_tail tail;
};

/* Prints the first line. Returns false with an error if out of memory. */
bool event_stream_begin(struct event_stream *stream, const struct run *run, struct error *error);

/* Prints the lines that have come since the last call. */
void event_stream_print(struct event_stream *stream);

/* Prints what is left and the last line, and frees the stream. */
void event_stream_end(struct event_stream *stream, const struct run *run);

/* --- export_model.c --- */

/* Tinca export of models, and of the models of runs. */

struct run;

enum export_operand {
    OPERAND_RUN,   /* a run's folder, or what else may name a run */
    OPERAND_MODEL, /* a safetensors file */
    OPERAND_ONNX,  /* an ONNX file */
    OPERAND_WRONG  /* a file that is none of them, such as a damaged model */
};

/* Returns what an operand is. The content of a file decides, not its name. A run whose name is also
 * that of a file of another kind is a run. Of OPERAND_WRONG `why` says what is wrong with the file.
 */
enum export_operand export_operand_kind(const char *operand, struct error *why);

/* Returns the path of the model that the operand names, which the caller frees: the operand itself,
 * or of a run its best model, or else its last one. *run is then the run, which the caller frees,
 * otherwise NULL. Returns NULL with an error. */
char *export_model_find(const char *operand, struct run **run, struct error *error);

/* Returns the format of this name (weights_format_names); float32 for NULL. */
enum weights_format export_format(const char *name);

struct export_onnx_options {
    bool fold;
    const char *precision; /* NULL: as the model has them */
    const char *integers;  /* NULL: the first of export_onnx_integers */
};

/* The types that the weights of quantized layers can have. */
extern const char *const export_onnx_integers[];

/* The options of a table of options (options.h), with the address of their values. */
#define EXPORT_ONNX_OPTIONS(options)                                                               \
    {.name = "fold-batch-norm",                                                                    \
     .help = N_("ONNX: make batch norms part of the layers before them."),                         \
     .kind = OPTION_SWITCH,                                                                        \
     .value = &(options)->fold},                                                                   \
        {.name = "save-precision",                                                                 \
         .argument = "NAME",                                                                       \
         .help = N_("Models: number format of the weights; without it, the model's."),             \
         .kind = OPTION_NAME,                                                                      \
         .value = &(options)->precision,                                                           \
         .choices = weights_format_names},                                                         \
    {                                                                                              \
        .name = "int8-weights", .argument = "TYPE",                                                \
        .help = N_("ONNX: uint8, exact on every processor, or int8, faster where it has VNNI."),   \
        .kind = OPTION_NAME, .value = &(options)->integers, .choices = export_onnx_integers        \
    }

/* Writes the saved model, or the model of the run, that `operand` names as an ONNX file. Returns
 * false with an error. */
bool export_onnx(const char *operand, const struct export_onnx_options *options, const char *path,
                 struct error *error);

/* The option of a table of options (options.h), with the address of its value. */
#define EXPORT_TORCH_OPTIONS(names_value)                                                          \
    {                                                                                              \
        .name = "names", .argument = "MAPPING",                                                    \
        .help = N_("PyTorch: how the arrays are named: a built-in mapping, a file of one, or "     \
                   "network; without it, the usual one for the network."),                         \
        .kind = OPTION_TEXT, .value = (names_value)                                                \
    }

/* Writes the saved model, or the model of the run, that `operand` names as a state dict of PyTorch.
 * `names` is a mapping (weights_names.h), and `precision` one of weights_format_names; NULL: the
 * mapping of the network, and the format of the model. Returns false with an error. */
bool export_torch(const char *operand, const char *names, const char *precision, const char *path,
                  struct error *error);

/* Writes the network that `operand` names (a network, a saved model, or a run) as the file `path`
 * and, with weights, as the .caffemodel file of the same name beside it. Returns false with an
 * error. */
bool export_caffe(const char *operand, const char *path, bool weights, struct error *error);

/* --- import_caffe.c --- */

/* Tinca import NET.prototxt, NET.caffemodel and solver.prototxt. */

struct import_caffe_options {
    const char *weights; /* --weights: the .caffemodel file, or NULL */
    const char *order;   /* --channel-order: of import_caffe_orders, or NULL */
    const char *input;   /* --input: CxHxW, or NULL */
};

/* The orders of channels that a network can have been trained with; NULL-terminated. */
extern const char *const import_caffe_orders[];

/* The options of a table of options (options.h), with the address of their values. */
#define IMPORT_CAFFE_OPTIONS(options)                                                              \
    {.name = "weights",                                                                            \
     .argument = "FILE",                                                                           \
     .help = N_("Caffe: the .caffemodel file of the network; without it only a network file is "   \
                "written."),                                                                       \
     .kind = OPTION_TEXT,                                                                          \
     .value = &(options)->weights},                                                                \
        {.name = "channel-order",                                                                  \
         .argument = "NAME",                                                                       \
         .help = N_("Caffe: the channels that the network was trained on; bgr, as Caffe reads "    \
                    "images, or rgb."),                                                            \
         .kind = OPTION_NAME,                                                                      \
         .value = &(options)->order,                                                               \
         .choices = import_caffe_orders},                                                          \
    {                                                                                              \
        .name = "input", .argument = "CxHxW",                                                      \
        .help = N_("Caffe: channels, height and width of the images, if the file does not have "   \
                   "them."),                                                                       \
        .kind = OPTION_TEXT, .value = &(options)->input                                            \
    }

/* Returns whether one of the operands is a file of Caffe's. */
bool import_caffe_is(const struct operands *operands);

/* Makes a network file and a saved model of a network of Caffe, or prints a solver file as options.
 * Returns the exit status. `output`, `normalise` and `as_json` are as for a model of ONNX. */
int import_caffe_network(const struct operands *operands,
                         const struct import_caffe_options *options, const char *output,
                         const char *normalise, bool as_json);

/* --- import_onnx.c --- */

/* Tinca import MODEL.onnx. */

struct import_onnx_options {
    const char *output;    /* the saved model, or NULL: named after the file, in this folder */
    const char *normalise; /* or NULL */
    bool as_json;
};

/* The normalisations that --normalise knows; NULL-terminated. */
extern const char *const import_onnx_normalisations[];

/* The options of a table of options (options.h), with the address of their values. */
#define IMPORT_ONNX_OPTIONS(options)                                                               \
    {.name = "output",                                                                             \
     .letter = 'o',                                                                                \
     .argument = "FILE",                                                                           \
     .help = N_(                                                                                   \
         "Models: the saved model to write, FILE.safetensors (unless of PyTorch also FILE.json "   \
         "beside it); without it, named after the file, in the current folder."),                  \
     .kind = OPTION_TEXT,                                                                          \
     .value = &(options)->output},                                                                 \
    {                                                                                              \
        .name = "normalise", .argument = "NAME",                                                   \
        .help = N_("Models: how images are normalised; without it, as the file says, or usual."),  \
        .kind = OPTION_NAME, .value = &(options)->normalise, .choices = import_onnx_normalisations \
    }

/* Makes a network file and a saved model of an ONNX file, and prints what it made, or what tinca
 * lacks. Returns the exit status. */
int import_onnx(const char *path, const struct import_onnx_options *options);

/* --- import_torch.c --- */

/* Tinca import STATE.safetensors. */

struct import_torch_options {
    const char *output;    /* the saved model, or NULL: named after its network, in this folder */
    const char *network;   /* NULL: the built-in network that fits */
    const char *names;     /* a mapping, or NULL */
    const char *normalise; /* or NULL */
    size_t classes;        /* 0: those of the state dict */
    bool as_json;
};

/* The options of a table of options (options.h) that only state dicts have. */
#define IMPORT_TORCH_OPTIONS(options)                                                              \
    {.name = "names",                                                                              \
     .argument = "MAPPING",                                                                        \
     .help = N_("PyTorch: how the arrays are named: a built-in mapping, a file of one, or "        \
                "network; without it, the one that fits."),                                        \
     .kind = OPTION_TEXT,                                                                          \
     .value = &(options)->names},                                                                  \
    {                                                                                              \
        .name = "classes", .argument = "N",                                                        \
        .help = N_("PyTorch: the network's classes; without it, those of the state dict."),        \
        .kind = OPTION_COUNT, .value = &(options)->classes, .low = 1, .high = 1000000              \
    }

/* Makes a saved model of a state dict of PyTorch, and prints which mapping fits, or every array
 * that is missing, unexpected or of another shape. Returns the exit status. */
int import_torch(const char *path, const struct import_torch_options *options);

/* --- runs_check.c --- */

/* Verifies the files of runs, for tinca runs --check. */

/* Checks the run that is named by its ID, the beginning of its ID, its name or its folder, or all
 * runs if `run` is NULL. Prints each problem, or one JSON document. Returns the exit status: 1 if
 * something is damaged. */
int runs_check(const char *run, bool as_json);

/* --- runs_groups.c --- */

/* The groups of seeds among listed runs (runs/history/seed_group.h), for tinca runs. Not thread-
 * safe. */

struct runs_group;

struct runs_groups { /* starts as {0} */
    struct runs_group *list;
    size_t count, capacity;
    bool failed; /* memory was short */
};

/* Adds a listed run to its group; returns false if it belongs to none. */
bool runs_groups_add(struct runs_groups *groups, const struct listed_run *run);

/* Appends a row for each group to the table of tinca runs, with `disk` also the space that its runs
 * take. `filtered`: a group may have runs that are not listed. Returns their number. */
size_t runs_groups_add_rows(struct runs_groups *groups, struct table *table, bool disk,
                            bool filtered);

/* Adds an object for each group. Returns false if memory runs out. */
bool runs_groups_add_objects(struct runs_groups *groups, struct json *list);

void runs_groups_free(struct runs_groups *groups);

/* --- runs_storage.c --- */

/* Tinca runs --delete, --undelete, --empty-trash and --prune. Each function returns the exit
 * status. Not thread-safe. */

/* Deletes the runs of the list, which move to the trash. Asks on a terminal unless `yes`; without a
 * terminal and without `yes` it fails. Deletes nothing if one of them is on or waits. */
int runs_delete(const struct runs_list *list, bool yes, bool as_json);

/* Deletes weights of the runs of the list that are no longer needed (run_prune.h), for good. Asks
 * like runs_delete. Leaves runs that are on or wait alone, and says so. */
int runs_prune(const struct runs_list *list, enum run_keep keep, bool yes, bool as_json);

/* Restores the runs of the last deletion. */
int runs_undelete(void);

/* Removes all deleted runs for good. */
int runs_empty_trash(void);

/* --- runs_waiting.c --- */

/* The runs that wait in the queue (runs/history/run_queue.h), for `tinca runs`. */

/* Returns the place of the run in `directory` that waits to be resumed, or count. */
size_t runs_waiting_find(const struct queued_run *list, size_t count, const char *directory);

/* Writes the translated status "waiting, place 2". Returns `text`. */
char *runs_waiting_status(size_t place, char *text, size_t size);

/* Adds the member "queue" with the place, its process, its machine and since when it waits. */
bool runs_waiting_add_json(struct json *object, const struct queued_run *run, size_t place);

/* Appends the rows of the new runs that wait and match; returns how many. Those that wait to be
 * resumed have rows already. */
size_t runs_waiting_add_rows(struct table *table, const struct queued_run *list, size_t count,
                             const struct run_filter *filter);

/* Adds the new runs that wait and match, as objects without ID. */
bool runs_waiting_add_objects(struct json *list, const struct queued_run *queued, size_t count,
                              const struct run_filter *filter);

/* --- version.c --- */

/* The commit that the program was made of (build_commit.sh): "aa86f5c01234",
 * "aa86f5c01234-modified" if files differed from it; "": unknown. */
extern const char build_commit[];

/* Prints "tinca X.Y.Z", the licence, and a line for each part of the build: commit, compiler,
 * libraries, instruction sets, modules; the modules that are left out with the reason. `as_json`:
 * the same as one JSON document. Opens no device and no module. Returns the exit status. */
int version_print(bool as_json);

#endif
