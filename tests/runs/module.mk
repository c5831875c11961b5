# The tests of src/runs.
RUNS_CASES = \
	%D%/checksum_cache_test.c \
	%D%/config_test.c \
	%D%/distributions_test.c \
	%D%/figures_test.c \
	%D%/finding_test.c \
	%D%/follow_test.c \
	%D%/journal_test.c \
	%D%/loss_lesson_test.c \
	%D%/machine_model_test.c \
	%D%/number_test.c \
	%D%/overfitting_test.c \
	%D%/pace_test.c \
	%D%/run_confusion_test.c \
	%D%/run_filter_test.c \
	%D%/seeds_test.c \
	%D%/shelf_test.c
check_PROGRAMS += runs_test
TESTS += $(RUNS_CASES)
runs_test_SOURCES = $(RUNS_CASES) $(CASES_MAIN) tests/confuse.h tests/made_runs.h tests/session_files.h
runs_test_LDADD = $(STUDIES_LIBS)
