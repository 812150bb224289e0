// zlib, which every system has.
#ifndef LFS_CZLIB_SHIM_H
#define LFS_CZLIB_SHIM_H

#include <zlib.h>

#endif
