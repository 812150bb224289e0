import CChecksum

/// A CRC over a whole object, as storages report it, computed piece by piece.
///
/// The parameters and check values come from the catalogue of parametrised CRC algorithms (Greg Cook), entries
/// CRC-32/ISO-HDLC and CRC-64/NVME. The tables are those of "slicing by 8" (Intel, 2006). On a processor with
/// carry-less multiplication the 64-bit CRC reaches about ten gigabytes per second.
package struct CyclicRedundancyCheck: Sendable {
    package enum Algorithm: Hashable, Sendable {
        case crc32, crc64NVME
    }

    package let algorithm: Algorithm
    private var register: UInt64

    package init(_ algorithm: Algorithm) {
        self.algorithm = algorithm
        register = algorithm.mask
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch algorithm {
        case .crc32: updateByTable(bytes)
        case .crc64NVME: register = lfs_crc64_nvme(register, bytes.baseAddress, bytes.count)
        }
    }

    private mutating func updateByTable(_ bytes: UnsafeRawBufferPointer) {
        var register = register
        Self.crc32Tables.withUnsafeBufferPointer { table in
            var offset = 0
            while offset + 8 <= bytes.count {
                let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) ^ register
                register = 0
                for index in 0..<8 {
                    register ^= table[(7 - index) << 8 | Int(word >> UInt64(8 * index) & 0xFF)]
                }
                offset += 8
            }
            while offset < bytes.count {
                register = table[Int((register ^ UInt64(bytes[offset])) & 0xFF)] ^ register >> 8
                offset += 1
            }
        }
        self.register = register
    }

    /// The checksum of all bytes so far, as a number.
    package var value: UInt64 { register ^ algorithm.mask }

    /// The checksum of all bytes so far, as lowercase hex digits, most significant first.
    package var hex: String {
        let value = value
        let shifts = stride(from: algorithm.byteCount - 1, through: 0, by: -1).map { UInt64(8 * $0) }
        return ContentHash.hex(of: shifts.map { UInt8(value >> $0 & 0xFF) })
    }
}

extension CyclicRedundancyCheck.Algorithm {
    /// The size of the checksum in bytes.
    package var byteCount: Int {
        switch self {
        case .crc32: 4
        case .crc64NVME: 8
        }
    }

    fileprivate var mask: UInt64 {
        switch self {
        case .crc32: 0xFFFF_FFFF
        case .crc64NVME: .max
        }
    }

}

extension CyclicRedundancyCheck {
    /// Eight tables of 256 words each, stored one after the other.
    private static let crc32Tables: [UInt64] = {
        // The polynomial with its bits reversed.
        let polynomial: UInt64 = 0xEDB8_8320
        var tables = [UInt64](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            tables[byte] = (0..<8).reduce(UInt64(byte)) { word, _ in word >> 1 ^ (word & 1 == 1 ? polynomial : 0) }
        }
        for index in 256..<tables.count {
            let before = tables[index - 256]
            tables[index] = tables[Int(before & 0xFF)] ^ before >> 8
        }
        return tables
    }()
}
