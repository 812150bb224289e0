// zlib, which every system has.
#ifndef JOURNAL_CZLIB_SHIM_H
#define JOURNAL_CZLIB_SHIM_H

#include <zlib.h>

#endif
