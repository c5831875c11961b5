/* study_file.h: the votes of perceptual studies in a JSON file (docs/study.schema.json).
 *
 * One file holds the studies of several networks and the votes of all participants. It is replaced
 * as a whole, so a reader never sees a partial file. Its folder is locked during a change, so no
 * vote is lost when two participants finish at the same moment.
 */
#ifndef TINCA_STUDIES_PICTURES_STUDY_FILE_H
#define TINCA_STUDIES_PICTURES_STUDY_FILE_H

#include "base/json/json.h"
#include "studies/pictures/study.h"

#include <stdbool.h>
#include <stddef.h>

/* The file in the current folder that is meant where none is named. */
#define STUDY_FILE "tinca-study.json"

struct study_file {
    struct study *studies;
    size_t count, capacity;
};

/* Reads the file and checks every value; an error names the line. If `must_exist` is false, a
 * missing file reads as an empty one. */
bool study_file_read(struct study_file *file, const char *path, bool must_exist,
                     struct error *error);

/* Frees the studies of a file. */
void study_file_free(struct study_file *file);

/* Returns whether `participant` can vote on `study`: the file is readable and its folder writable,
 * the participant has not voted on this network, and saved votes are about the same pictures, shown
 * for the same time. Call it before the session starts. */
bool study_file_accepts(const char *path, const struct study *study, const char *participant,
                        struct error *error);

/* Adds a vote after the same checks. Sets *voters, unless NULL, to the number of votes on this
 * network. */
bool study_file_add(const char *path, const struct study *study, const struct study_vote *vote,
                    size_t *voters, struct error *error);

/* Returns {"results", "networks": [...], "published": [...]}, the evaluated votes, owned by the
 * caller, or NULL if memory runs out. */
struct json *study_file_report(const struct study_file *file, const char *path);

#endif
