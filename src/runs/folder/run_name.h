/* run_name.h: what the user wrote about a run: its name (file name.txt of the run's folder), which
 * commands accept in place of the ID, its tags (tags.txt) and a note (note.txt). Each file has one
 * line and is replaced as a whole. */
#ifndef TINCA_RUNS_FOLDER_RUN_NAME_H
#define TINCA_RUNS_FOLDER_RUN_NAME_H

#include "base/error.h"

#include <stdbool.h>

enum { RUN_NAME_SIZE = 64, RUN_TAGS_SIZE = 128, RUN_NOTE_SIZE = 256 }; /* bytes, with the NUL */

/* Reads the name of the run in `directory`, "" if it has none or the file has no valid name.
 * Returns `name`, which has RUN_NAME_SIZE bytes. */
char *run_name_read(const char *directory, char *name);

/* Sets the name, or removes it (""). Spaces around it are stripped. Returns false with an error if
 * it is too long, not UTF-8, has control characters or a slash, or begins with '-'. */
bool run_name_write(const char *directory, const char *name, struct error *error);

/* Returns whether run_name_write would accept the name; false with an error. */
bool run_name_check(const char *name, struct error *error);

/* Reads the tags of the run, separated by one space; "" if it has none or the file is not valid.
 * Returns `tags`, which has RUN_TAGS_SIZE bytes. */
char *run_tags_read(const char *directory, char *tags);

/* Sets the tags, or removes them (""). Spaces and commas separate them; one that is given twice is
 * stored once. Returns false with an error if they are too long together, not UTF-8, or one has a
 * character that the filter of runs uses (: < > " ') or begins with '-'. */
bool run_tags_write(const char *directory, const char *tags, struct error *error);

/* Returns whether run_tags_write would accept the tags; false with an error. */
bool run_tags_check(const char *tags, struct error *error);

/* Returns whether `tag` is one of the tags. */
bool run_tags_contain(const char *tags, const char *tag);

/* Reads the note of the run, "" if it has none or the file is not valid. Returns `note`, which has
 * RUN_NOTE_SIZE bytes. */
char *run_note_read(const char *directory, char *note);

/* Sets the note, or removes it (""): one line of visible UTF-8. Returns false with an error. */
bool run_note_write(const char *directory, const char *note, struct error *error);

/* Returns whether run_note_write would accept the note; false with an error. */
bool run_note_check(const char *note, struct error *error);

#endif
