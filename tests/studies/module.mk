# The tests of src/studies.
STUDIES_CASES = \
	%D%/advise_test.c \
	%D%/compare_figures_test.c \
	%D%/compare_test.c \
	%D%/models_test.c \
	%D%/study_test.c \
	%D%/sweep_ranks_test.c \
	%D%/sweep_test.c
check_PROGRAMS += studies_test
TESTS += $(STUDIES_CASES)
studies_test_SOURCES = $(STUDIES_CASES) $(CASES_MAIN) tests/made_runs.h tests/session_files.h
studies_test_LDADD = $(STUDIES_LIBS)
