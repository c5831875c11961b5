/* completion_script.h: the scripts of contrib/completion as texts, in the order bash, zsh, fish. */
#ifndef TINCA_CLI_COMPLETION_SCRIPT_H
#define TINCA_CLI_COMPLETION_SCRIPT_H

#include <stddef.h>

struct completion_script {
    const char *name; /* the file's: "_tinca" */
    const char *text;
};

extern const struct completion_script completion_scripts[];
extern const size_t completion_script_count;

#endif
