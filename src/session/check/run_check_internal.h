/* run_check_inside.h: what the checks of a run's files share. Internal to run_check*.c.
 *
 * Each file has one check, in the order of a table (run_check.c). A check reports problems and
 * notes facts for those behind it. A problem's remedy depends on what else is sound, so that it is
 * chosen by kind at first and worded when every file has been looked at (run_check_remedy.c). */
#ifndef TINCA_SESSION_CHECK_RUN_CHECK_INTERNAL_H
#define TINCA_SESSION_CHECK_RUN_CHECK_INTERNAL_H

#include "engine/network/network.h"
#include "engine/weights/safetensors.h"
#include "session/check/run_check.h"
#include "session/record/run_state.h"

#include <dirent.h>
#include <stdint.h>

enum check_remedy {
    REMEDY_NONE,        /* nothing is to be done */
    REMEDY_CONFIG,      /* config.json, without which there is no run */
    REMEDY_CHANGED,     /* config.json can be read, but its checksum is wrong */
    REMEDY_RECORD,      /* the journal */
    REMEDY_CHECKPOINT,  /* one of the two */
    REMEDY_MODEL,       /* weights, best model, discriminator */
    REMEDY_SUMMARY,     /* summary.json */
    REMEDY_DELETE,      /* the file says nothing that is needed */
    REMEDY_DELETE_RUN,  /* no run is in the folder */
    REMEDY_MEASURE,     /* the file comes back when it is measured again */
    REMEDY_EXPERIMENT,  /* what a resumed run is compared with */
    REMEDY_MOVE,        /* a file that is not tinca's */
    REMEDY_OWNER,       /* chown */
    REMEDY_PERMISSIONS, /* chmod */
    REMEDY_RENAME,      /* the folder, to the run's ID */
    REMEDY_RESUME,      /* it puts this right by itself */
    REMEDY_NAME,        /* name.txt */
};

enum check_presence { FILE_ABSENT, FILE_HERE, FILE_STRANGE /* no regular file: reported */ };

/* A file with its state after its own check. */
struct check_file_state {
    enum check_presence presence;
    bool damaged;
};

/* What a checkpoint or the summary says about the journal. */
struct check_mark {
    const char *file; /* NULL: there is none */
    uint64_t length;  /* bytes of the journal then */
    bool has_crc32, has_iteration;
    uint32_t crc32;
    uint64_t iteration;        /* of the checkpoint */
    bool reached, whole_lines; /* found: the journal is so long; a line ends there */
    uint32_t found_crc32;
    uint64_t found_iteration;
};
enum { MARK_CHECKPOINT, MARK_PREVIOUS, MARK_SUMMARY, MARKS };

/* What the journal says, as far as it can be read. */
struct check_record {
    bool read, started, ended, torn;
    struct run_facts facts;       /* of the start event */
    struct run_snapshot snapshot; /* likewise */
    uint64_t points, validations, checkpoints, size;
    struct series_point last;
    struct series_validation last_validation;
    double best_top1; /* NaN: none */
    bool has_null_loss, has_divergence, has_plateau;
    bool goes_on_after_validation; /* a line follows the first validation */
};

struct check_summary {
    bool read; /* as a whole */
    struct run_snapshot snapshot;
};

struct check {
    const char *directory;
    struct run_check *report;
    enum check_remedy *remedies; /* by problem, until they are worded */
    bool home, out_of_memory;
    bool alive;                     /* a process has the run */
    struct check_file_state *files; /* by the table of run_check.c */
    size_t file;                    /* that is being looked at */
    bool has_config;                /* config.json can be read */
    struct run_config config;
    struct run_facts facts;
    struct check_record record;
    struct check_summary summary;
    struct check_mark marks[MARKS];
    struct network *network; /* the run's, where a sound file describes it; else NULL */
};

/* Reports a problem of a file ("." the folder). `what` is translated already. */
void check_report(struct check *check, const char *file, enum run_problem_severity severity,
                  enum check_remedy remedy, const char *what, ...)
    __attribute__((format(printf, 5, 6)));

/* The same as an error of the file that is being looked at, which is then damaged. */
#define check_damage(check, file, remedy, ...)                                                     \
    (check_note_damage(check), check_report(check, file, RUN_PROBLEM_ERROR, remedy, __VA_ARGS__))
void check_note_damage(struct check *check);

/* Reports the reason of `error` as the damage of `file`. */
void check_damage_by(struct check *check, const char *file, enum check_remedy remedy,
                     const struct error *error);

/* The state of a file of the table by its name; check_find_state: NULL when it is not in the table.
 */
struct check_file_state *check_find_state(const struct check *check, const char *file);
const struct check_file_state *check_state(const struct check *check, const char *file);
bool check_is_here(const struct check *check, const char *file);  /* a regular file */
bool check_is_sound(const struct check *check, const char *file); /* here, and not damaged */

/* Whether the run ended with a loss that is no number, so that its weights may be none. */
bool check_has_diverged(const struct check *check);

/* "DIRECTORY/FILE", owned by the caller; NULL when memory is out, which is noted. */
char *check_path(struct check *check, const char *file);

/* In run_check_folder.c: the folder, its entries, and sample pictures. Returns whether there is
 * more to look at. */
bool check_folder(struct check *check);

/* The checks; `file` is the name in the table. */
void check_config(struct check *check, const char *file);
void check_name(struct check *check, const char *file);
void check_lock(struct check *check, const char *file);
void check_summary(struct check *check, const char *file);
void check_measurements(struct check *check, const char *file);
void check_profile(struct check *check, const char *file);
void check_data(struct check *check, const char *file);
void check_network(struct check *check, const char *file);
void check_checkpoint_mark(struct check *check, const char *file);
void check_checkpoint(struct check *check, const char *file);
void check_journal(struct check *check, const char *file);
void check_old_journal(struct check *check, const char *file);
void check_model(struct check *check, const char *file);
void check_discriminator(struct check *check, const char *file);
void check_picture(struct check *check, const char *file);

/* In run_check_json.c. */
/* Reads a JSON file of at most `limit` bytes, to be freed; one that cannot be read is reported. */
bool check_read_json(struct check *check, const char *file, size_t limit, enum check_remedy remedy,
                     struct json_document *document);
/* Reports a checksum that is not that of the document's text. */
void check_checksum(struct check *check, const char *file, enum check_remedy remedy,
                    const struct json_document *document);

/* In run_check_journal_line.c: one line of a journal. */
struct check_line {
    struct check_record *record;
    bool imported;
};
/* Takes a line in. Returns what is wrong with it, translated, or NULL; `detail` has room for 200.
 */
const char *check_journal_line(struct check_line *line, const struct json *json, char *detail);

/* In run_check_arrays.c. */
/* Reports the first float32 value that is NaN or infinite, unless the run has diverged. Returns
 * false when it reported one. */
bool check_values(struct check *check, const char *file, struct safetensors *opened,
                  enum check_remedy remedy);
/* Whether the file has all parameters of the graph, with `prefix` before their names; counts them
 * in *found. `learnable`: only those that are trained. Reports the first that is missing or has
 * another shape. */
bool check_parameters(struct check *check, const char *file, const struct safetensors *opened,
                      const struct graph *graph, const char *prefix, bool learnable,
                      enum check_remedy remedy, size_t *found);

/* In run_check_together.c: whether the files agree and none is missing. */
void check_consistency(struct check *check);

/* In run_check_remedy.c: words what can be done about each problem. */
void check_word_remedies(struct check *check);

#endif
