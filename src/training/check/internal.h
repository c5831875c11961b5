/* internal.h: the state and functions that the files of this folder share; no other folder includes
 * it. */
#ifndef TINCA_TRAINING_CHECK_INTERNAL_H
#define TINCA_TRAINING_CHECK_INTERNAL_H

#include "engine/network/network.h"
#include "engine/weights/safetensors.h"
#include "runs/record/run_state.h"
#include "training/check/run_check.h"

#include <dirent.h>
#include <stdint.h>

/* --- a check of a run --- */

/* Shared by the checks of a run's files.
 *
 * A table in run_check.c lists one or two checks for each file. A check reports problems, and
 * stores facts for the checks after it. The remedy of a problem depends on which other files are
 * sound; so a check only chooses its kind, and run_check_report.c writes the text after all checks.
 */

enum check_remedy {
    REMEDY_NONE,        /* do nothing */
    REMEDY_CONFIG,      /* restore config.json, without which there is no run */
    REMEDY_CHANGED,     /* config.json is readable, but its checksum is wrong */
    REMEDY_RECORD,      /* compute the journal again, or restore it */
    REMEDY_CHECKPOINT,  /* the same for one of the two checkpoints */
    REMEDY_MODEL,       /* the same for weights, best model or discriminator */
    REMEDY_ANCESTOR,    /* restore the weights that a fork begins with, if it needs them */
    REMEDY_SUMMARY,     /* the same for summary.json */
    REMEDY_DELETE,      /* delete the file, which is not needed */
    REMEDY_DELETE_RUN,  /* delete the folder, which contains no run */
    REMEDY_MEASURE,     /* measure the model again */
    REMEDY_EXPERIMENT,  /* delete a file that resumed runs are compared with */
    REMEDY_MOVE,        /* move a file away that tinca did not write */
    REMEDY_OWNER,       /* chown */
    REMEDY_PERMISSIONS, /* chmod */
    REMEDY_RENAME,      /* rename the folder to the run's ID */
    REMEDY_RESUME,      /* nothing: resuming repairs it */
    REMEDY_NAME,        /* name the run again */
    REMEDY_TAGS,        /* give the tags again */
    REMEDY_NOTE,        /* write the note again */
    REMEDY_VERSION,     /* use the later version of tinca that wrote the file */
};

/* FILE_STRANGE: not a regular file, which has already been reported. */
enum check_presence { FILE_ABSENT, FILE_HERE, FILE_STRANGE };

/* The state of a file after its check. */
struct check_file_state {
    const char *name;
    enum check_presence presence;
    bool damaged;
};

/* The end of the journal that a checkpoint or the summary records. */
struct check_mark {
    const char *file; /* NULL: there is no such file */
    struct journal_mark end;
    bool has_iteration;
    uint64_t iteration; /* the checkpoint's iteration */
    /* what the journal really has there: */
    bool is_met; /* an entry ends there */
    uint64_t found_iteration;
};
enum { MARK_CHECKPOINT, MARK_PREVIOUS, MARK_SUMMARY, MARKS };

/* The readable part of the journal. */
struct check_record {
    bool read, started, ended, torn;
    struct run_facts facts;       /* the facts in the start event */
    struct run_snapshot snapshot; /* the state in the start event */
    uint64_t points, validations, checkpoints;
    struct series_point last;
    struct series_validation last_validation;
    double best_top1, best_validation_loss; /* NaN: none */
    struct run_test test;
    bool has_null_loss, has_divergence, has_plateau;
    bool goes_on_after_validation; /* a line follows the first validation */
};

struct check_summary {
    bool read; /* completely */
    struct run_snapshot snapshot;
};

struct check {
    const char *directory;
    struct run_check *report;
    enum check_remedy *remedies; /* one for each problem */
    bool home, out_of_memory;
    bool alive;                     /* a process trains the run */
    struct check_file_state *files; /* one for each row of the table in run_check.c */
    size_t file_count;
    size_t file;     /* row of the file that is being checked */
    bool has_config; /* config.json is readable */
    struct run_config config;
    struct run_facts facts;
    const char *journal; /* the name of the journal: that of its form */
    struct check_record record;
    struct check_summary summary;
    struct check_mark marks[MARKS];
    struct network *network; /* the run's network, if a sound file describes it; else NULL */
};

/* Reports a problem of a file, or of the folder ("."). `what` is translated already. */
void check_report(struct check *check, const char *file, enum run_problem_severity severity,
                  enum check_remedy remedy, const char *what, ...)
    __attribute__((format(printf, 5, 6)));

/* Reports an error of the file that is being checked, and marks it as damaged. */
#define check_damage(check, file, remedy, ...)                                                     \
    (check_note_damage(check), check_report(check, file, RUN_PROBLEM_ERROR, remedy, __VA_ARGS__))
void check_note_damage(struct check *check);

/* Reports the reason of `error` as damage of `file`. */
void check_damage_by(struct check *check, const char *file, enum check_remedy remedy,
                     const struct error *error);

/* Return the state of a file by its name. The file must be in the table; only check_find_state
 * returns NULL if it is not. */
struct check_file_state *check_find_state(const struct check *check, const char *file);
const struct check_file_state *check_state(const struct check *check, const char *file);
bool check_is_here(const struct check *check, const char *file);  /* it is a regular file */
bool check_is_sound(const struct check *check, const char *file); /* and it is not damaged */

/* Returns whether the loss became NaN or infinite; the weights may then be NaN or infinite, too. */
bool check_has_diverged(const struct check *check);

/* Returns "DIRECTORY/FILE", owned by the caller. Returns NULL and sets out_of_memory if memory is
 * out. */
char *check_path(struct check *check, const char *file);

/* Compares two entries by name, for scandir. In run_check_folder.c. */
int check_compare_names(const struct dirent **a, const struct dirent **b);

/* Checks the folder, its entries, and sample pictures. Returns false if the folder cannot be read.
 * In run_check_folder.c. */
bool check_folder(struct check *check);

/* These are the checks of the table; `file` is the name of the file. */
void check_config(struct check *check, const char *file);
void check_user_line(struct check *check, const char *file);
void check_lock(struct check *check, const char *file);
void check_summary(struct check *check, const char *file);
void check_measurements(struct check *check, const char *file);
void check_correct(struct check *check, const char *file);
void check_outputs(struct check *check, const char *file);
void check_killed(struct check *check, const char *file);
void check_profile(struct check *check, const char *file);
void check_data(struct check *check, const char *file);
void check_network(struct check *check, const char *file);
void check_checkpoint_mark(struct check *check, const char *file);
void check_checkpoint(struct check *check, const char *file);
void check_journal(struct check *check, const char *file);
void check_old_journal(struct check *check, const char *file);
void check_model(struct check *check, const char *file);
void check_discriminator(struct check *check, const char *file);
void check_ancestor(struct check *check, const char *file);

/* --- run_check_json.c --- */

/* Reads a JSON file of at most `limit` bytes into *document, which the caller frees. Returns false
 * after it has reported that this failed. */
bool check_read_json(struct check *check, const char *file, size_t limit, enum check_remedy remedy,
                     struct json_document *document);

/* Reports a checksum that does not match the document. */
void check_checksum(struct check *check, const char *file, enum check_remedy remedy,
                    const struct json_document *document);

/* --- run_check_consistency.c and run_check_report.c --- */

/* Checks that the files agree and that none is missing. */
void check_consistency(struct check *check);

/* Writes the remedy of each problem. */
void check_write_remedies(struct check *check);

#endif
