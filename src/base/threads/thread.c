#include "base/threads/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

enum { HANDLER_STACK = 1 << 16 };

/* The arguments of a new thread, which frees them at its end. */
struct beginning {
    void *(*work)(void *argument);
    void *argument;
    char stack[HANDLER_STACK]; /* of the handler of faults; only its touched pages take memory */
};

/* Runs the thread's work with a stack for the handler of faults, unless a sanitizer has set one. */
static void *begin(void *context)
{
    struct beginning *beginning = context;
    const stack_t own = {.ss_sp = beginning->stack, .ss_size = sizeof beginning->stack};
    const stack_t none = {.ss_flags = SS_DISABLE};
    stack_t present;
    const bool set = sigaltstack(NULL, &present) == 0 && (present.ss_flags & SS_DISABLE) &&
                     sigaltstack(&own, NULL) == 0;
    void *result = beginning->work(beginning->argument);
    if (set)
        sigaltstack(&none, NULL);
    free(beginning);
    return result;
}

int thread_start(pthread_t *thread, void *(*work)(void *argument), void *argument)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t all, before;
    struct beginning *beginning = malloc(sizeof *beginning);
    if (!beginning)
        return ENOMEM;
    beginning->work = work;
    beginning->argument = argument;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(thread, NULL, begin, beginning);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0)
        free(beginning);
    return code;
}
