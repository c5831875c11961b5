/* The handlers call only async-signal-safe functions; all text that they write is prepared before.
 *
 * A signal that a handler of another module waits for (a profiler's SIGPROF) is left to it. A
 * handler of crashes gives way to the one before it (a sanitizer's) and lets the fault happen once
 * more, so that the report and the core file show the place. */
#include "ui/terminal/signals.h"

#include "base/files/file.h"
#include "base/language.h"
#include "runs/record/last_checkpoint.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum act { ACT_NONE, ACT_STOP, ACT_SAVE, ACT_HANG_UP, ACT_IGNORE, ACT_CRASH };
enum { SIGNALS_MOST = 128, CRASH_STACK = 1 << 16 };

static const struct row {
    enum act act;
    const char *name;
} table[SIGNALS_MOST] = {
#define SIGNAL(name, act) [SIG##name] = {ACT_##act, "SIG" #name},
#include "ui/terminal/signals.inc"
#undef SIGNAL
};

/* timeout(1) sends a signal to the process and to its group: two within this time are one. */
static const long same_signal = 200000000; /* nanoseconds */

static volatile sig_atomic_t stop_came, save_came, hang_up_came;
static struct timespec first_stop; /* when the first one came */
static struct signal_hooks hooks;
static bool caught;
static struct sigaction before[SIGNALS_MOST];
static char crash_stack[CRASH_STACK]; /* a stack that has overflowed can run no handler */
static const char *crash_words = "";  /* translated */

static enum act act_of(int number)
{
#ifdef SIGRTMIN
    if (number >= SIGRTMIN && number <= SIGRTMAX)
        return ACT_STOP;
#endif
    return table[number].act;
}

/* --- handlers --- */

static void wake(bool leaving)
{
    if (hooks.wake)
        hooks.wake(leaving);
}

/* Returns whether the signal is another one than the first, not the same sent twice. */
static bool is_second(const struct timespec *now)
{
    const long seconds = (long)(now->tv_sec - first_stop.tv_sec);
    return seconds > 1 || seconds * 1000000000 + now->tv_nsec - first_stop.tv_nsec > same_signal;
}

static void on_stop(int number)
{
    const int saved = errno;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!stop_came)
        first_stop = now;
    else if (number == SIGINT && is_second(&now)) {
        if (hooks.restore)
            hooks.restore();
        file_delete_half_written();
        _exit(SIGNALS_STATUS);
    }
    stop_came = 1;
    wake(true);
    errno = saved;
}

static void on_save(int number)
{
    const int saved = errno;
    (void)number;
    save_came = 1;
    wake(false);
    errno = saved;
}

/* A pipe to a program that has ended with the terminal, such as tee, ends this one no more. */
static void on_hang_up(int number)
{
    const int saved = errno;
    (void)number;
    signals_outlive_readers();
    hang_up_came = 1;
    wake(true);
    errno = saved;
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* nobody reads it */
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    const char *const words = last_checkpoint_words();
    (void)context;
    if (hooks.restore)
        hooks.restore();
    say("tinca: ");
    say(table[number].name);
    say(": ");
    say(crash_words);
    say(words[0] ? ": " : "");
    say(words);
    say("\n");
    for (int i = 1; i < SIGNALS_MOST; i++)
        if (act_of(i) == ACT_CRASH)
            sigaction(i, &before[i], NULL);
    if (info->si_code <= 0 || number == SIGABRT)
        raise(number); /* it was sent; a fault of the program itself comes once more */
}

static void on_stop_at_once(int number)
{
    (void)number;
    file_delete_half_written();
    _exit(SIGNALS_STATUS);
}

/* Ends a program that does not catch the signal, whose default action is in effect again. */
static void on_end(int number)
{
    file_delete_half_written();
    raise(number);
}

/* --- installing --- */

/* Returns whether nothing but the default, or on_end in its place, handles a signal. */
static bool is_default(const struct sigaction *present)
{
    return present->sa_handler == SIG_DFL || present->sa_handler == on_end;
}

