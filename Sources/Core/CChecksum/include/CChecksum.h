#ifndef LFS_CCHECKSUM_H
#define LFS_CCHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/// Updates the register of a CRC-64/NVME with more bytes. The register starts with all bits set. The checksum is the
/// register with all bits inverted.
///
/// Source of the parameters: the catalogue of parametrised CRC algorithms (Greg Cook), entry CRC-64/NVME.
uint64_t lfs_crc64_nvme(uint64_t state, const void *bytes, size_t count);

/// Does the same without the special instructions of some processors. It is the fallback, and tests compare with it.
uint64_t lfs_crc64_nvme_portable(uint64_t state, const void *bytes, size_t count);

/// Returns nonzero if this processor has those instructions.
int lfs_crc64_is_accelerated(void);

#endif
