import CChecksum
import LFSSystem
import TestSupport
import Testing

@Suite("Cyclic redundancy checks") struct CyclicRedundancyCheckTests {
    private func hex(_ algorithm: CyclicRedundancyCheck.Algorithm, pieces: [UInt8]...) -> String {
        var check = CyclicRedundancyCheck(algorithm)
        for piece in pieces { piece.withUnsafeBytes { check.update($0) } }
        return check.hex
    }

    @Test("The algorithms produce the check values of the CRC catalogue") func checkValues() {
        #expect(hex(.crc32, pieces: Array("123456789".utf8)) == "cbf43926")
        #expect(hex(.crc64NVME, pieces: Array("123456789".utf8)) == "ae8b14860a799888")
        #expect(hex(.crc32) == "00000000")
        #expect(hex(.crc64NVME) == "0000000000000000")
    }

    @Test(
        "Splitting the bytes does not change the CRC", arguments: [CyclicRedundancyCheck.Algorithm.crc32, .crc64NVME])
    func pieces(_ algorithm: CyclicRedundancyCheck.Algorithm) {
        let bytes = SampleBytes.make(1_000)
        let whole = hex(algorithm, pieces: bytes)
        for cut in stride(from: 0, through: 1_000, by: 13) {
            #expect(hex(algorithm, pieces: Array(bytes[..<cut]), Array(bytes[cut...])) == whole)
        }
        var other = bytes
        other[500] ^= 1
        #expect(hex(algorithm, pieces: other) != whole)
    }

    @Test("Processor instructions give the same CRC for every length and alignment")
    func acceleration() {
        let bytes = SampleBytes.make(4_200)
        bytes.withUnsafeBytes { bytes in
            for start in 0..<17 {
                for count in [0, 1, 15, 255, 256, 257, 271, 272, 383, 384, 385, 1_000, 1_024, 4_096, 4_103] {
                    let piece = bytes.baseAddress?.advanced(by: start)
                    let state = UInt64(count) &* 0x9E37_79B9_7F4A_7C15
                    #expect(
                        lfs_crc64_nvme(state, piece, count) == lfs_crc64_nvme_portable(state, piece, count),
                        "\(count) bytes from \(start)")
                }
            }
        }
        print("CRC-64 by the processor's instructions: \(lfs_crc64_is_accelerated() != 0)")
    }
}
