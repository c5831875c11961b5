/* log_model.h: the messages of this session: findings, starts and ends of runs, errors. They form a
 * ring buffer of LOG_LINES lines, in which new lines replace the oldest. No drawing. */
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
    char directory[512]; /* folder of the run that the line is about; "": none */
};

struct log { /* starts as {0} */
    struct log_line lines[LOG_LINES];
    size_t first, count; /* the index of the oldest line; the number of lines */
};

/* Adds a line with the present time. */
void log_add(struct log *log, enum role role, const char *text);

/* Records that the newest line is about the run in `directory`; NULL changes nothing. */
void log_set_run_directory(struct log *log, const char *directory);

/* Returns the n-th line, the oldest first. */
const struct log_line *log_line(const struct log *log, size_t n);

/* Returns whether the line contains the text in upper or lower case; every line contains "". */
bool log_matches(const struct log_line *line, const char *search);

#endif
