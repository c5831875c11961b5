/* worker.h: the life of a run in its worker thread. Internal to session/. */
#ifndef TINCA_SESSION_TRAINING_WORKER_H
#define TINCA_SESSION_TRAINING_WORKER_H

/* The thread's function; its argument is a struct run. Returns NULL. */
void *worker_main(void *run);

#endif
