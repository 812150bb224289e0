#ifndef LFS_CCHECKSUM_H
#define LFS_CCHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/// Continues the register of a CRC-64/NVME over more bytes. It begins with all bits set, and the checksum is the
/// register with all bits inverted.
///
/// Source of the parameters: the catalogue of parametrised CRC algorithms (Greg Cook), entry CRC-64/NVME.
uint64_t lfs_crc64_nvme(uint64_t state, const void *bytes, size_t count);

/// The same without the processor's instructions for it: what other processors run, and what tests compare with.
uint64_t lfs_crc64_nvme_portable(uint64_t state, const void *bytes, size_t count);

/// Whether this processor has the instructions.
int lfs_crc64_is_accelerated(void);

#endif