/* Lets a signal that would end the program delete half-written files before. */
static void tidy_at_end(int number)
{
    struct sigaction action = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
    struct sigaction present;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &present) == 0 && present.sa_handler == SIG_DFL)
        sigaction(number, &action, NULL);
}

void signals_begin(void)
{
    const struct sigaction action = {.sa_handler = on_save, .sa_flags = SA_RESTART};
    sigset_t blocked; /* by spawn_start, until now */
    for (int i = 1; i < SIGNALS_MOST; i++)
        if (act_of(i) == ACT_STOP || act_of(i) == ACT_HANG_UP || i == SIGPIPE)
            tidy_at_end(i);
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
}

/* Returns whether the table decides about the signal, given its present action. Those that nobody
 * sends by hand may have a handler of a library. */
static bool is_ours(int number, const struct sigaction *present)
{
    static const int always[] = {SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};
    if (number == SIGHUP)
        return present->sa_handler != SIG_IGN;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (number == always[i])
            return true;
    return act_of(number) == ACT_CRASH || is_default(present);
}

/* Where a signal ends the use of a terminal (hooks.wake), it also ends a write to one that takes no
 * output: the handler has redirected the output, and the next write goes there. */
static struct sigaction action_of(enum act act)
{
    const bool ends_writes = hooks.wake && (act == ACT_STOP || act == ACT_HANG_UP);
    struct sigaction action = {.sa_flags = ends_writes ? 0 : SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (act == ACT_CRASH) {
        action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
        action.sa_sigaction = on_crash;
    } else
        action.sa_handler = act == ACT_STOP      ? on_stop
                            : act == ACT_SAVE    ? on_save
                            : act == ACT_HANG_UP ? on_hang_up
                                                 : SIG_IGN;
    return action;
}

/* Gives this thread a stack for the handler of crashes, unless it has one (a sanitizer's). */
static void prepare_crash(void)
{
    const stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof crash_stack};
    stack_t present;
    crash_words = _("the program has crashed");
    if (sigaltstack(NULL, &present) == 0 && (present.ss_flags & SS_DISABLE))
        sigaltstack(&stack, NULL);
}

void signals_catch(struct signal_hooks wanted)
{
    hooks = wanted;
    if (caught)
        return;
    caught = true;
    prepare_crash();
    for (int i = 1; i < SIGNALS_MOST; i++) {
        const enum act act = act_of(i);
        const struct sigaction action = action_of(act);
        if (act != ACT_NONE && sigaction(i, NULL, &before[i]) == 0 && is_ours(i, &before[i]))
            sigaction(i, &action, NULL);
    }
}

void signals_outlive_readers(void)
{
    signal(SIGPIPE, SIG_IGN);
}

void signals_release(void)
{
    for (int i = 1; caught && i < SIGNALS_MOST; i++)
        if (act_of(i) != ACT_NONE)
            sigaction(i, &before[i], NULL);
    caught = false;
    hooks = (struct signal_hooks){0};
}

void signals_leave_to_others(void)
{
    for (int i = 1; i < SIGNALS_MOST; i++) {
        const enum act act = act_of(i);
        if (act != ACT_NONE && act != ACT_CRASH)
            signal(i, SIG_IGN);
    }
}

void signals_end_at_once(void)
{
    struct sigaction action = {.sa_handler = on_stop_at_once}, present;
    sigemptyset(&action.sa_mask);
    for (int i = 1; i < SIGNALS_MOST; i++)
        if (act_of(i) == ACT_STOP && sigaction(i, NULL, &present) == 0 && is_ours(i, &present))
            sigaction(i, &action, NULL);
}

/* --- the flags --- */

bool signals_stop_came(void)
{
    return stop_came;
}

bool signals_hang_up_came(void)
{
    return hang_up_came;
}

bool signals_take_save(void)
{
    const bool came = save_came;
    if (came)
        save_came = 0;
    return came;
}
