# Where threads meet: check-threads builds this program for ThreadSanitizer.
THREADS_CASES = \
	%D%/chains_test.c \
	%D%/cluster_messages_test.c \
	%D%/cluster_sums_test.c \
	%D%/data_loader_test.c \
	%D%/inspection_test.c \
	%D%/measurement_test.c \
	%D%/pool_test.c \
	%D%/probe_test.c \
	%D%/resume_test.c \
	%D%/run_test.c \
	%D%/series_test.c \
	%D%/setup_test.c
check_PROGRAMS += threads_test
TESTS += $(THREADS_CASES)
threads_test_SOURCES = $(THREADS_CASES) $(CASES_MAIN) tests/data_files.h tests/session_files.h tests/thread_ranks.h
threads_test_LDADD = libopharness.a $(UI_LIBS)
