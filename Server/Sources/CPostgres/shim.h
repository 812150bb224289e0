// libpq, PostgreSQL's own client library. The macros are of types that Swift does not take.
#ifndef LFS_CPOSTGRES_SHIM_H
#define LFS_CPOSTGRES_SHIM_H

#include <libpq-fe.h>

static const int lfs_diagnosis_state = PG_DIAG_SQLSTATE;
static const int lfs_diagnosis_message = PG_DIAG_MESSAGE_PRIMARY;

#endif
