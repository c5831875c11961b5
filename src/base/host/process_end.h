/* process_end.h: what a signal that ended a child process means: a fault of the program, which
 * would come again, the kernel's answer to a lack of memory, or a kill by somebody.
 *
 * SIGKILL means a lack of memory if the kernel's count of such kills has grown meanwhile. */
#ifndef TINCA_BASE_HOST_PROCESS_END_H
#define TINCA_BASE_HOST_PROCESS_END_H

#include <stdint.h>

enum process_end { PROCESS_END_KILLED, PROCESS_END_MEMORY, PROCESS_END_FAULT };

/* Returns how many processes the kernel has killed for a lack of memory: on the machine (proc(5),
 * vmstat), and in this control group, which a container may show when it hides the former. What is
 * unknown counts as 0: only the growth is of interest. */
uint64_t process_end_memory_kills(void);

/* Returns what the signal means that ended a process. `kills_before`: process_end_memory_kills()
 * before the process began. */
enum process_end process_end_of(int signal, uint64_t kills_before);

#endif
