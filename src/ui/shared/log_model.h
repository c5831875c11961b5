/* log_model.h: what the workbench told in this sitting: messages, findings, starts, ends, errors. A
 * ring: of very many lines the oldest are forgotten. No drawing. */
#ifndef TINCA_UI_SHARED_LOG_MODEL_H
#define TINCA_UI_SHARED_LOG_MODEL_H

#include "ui/terminal/theme.h"
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum { LOG_LINES = 500 };

struct log_line {
    time_t when;
    enum role role;
    char text[480];
    char directory[512]; /* of the run that it concerns; "": of none */
};

struct log {
    struct log_line lines[LOG_LINES];
    size_t first, count;
    size_t forgotten;
};

void log_add(struct log *book, enum role role, const char *text);

/* The newest line concerns the run in this directory; NULL: nothing changes. */
void log_set_run_directory(struct log *book, const char *directory);

/* The n-th line, oldest first. */
const struct log_line *log_line(const struct log *book, size_t n);

/* Returns whether the text occurs in the line; an empty one occurs in every line. */
bool log_matches(const struct log_line *line, const char *search);

#endif
