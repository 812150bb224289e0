import Foundation
import Testing

@testable import LFSSystem

@Suite("Saturating arithmetic", .timeLimit(.minutes(10)))
struct SaturatingTests {
    @Test("A sum that does not fit is the nearest number")
    func sums() {
        #expect(Int64.max.addingSaturated(1) == .max && Int64.min.addingSaturated(-1) == .min)
        #expect(Int64.max.addingSaturated(.min) == -1 && Int64(2).addingSaturated(3) == 5)
    }

    @Test("A floating-point number becomes the nearest integer, and NaN becomes 0")
    func doubles() {
        #expect(Int64(saturating: .infinity) == .max && Int64(saturating: -.infinity) == .min)
        #expect(Int64(saturating: 0x1p63) == .max && Int64(saturating: -0x1p63) == .min)
        #expect(Int64(saturating: .nan) == 0 && Int64(saturating: 2.5) == 3)
        #expect(UInt64(saturating: -1) == 0 && UInt8(saturating: 1_000) == 255)
    }

    @Test(
        "An id for a date out of range has the nearest time that an id can store",
        arguments: [
            Double.nan, .infinity, -.infinity, 1e300, -1e300, 1e16, -1, 0, 281_474_976_710.655, 281_474_976_710.656,
        ])
    func identifiers(_ seconds: Double) {
        let id = FileID.make(at: Date(timeIntervalSince1970: seconds))
        let expected = seconds.isNaN || seconds <= 0 ? 0 : min(seconds * 1_000, 281_474_976_710_655)
        // Ids that are made at the same time may use the following milliseconds early.
        #expect((Int64(expected)...Int64(expected) + 64).contains(id.milliseconds), "\(id)")
        _ = FileID.make(at: Date(timeIntervalSince1970: seconds), after: id)
    }
}
