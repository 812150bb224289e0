import Foundation

/// Inputs for a parser, made from valid ones by random changes. A seed determines them, so that a crash can be
/// repeated.
///
/// `LFS_FUZZ_ROUNDS` sets the number of inputs, and `LFS_FUZZ_SEED` the seed.
package struct FuzzedInputs: Sequence, IteratorProtocol {
    private let samples: [[UInt8]]
    private var random: SeededGenerator
    private var left: Int

    /// - Parameters:
    ///   - samples: valid inputs, at least one.
    ///   - usual: the number of inputs if the environment sets none.
    package init(_ samples: [[UInt8]], usual: Int = 2_000) {
        let environment = ProcessInfo.processInfo.environment
        self.samples = samples
        random = SeededGenerator(seed: environment["LFS_FUZZ_SEED"].flatMap(UInt64.init) ?? 42)
        left = environment["LFS_FUZZ_ROUNDS"].flatMap(Int.init) ?? usual
    }

    package init(_ samples: [String], usual: Int = 2_000) {
        self.init(samples.map { Array($0.utf8) }, usual: usual)
    }

    package mutating func next() -> [UInt8]? {
        guard left > 0 else { return nil }
        left -= 1
        var bytes = samples[random.next(below: samples.count)]
        for _ in 0..<1 + random.next(below: 4) { change(&bytes) }
        return bytes
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return bytes = Self.pieces[random.next(below: Self.pieces.count)] }
        let start = random.next(below: bytes.count)
        let end = start + random.next(below: Swift.min(bytes.count - start, 24) + 1)
        switch random.next(below: 7) {
        case 0: bytes[start] = UInt8(random.next(below: 256))
        case 1: bytes[start] ^= 1 << UInt8(random.next(below: 8))
        case 2: bytes.removeSubrange(start..<end)
        case 3: bytes.insert(contentsOf: bytes[start..<end], at: start)
        case 4: bytes.removeSubrange(start...)
        case 5: replaceNumber(in: &bytes, from: start)
        default: bytes.insert(contentsOf: Self.pieces[random.next(below: Self.pieces.count)], at: start)
        }
    }

    /// Replaces the next number by an extreme one.
    private mutating func replaceNumber(in bytes: inout [UInt8], from place: Int) {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard let start = bytes[place...].firstIndex(where: digits.contains) else { return }
        let end = bytes[start...].firstIndex { !digits.contains($0) } ?? bytes.endIndex
        bytes.replaceSubrange(start..<end, with: Self.pieces[random.next(below: Self.numberCount)])
    }

    private static let numbers = [
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809", "-1", "0",
        "18446744073709551615", "2147483648", "9007199254740993", "99999999999999999999999999", "1e999", "-1e999",
        "nan", "inf", "0.5", "253402300800", "-62135596801",
    ]
    private static let numberCount = numbers.count
    private static let pieces: [[UInt8]] =
        (numbers + ["<", ">", "&", "\"", "\\", "/", "-", ":", ".", "%", "%zz", "%00", "T", "..", "{", "[", "]", "}"])
        .map { Array($0.utf8) } + [[0], [0xFF, 0xFE], [0xC3], Array(repeating: UInt8(ascii: "<"), count: 300)]
}
