# The module that talks to MPI: a shared object that the program opens if a launcher has started
# several processes (cluster_module.h). MPI's compiler knows where its headers and libraries are.
EXTRA_DIST += %D%/cluster_mpi.c
if MPI_MODULE
mpidir = $(pkglibdir)
mpi_DATA = tinca-mpi.so
tinca-mpi.so: %D%/cluster_mpi.c %D%/cluster_module.h config.h
	$(AM_V_GEN)$(MPICC) $(DEFS) -I. -I$(srcdir)/src -D_GNU_SOURCE $(CPPFLAGS) -std=c11 -Wall -Wextra $(CFLAGS) -fPIC -fvisibility=hidden -shared \
		$(LDFLAGS) -o $@ $(srcdir)/%D%/cluster_mpi.c
CLEANFILES += tinca-mpi.so
endif
