#include "cli/stop_signal.h"

#include "cli/command.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t came;
static struct timespec first; /* when it came */

/* timeout(1) sends a signal to the process and to its group: two within this time are one. */
static const long same_signal = 200000000; /* nanoseconds */

/* Runs in a signal handler: calls only functions that are safe there. */

static void on_signal(int number)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!came)
        first = now;
    const long seconds = (long)(now.tv_sec - first.tv_sec);
    const bool again =
        seconds > 1 || seconds * 1000000000 + now.tv_nsec - first.tv_nsec > same_signal;
    if (number == SIGINT && came && again)
        _exit(EXIT_INTERRUPTED);
    came = 1;
}

void stop_signal_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup ignores it */
        sigaction(SIGHUP, &action, NULL);
}

static void exit_now(int number)
{
    (void)number;
    _exit(EXIT_INTERRUPTED);
}

void stop_signal_exit(void)
{
    struct sigaction action = {.sa_handler = exit_now};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

bool stop_signal_came(void)
{
    return came;
}
