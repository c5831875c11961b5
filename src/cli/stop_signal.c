#include "cli/stop_signal.h"

#include "cli/command.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t came;

/* Runs in a signal handler: calls only functions that are safe there. */

static void on_signal(int number)
{
    if (number == SIGINT && came)
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

bool stop_signal_came(void)
{
    return came;
}
