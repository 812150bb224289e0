import Foundation

/// Bytes that differ between files and are the same in each run.
enum RandomBytes {
    /// SplitMix64 (Steele, Lea and Flood, 2014).
    static func make(_ count: Int, seed: UInt64) -> Data {
        var state = seed &* 0x9E37_79B9_7F4A_7C15
        var words = [UInt64](repeating: 0, count: (count + 7) / 8)
        for index in words.indices {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            words[index] = mixed ^ (mixed >> 31)
        }
        return words.withUnsafeBytes { Data($0.prefix(count)) }
    }
}
