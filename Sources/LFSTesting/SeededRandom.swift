/// Numbers that depend on a seed alone: SplitMix64 (Steele, Lea and Flood, “Fast splittable pseudorandom number
/// generators”, OOPSLA 2014).
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Begins at a seed.
    public init(seed: UInt64) { state = seed }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// The next number below another one, which is at least 1.
    public mutating func next(below count: Int) -> Int { Int.random(in: 0..<max(count, 1), using: &self) }
}
