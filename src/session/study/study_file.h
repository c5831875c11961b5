/* study_file.h: the votes of a perceptual study in a JSON file (docs/study.schema.json).
 *
 * One file holds the studies of several networks, and the votes of everyone who took part. It is
 * replaced whole, so that a reader never sees half of it, and while it is changed its folder is
 * locked, so that of two participants who end at the same moment none is lost.
 */
#ifndef TINCA_SESSION_STUDY_STUDY_FILE_H
#define TINCA_SESSION_STUDY_STUDY_FILE_H

#include "base/json/json.h"
#include "session/study/study.h"

#include <stdbool.h>
#include <stddef.h>

struct study_file {
    struct study *studies;
    size_t count, capacity;
};

/* `must_exist` false: no file is an empty one. Every value is checked; an error names the line. */
bool study_file_read(struct study_file *file, const char *path, bool must_exist,
                     struct error *error);
void study_file_free(struct study_file *file);

/* Whether `participant` may vote on `study`: the file can be read and its folder be written to,
 * this participant has no vote on that network there, and votes that are there are about the same
 * pictures, shown for as long. To be asked before the session. */
bool study_file_accepts(const char *path, const struct study *study, const char *participant,
                        struct error *error);

/* Adds a vote, after the same checks. *voters, which may be NULL, becomes the number of votes on
 * this network. */
bool study_file_add(const char *path, const struct study *study, const struct study_vote *vote,
                    size_t *voters, struct error *error);

/* {"results", "networks": [...], "published": [...]}: what the votes come to. NULL: out of memory.
 */
struct json *study_file_report(const struct study_file *file, const char *path);

#endif
